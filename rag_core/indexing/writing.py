"""Writing a generation with LlamaIndex's ingestion pipeline: documents, passages, vectors, BM25 and manifest."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import BaseNode, TransformComponent
from llama_index.core.schema import Document as LlamaDocument
from llama_index.core.storage.docstore import SimpleDocumentStore

from ..language.analysis import ANALYSER, languages_of, tokens
from ..runtime.services import Embedder
from ..values.owner_only import FOLDER
from ..values.profile import Profile
from ..values.types import ModelCall
from .bm25 import Bm25Index
from .chroma import chroma_client, clear_unused
from .chunking import Chunking
from .enrich import Enricher
from .passage_parser import PassageParser
from .passages import passage_in, save_passages
from .pipeline import BatchedChroma, EmbedPassages, EnrichPassages
from .recovery import entry_of
from .store import FORMAT, Manifest, checksums
from .vector_store import COLLECTION
from .vectors import VectorCache
from .write_report import Progress, WriteReport

EF_SEARCH = 1000  # HNSW parameter: exact on collections of this size, at about 2 ms per query
# Chroma writes the vectors of few passages too; otherwise every reader would write the files anew
SYNC = {"batch_size": 1, "sync_threshold": 1}


def write_generation(
    target: Path,
    corpus: str,
    documents: Sequence[LlamaDocument],
    embedder: Embedder,
    cache: VectorCache,
    enricher: Enricher | None,
    profile: Profile,
    chunking: Chunking,
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
    with chroma_client(target / "chroma") as client:
        nodes = _store(client, target, documents, steps, progress)
    clear_unused(target / "chroma")
    passages = [passage_in(node) for node in nodes]
    save_passages(target / "passages.json", nodes)
    progress("lexical", 0, 1)
    Bm25Index.fit([tokens(passage.indexed_text, passage.language) for passage in passages]).save(
        target / "lexical.npz"
    )
    enriched = enrich.done if enrich else None
    Manifest(
        format=FORMAT,
        corpus=corpus,
        embedding=embedder.key,
        dimensions=len(nodes[0].embedding or ()) if nodes else 0,
        analyser=ANALYSER,
        chunker=chunking.key,
        chunking=chunking,
        documents={one.id_: entry_of(one.text, one.metadata) for one in documents},
        passages=len(nodes),
        checksums=checksums(target),
        profile=profile,
        languages=languages_of([(d.get_content(), d.metadata["language"]) for d in documents]),
        enricher=enricher.key if enricher else "",
        context_prompt=enricher.own_prompt if enricher else "",
        without_context=enriched.without_context if enriched else 0,
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


def _store(
    client: Any,
    target: Path,
    documents: Sequence[LlamaDocument],
    steps: Sequence[TransformComponent],
    progress: Progress,
) -> Sequence[BaseNode]:
    """Store passages in Chroma and documents in the docstore; returns the passages.

    A fresh docstore, so its upsert skips nothing. With the old generation's docstore it would delete passages
    before their replacements exist, and it keeps only one of two documents with equal text (LlamaIndex issue
    22706). Unchanged passages cost nothing anyway, since VectorCache has their vectors.
    """
    collection = client.create_collection(
        COLLECTION,
        configuration={"hnsw": {"space": "cosine", "ef_construction": 200, "ef_search": EF_SEARCH, **SYNC}},
        embedding_function=None,
    )
    docstore = SimpleDocumentStore()
    pipeline = IngestionPipeline(
        transformations=list(steps),
        docstore=docstore,
        vector_store=BatchedChroma.over(collection, client.get_max_batch_size(), progress),
        disable_cache=True,  # it is keyed by the full list of nodes; VectorCache is keyed by passage
    )
    nodes = pipeline.run(documents=list(documents))
    docstore.persist(str(target / "docstore.json"))
    return nodes
