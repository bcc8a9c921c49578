"""An embedding model that keeps its bills, for work that does not pass them on to its caller."""

from __future__ import annotations

from collections.abc import Sequence

from ..runtime.services import Embedder, TextKind
from ..values.errors import RagError
from ..values.types import ModelCall, Vectors


class MeteredEmbedder:
    """An embedding model and the list that its bills go to, those of failures included."""

    def __init__(self, embedder: Embedder, bills: list[ModelCall]) -> None:
        self.name = embedder.name
        self.key = embedder.key
        self.count = embedder.count
        self._embedder = embedder
        self._bills = bills

    def embed(self, texts: Sequence[str], kind: TextKind = "query") -> tuple[Vectors, tuple[ModelCall, ...]]:
        """(n, d) L2-normalised vectors of n texts, and the bills."""
        try:
            vectors, calls = self._embedder.embed(texts, kind)
        except RagError as error:
            self._bills += error.calls
            raise
        self._bills += calls
        return vectors, calls
