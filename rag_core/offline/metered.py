"""An embedding model that records its calls, for code that does not return them."""

from __future__ import annotations

from collections.abc import Sequence

from ..runtime.services import Embedder, EmbedderOver, TextKind
from ..values.errors import RagError
from ..values.types import ModelCall, Vectors


class MeteredEmbedder(EmbedderOver):
    """An embedding model that adds its calls to a list, including those of failures."""

    def __init__(self, embedder: Embedder, calls: list[ModelCall]) -> None:
        super().__init__(embedder)
        self._calls = calls

    def embed(
        self, texts: Sequence[str], kind: TextKind = "query", languages: Sequence[str] = ()
    ) -> tuple[Vectors, tuple[ModelCall, ...]]:
        """(n, d) L2-normalised vectors of n texts, and the calls."""
        try:
            vectors, calls = super().embed(texts, kind, languages)
        except RagError as error:
            self._calls += error.calls
            raise
        self._calls += calls
        return vectors, calls
