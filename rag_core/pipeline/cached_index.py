"""An index that searches once for all settings of one question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..runtime.services import Index
from ..values.types import Hit, Vectors


class CachedIndex:
    """An index that caches its searches, for one question.

    A shallow search is the beginning of a deeper one, so each search runs once, at the greatest depth any
    setting can need. Not thread-safe: make one for each question.

    Args:
        depth: hits that every search asks for; a deeper one is not cached.
    """

    def __init__(self, index: Index, depth: int) -> None:
        self._index = index
        self._depth = depth
        self._dense: dict[bytes, Sequence[Hit]] = {}
        self._lexical: dict[tuple[str, float, float], Sequence[Hit]] = {}
        self._vectors: dict[str, NDArray[np.float32]] = {}

    @property
    def name(self) -> str:
        """The index's name."""
        return self._index.name

    def dense(self, vector: Vectors, k: int) -> Sequence[Hit]:
        """The k passages nearest to one (d,) vector."""
        if k > self._depth:
            return self._index.dense(vector, k)
        key = vector.tobytes()
        if key not in self._dense:
            self._dense[key] = self._index.dense(vector, self._depth)
        return self._dense[key][:k]

    def lexical(self, text: str, k: int, k1: float, b: float) -> Sequence[Hit]:
        """The k best BM25 hits."""
        if k > self._depth:
            return self._index.lexical(text, k, k1, b)
        key = (text, k1, b)
        if key not in self._lexical:
            self._lexical[key] = self._index.lexical(text, self._depth, k1, b)
        return self._lexical[key][:k]

    def document_frequency(self, text: str) -> int:
        """Number of passages that contain a term of the text."""
        return self._index.document_frequency(text)

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """(n, d) stored vectors."""
        missing = [identity for identity in ids if identity not in self._vectors]
        if missing:
            self._vectors.update(zip(missing, self._index.vectors(missing), strict=True))
        return np.array([self._vectors[identity] for identity in ids], np.float32)
