"""An index without one document."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..runtime.services import Index, Services
from ..values.types import Hit, Vectors


class Without:
    """An index that never finds the passages of one document, and finds as many others instead.

    Args:
        document: its id.
    """

    def __init__(self, index: Index, document: str) -> None:
        self._index = index
        self._document = document

    @property
    def name(self) -> str:
        """The index's name."""
        return self._index.name

    def dense(self, vector: Vectors, k: int) -> Sequence[Hit]:
        """The k passages nearest to one (d,) vector."""
        return self._others(lambda depth: self._index.dense(vector, depth), k)

    def lexical(self, text: str, k: int, k1: float, b: float) -> Sequence[Hit]:
        """The k best BM25 hits."""
        return self._others(lambda depth: self._index.lexical(text, depth, k1, b), k)

    def document_frequency(self, text: str) -> int:
        """Number of passages that contain a term of the text, the document's included."""
        return self._index.document_frequency(text)

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """(n, d) stored vectors."""
        return self._index.vectors(ids)

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
