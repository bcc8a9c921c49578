"""Writing a generation with LlamaIndex's ingestion pipeline: documents, passages, vectors, BM25 and manifest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from llama_index.core.constants import DATA_KEY
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import BaseNode, TransformComponent
from llama_index.core.schema import Document as LlamaDocument
from llama_index.core.storage.docstore.utils import doc_to_json
from pydantic import PrivateAttr

from ..language.analysis import ANALYSER, MAIN_LANGUAGE, languages_of, tokens
from ..runtime.services import Embedder
from ..values.owner_only import FOLDER
from ..values.profile import Profile
from ..values.types import ModelCall, Passage, Vectors
from .bm25 import Bm25Index
from .cutting import Chunking
from .enrich import DocumentPassages, Enriched, Enricher
from .manifest import FORMAT, Manifest, checksums
from .passage_parser import PassageParser
from .passages import passage_in, save_passages
from .recovery import entry_of
from .stores import Stores, chosen
from .vectors import VectorCache
from .write_report import Progress, WriteReport


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


def write_generation(
    target: Path,
    corpus: str,
    documents: Sequence[LlamaDocument],
    embedder: Embedder,
    cache: VectorCache,
    enricher: Enricher | None,
    profile: Profile,
    chunking: Chunking,
    stores: Stores,
    progress: Progress,
    bills: list[ModelCall],
) -> WriteReport:
    """Write the generation `target` of a corpus's index from these documents.

    Args:
        cache: has the vectors of unchanged passages.
        bills: receives the model calls as they are made.
    """
    target.mkdir(FOLDER)
    enrich = EnrichPassages(documents, enricher, progress, bills) if enricher else None
    embed = EmbedPassages(cache, progress, bills)
    parse = PassageParser(embedder.count, lambda done, total: progress("split", done, total), chunking)
    steps = [step for step in (parse, enrich, embed) if step]
    # without a docstore, which would leave out one of two documents with equal text (LlamaIndex issue 22706), and
    # without a cache, keyed by the full list of nodes: VectorCache has the vectors of unchanged passages
    pipeline = IngestionPipeline(transformations=list[TransformComponent](steps), disable_cache=True)
    nodes = pipeline.run(documents=list(documents))
    _save_documents(target / "docstore.json", documents)
    passages = [passage_in(node) for node in nodes]
    progress("lexical", 0, 1)
    bm25 = Bm25Index.fit(tokens(one.indexed_text, one.language) for one in passages)
    bm25.save(target)
    store = chosen(stores)
    stores[store].write(
        target, nodes, embed.vectors, bm25, lambda done: progress("store", done, len(passages))
    )
    save_passages(target, nodes)
    enriched = enrich.done if enrich else None
    Manifest(
        format=FORMAT,
        corpus=corpus,
        embedding=embedder.key,
        dimensions=embed.vectors.shape[1],
        analyser=ANALYSER,
        chunker=chunking.key,
        chunking=chunking,
        documents={one.id_: entry_of(one.text, one.metadata) for one in documents},
        passages=len(nodes),
        checksums=checksums(target),
        profile=profile,
        languages=languages_of([(d.get_content(), d.metadata["language"]) for d in documents]),
        spoken=_spoken(passages),
        enricher=enricher.key if enricher else "",
        context_prompt=enricher.own_prompt if enricher else "",
        without_context=enriched.without_context if enriched else 0,
        store=store,
        probe=cache.probe(),
    ).write(target)
    if enricher is None or enriched is None:
        return WriteReport(len(nodes), embed.embedded, embeddings=embed.calls)
    return WriteReport(
        len(nodes),
        embed.embedded,
        enricher.key,
        enriched.calls,
        enriched.without_context,
        enriched.reason,
        embeddings=embed.calls,
    )


def _save_documents(path: Path, documents: Sequence[LlamaDocument]) -> None:
    """Write what LlamaIndex's `SimpleDocumentStore` reads, with each text once: it would write it twice."""
    data = {document.id_: doc_to_json(document) for document in documents}
    for one in data.values():
        one[DATA_KEY].pop("text", None)
    path.write_text(json.dumps({"docstore/data": data}), encoding="utf-8")


def _spoken(passages: Sequence[Passage]) -> list[str]:
    """The languages of at least MAIN_LANGUAGE of the passages, the most frequent first; English if there are none."""
    counted = Counter(passage.language for passage in passages).most_common()
    return [code for code, count in counted if count >= MAIN_LANGUAGE * len(passages)] or ["en"]
