"""Indexes in front of another: one searches once for all settings of a question, one never finds a document."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..runtime.services import Index, Services
from ..values.types import Hit, Vectors


class _InFront:
    def __init__(self, index: Index) -> None:
        self._index = index

    @property
    def name(self) -> str:
        return self._index.name

    def document_frequency(self, text: str) -> int:
        return self._index.document_frequency(text)

    def vectors(self, ids: Sequence[str]) -> Vectors:
        return self._index.vectors(ids)


class CachedIndex(_InFront):
    """Caches one question's searches, each run once for `depth` hits; deeper ones are not cached. Not thread-safe."""

    def __init__(self, index: Index, depth: int) -> None:
        super().__init__(index)
        self._depth = depth
        self._dense: dict[bytes, Sequence[Hit]] = {}
        self._lexical: dict[tuple[str, float, float], Sequence[Hit]] = {}
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def dense(self, vector: Vectors, k: int) -> Sequence[Hit]:
        if k > self._depth:
            return self._index.dense(vector, k)
        key = vector.tobytes()
        if key not in self._dense:
            self._dense[key] = self._index.dense(vector, self._depth)
        return self._dense[key][:k]

    def lexical(self, text: str, k: int, k1: float, b: float) -> Sequence[Hit]:
        if k > self._depth:
            return self._index.lexical(text, k, k1, b)
        key = (text, k1, b)
        if key not in self._lexical:
            self._lexical[key] = self._index.lexical(text, self._depth, k1, b)
        return self._lexical[key][:k]

    def vectors(self, ids: Sequence[str]) -> Vectors:
        missing = [identity for identity in ids if identity not in self._vectors]
        if missing:
            self._vectors.update(zip(missing, self._index.vectors(missing), strict=True))
        return np.array([self._vectors[identity] for identity in ids], np.float32)


class Without(_InFront):
    """An index that never finds the passages of one document, by id, and finds as many others instead."""

    def __init__(self, index: Index, document: str) -> None:
        super().__init__(index)
        self._document = document

    def dense(self, vector: Vectors, k: int) -> Sequence[Hit]:
        return self._others(lambda depth: self._index.dense(vector, depth), k)

    def lexical(self, text: str, k: int, k1: float, b: float) -> Sequence[Hit]:
        return self._others(lambda depth: self._index.lexical(text, depth, k1, b), k)

    def _others(self, search: Callable[[int], Sequence[Hit]], k: int) -> Sequence[Hit]:
        depth = k
        while True:
            hits = search(depth)
            others = [hit for hit in hits if hit.passage.doc_id != self._document]
            if len(others) >= k or len(hits) < depth:
                return others[:k]
            depth = k + len(hits) - len(others)


def without(services: Services, document: str) -> Services:
    """The services, whose indexes never find a document."""
    enriched = Without(services.enriched, document) if services.enriched else None
    return replace(services, index=Without(services.index, document), enriched=enriched)
