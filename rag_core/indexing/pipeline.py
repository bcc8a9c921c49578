"""Our components for LlamaIndex's ingestion pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from llama_index.core.schema import BaseNode, TransformComponent
from llama_index.core.schema import Document as LlamaDocument
from pydantic import PrivateAttr

from ..values.types import ModelCall, Vectors
from .enrich import DocumentPassages, Enriched, Enricher
from .passages import passage_in
from .vectors import VectorCache
from .write_report import Progress


class EnrichPassages(TransformComponent):
    """Adds each node's context to its metadata; nodes without one are left as they are.

    Args:
        bills: receives the enricher's calls.
    """

    _documents: Mapping[str, LlamaDocument] = PrivateAttr()
    _enricher: Enricher = PrivateAttr()
    _progress: Progress = PrivateAttr()
    _bills: list[ModelCall] = PrivateAttr()
    _done: Enriched | None = PrivateAttr(default=None)

    def __init__(
        self,
        documents: Sequence[LlamaDocument],
        enricher: Enricher,
        progress: Progress,
        bills: list[ModelCall],
    ) -> None:
        super().__init__()
        self._bills = bills
        self._documents = {document.id_: document for document in documents}
        self._enricher = enricher
        self._progress = progress

    @property
    def done(self) -> Enriched:
        return self._done or Enriched(())

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        """Set `context` in the metadata of each node that has one."""
        documents = [
            DocumentPassages(self._documents[name].get_content(), tuple(map(passage_in, group)))
            for name, group in groupby(nodes, lambda node: str(node.ref_doc_id))
        ]
        self._done = self._enricher.enrich(
            documents, lambda done, total: self._progress("enrich", done, total)
        )
        self._bills += self._done.calls
        for node, context in zip(nodes, self._done.contexts, strict=True):
            if context:
                node.metadata["context"] = context
        return nodes


class EmbedPassages(TransformComponent):
    """Embeds the indexed text of each node's passage; the nodes stay without, since a list of numbers is large.

    Args:
        bills: receives the embedding calls.
    """

    _cache: VectorCache = PrivateAttr()
    _progress: Progress = PrivateAttr()
    _embedded: int = PrivateAttr(default=0)
    _vectors: Vectors = PrivateAttr(default_factory=lambda: np.zeros((0, 0), np.float32))
    _calls: tuple[ModelCall, ...] = PrivateAttr(default=())
    _bills: list[ModelCall] = PrivateAttr()

    def __init__(self, cache: VectorCache, progress: Progress, bills: list[ModelCall]) -> None:
        super().__init__()
        self._bills = bills
        self._cache = cache
        self._progress = progress

    @property
    def embedded(self) -> int:
        """Number of passages embedded; the rest were cached."""
        return self._embedded

    @property
    def vectors(self) -> Vectors:
        """(n, d) vectors of the nodes, in order."""
        return self._vectors

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        return self._calls

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        """Embed the nodes, for `vectors`."""
        if not nodes:
            return nodes
        passages = map(passage_in, nodes)
        texts = [(passage.indexed_text, passage.language) for passage in passages]
        self._vectors, self._embedded, self._calls = self._cache.vectors(
            texts, lambda done, total: self._progress("embed", done, total)
        )
        self._bills += self._calls
        return nodes
