"""An embedding model that records its calls, for code that does not return them."""

from __future__ import annotations

from collections.abc import Sequence

from ..runtime.services import Embedder, TextKind
from ..values.errors import RagError
from ..values.types import ModelCall, Vectors


class MeteredEmbedder:
    """An embedding model that adds its calls to a list, including those of failures."""

    def __init__(self, embedder: Embedder, calls: list[ModelCall]) -> None:
        self.name = embedder.name
        self.weights = embedder.weights
        self.key = embedder.key
        self.count = embedder.count
        self.read = embedder.read
        self._embedder = embedder
        self._calls = calls

    def embed(
        self, texts: Sequence[str], kind: TextKind = "query", languages: Sequence[str] = ()
    ) -> tuple[Vectors, tuple[ModelCall, ...]]:
        """(n, d) L2-normalised vectors of n texts, and the calls."""
        try:
            vectors, calls = self._embedder.embed(texts, kind, languages)
        except RagError as error:
            self._calls += error.calls
            raise
        self._calls += calls
        return vectors, calls
