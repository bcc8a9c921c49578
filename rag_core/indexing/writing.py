"""Writing a generation with LlamaIndex's ingestion pipeline: documents, passages, vectors, BM25 and manifest."""

import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np
from llama_index.core.constants import DATA_KEY
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import BaseNode
from llama_index.core.schema import Document as LlamaDocument
from llama_index.core.storage.docstore.utils import doc_to_json

from ..language.analysis import ANALYSER, MAIN_LANGUAGE, languages_of, tokens
from ..values.owner_only import FOLDER
from ..values.profile import Profile
from ..values.types import ModelCall, Passage, Vectors
from .bm25 import Bm25Index
from .cutting import Chunking
from .enrich import DocumentPassages, Enriched, Enricher
from .folder import IndexFolder
from .manifest import FORMAT, Manifest, checksums
from .passage_parser import PassageParser
from .passages import passage_in, save_passages
from .recovery import entry_of
from .stores import WORDS
from .write_report import Progress, WriteReport


def write_generation(
    target: Path,
    index: IndexFolder,
    documents: Sequence[LlamaDocument],
    enricher: Enricher | None,
    profile: Profile,
    chunking: Chunking,
    store: str,
    progress: Progress,
    bills: list[ModelCall],
) -> WriteReport:
    """Write the generation `target` of a corpus's index from these documents, with its vectors in `store`; `bills` receives the calls."""
    target.mkdir(FOLDER)
    parse = PassageParser(index.embedder.count, partial(progress, "split"), chunking)
    # without a docstore, which would leave out one of two documents with equal text (LlamaIndex issue 22706), and
    # without a cache, keyed by the full list of nodes: VectorCache has the vectors of unchanged passages
    pipeline = IngestionPipeline(transformations=[parse], disable_cache=True)
    nodes = pipeline.run(documents=list(documents))
    enriched = Enriched(())
    if enricher:
        enriched = enricher.enrich(_sources(documents, nodes), partial(progress, "enrich"))
        bills.extend(enriched.calls)
        for node, context in zip(nodes, enriched.contexts, strict=True):
            if context:
                node.metadata["context"] = context
    passages = [passage_in(node) for node in nodes]
    vectors: Vectors = np.zeros((0, 0), np.float32)
    embedded, embeddings = 0, tuple[ModelCall, ...]()
    if passages and store != WORDS:
        texts = [(one.indexed_text, one.language) for one in passages]
        vectors, embedded, embeddings = index.cache.vectors(texts, partial(progress, "embed"))
        bills.extend(embeddings)
    _save_documents(target / "docstore.json", documents)
    progress("lexical", 0, 1)
    bm25 = Bm25Index.fit(tokens(one.indexed_text, one.language) for one in passages)
    bm25.save(target)
    index.stores[store].write(target, nodes, vectors, bm25, lambda done: progress("store", done, len(passages)))
    save_passages(target, nodes)
    Manifest(
        format=FORMAT,
        corpus=index.corpus,
        embedding=index.embedder.key,
        dimensions=vectors.shape[1],
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
        without_context=enriched.without_context,
        store=store,
        probe=index.cache.probe(),
    ).write(target)
    return WriteReport(
        len(nodes),
        embedded,
        enricher.key if enricher else "",
        enriched.calls,
        enriched.without_context,
        enriched.reason,
        embeddings=embeddings,
    )


def _sources(documents: Sequence[LlamaDocument], nodes: Sequence[BaseNode]) -> list[DocumentPassages]:
    texts = {document.id_: document.get_content() for document in documents}
    return [
        DocumentPassages(texts[name], tuple(map(passage_in, group)))
        for name, group in groupby(nodes, lambda node: str(node.ref_doc_id))
    ]


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
