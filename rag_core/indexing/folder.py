"""Writing generations: a new one beside the old one, checked, then pointed at in one step."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chromadb.errors import ChromaError
from filelock import FileLock, Timeout
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import BaseNode, TransformComponent
from llama_index.core.schema import Document as LlamaDocument
from llama_index.core.storage.docstore import SimpleDocumentStore

from ..language.analysis import ANALYSER, languages_of, tokens
from ..runtime.services import Embedder
from ..values.errors import IndexBusy, IndexDamaged, StorageError, attach_calls_to_errors
from ..values.profile import Profile
from ..values.types import Cost, ModelCall
from .bm25 import Bm25Index
from .chunking import CHUNKER, PassageParser, passage_in
from .enrich import Enricher
from .pipeline import BatchedChroma, EmbedPassages, EnrichPassages, Progress
from .store import (
    COLLECTION,
    FORMAT,
    CorpusIndex,
    Manifest,
    checksums,
    chroma_client,
    current_generation,
    current_name,
    generations,
    next_number,
)
from .vectors import VectorCache

EF_SEARCH = 1000  # of HNSW: exact on collections of this size, at about 2 ms a query


@dataclass(frozen=True, slots=True)
class WriteReport:
    """What writing a generation did.

    Args:
        passages: how many it holds.
        embedded: passages that had to be embedded; the others were known.
        enricher: what wrote their contexts; empty for a plain index.
        calls: what a language model wrote for them.
        embeddings: the bills of embedding.
        without_context: passages that could not be given a context, and `reason` why.
        damage: what was wrong with the index before; empty when it was whole.
    """

    passages: int
    embedded: int
    enricher: str = ""
    calls: tuple[ModelCall, ...] = ()
    without_context: int = 0
    reason: str = ""
    damage: str = ""
    embeddings: tuple[ModelCall, ...] = ()

    @property
    def cost(self) -> Cost:
        """Of the contexts and the embeddings."""
        return Cost.of((*self.calls, *self.embeddings))


class IndexFolder:
    """A folder of generations.

    Args:
        what: how messages call the index.
    """

    def __init__(self, folder: Path, corpus: str, what: str, embedder: Embedder, cache: VectorCache) -> None:
        self.corpus = corpus
        self.folder = folder
        self._what = f"{what} of corpus {corpus!r}"
        self._embedder = embedder
        self._cache = cache
        self._opened: CorpusIndex | None = None

    def open(self) -> CorpusIndex | None:
        """The current generation, opened and checked once; None when there is none.

        Raises:
            IndexDamaged: naming the corpus and the damaged part.
        """
        try:
            generation = current_generation(self.folder)
            if generation is None:
                return None
            if self._opened is None or self._opened.generation != generation:
                self._opened = CorpusIndex.open(generation)
            return self._opened
        except IndexDamaged as error:
            raise IndexDamaged(
                f"The {self._what} is damaged. {error.message}",
                "It is rebuilt when the corpus is opened or indexed.",
            ) from error

    @property
    def exists(self) -> bool:
        """Whether there is an index to ask."""
        return current_name(self.folder) is not None

    @contextmanager
    def _writing(self) -> Iterator[list[ModelCall]]:
        """The writer's lock, and a list for the calls that are made: errors carry what is in it."""
        lock = FileLock(self.folder / "LOCK", timeout=0)
        bills: list[ModelCall] = []
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with lock, attach_calls_to_errors(bills):
                yield bills
        except Timeout as error:
            raise IndexBusy(
                f"Another process is writing the {self._what}.",
                "Wait for it, then try again.",
            ) from error
        except OSError as error:
            raise StorageError(
                f"The {self._what} cannot be written in {self.folder}: "
                f"{error.strerror or error}. The index in use is untouched.",
                "Free disk space or set RAG_HOME to a folder that can be written.",
                tuple(bills),
            ) from error

    @property
    def profile(self) -> Profile:
        """What the corpus was last said to be about; neutral when nobody has said it."""
        for generation in reversed(generations(self.folder)):
            with suppress(IndexDamaged):
                return Manifest.read(generation).profile
        return Profile()

    def _write(
        self,
        documents: Sequence[LlamaDocument],
        progress: Progress,
        bills: list[ModelCall],
        enricher: Enricher | None = None,
        profile: Profile = Profile(),
    ) -> WriteReport:
        old = current_name(self.folder)
        target = self.folder / f"gen-{next_number(self.folder):06d}"
        try:
            written = self._fill(target, documents, progress, bills, enricher, profile)
            progress("check", 0, 1)
            CorpusIndex.open(target)
            progress("commit", 0, 1)
            _set_current(self.folder, target.name)
        except ChromaError as error:  # Chroma wraps full disks in errors of its own
            raise StorageError(
                f"Writing the {self._what} failed: {error}. The index in use is untouched.",
                "Check the free disk space, then try again.",
            ) from error
        finally:
            if current_name(self.folder) != target.name:
                shutil.rmtree(target, ignore_errors=True)
        for path in generations(self.folder):
            if path.name not in (target.name, old):
                shutil.rmtree(path, ignore_errors=True)
        progress("ready", 1, 1)
        return written

    def _fill(
        self,
        target: Path,
        documents: Sequence[LlamaDocument],
        progress: Progress,
        bills: list[ModelCall],
        enricher: Enricher | None,
        profile: Profile,
    ) -> WriteReport:
        target.mkdir()
        enrich = EnrichPassages(documents, enricher, progress, bills) if enricher else None
        embed = EmbedPassages(self._cache, progress, bills)
        steps = [step for step in (PassageParser(self._embedder.count), enrich, embed) if step]
        with chroma_client(target / "chroma") as client:
            nodes = _store(client, target, documents, steps, progress)
        passages = [passage_in(node) for node in nodes]
        order = [passage.id for passage in passages]
        (target / "passages.json").write_text(json.dumps(order), encoding="utf-8")
        progress("lexical", 0, 1)
        Bm25Index.fit([tokens(passage.indexed_text, passage.language) for passage in passages]).save(
            target / "lexical.npz"
        )
        enriched = enrich.done if enrich else None
        Manifest(
            format=FORMAT,
            corpus=self.corpus,
            embedding=self._embedder.key,
            dimensions=len(nodes[0].embedding or ()) if nodes else 0,
            analyser=ANALYSER,
            chunker=CHUNKER,
            documents={
                document.id_: {
                    "hash": document.hash,
                    **{key: document.metadata[key] for key in ("root", "file")},
                }
                for document in documents
            },
            passages=len(nodes),
            checksums=checksums(target),
            profile=profile,
            languages=languages_of([(d.get_content(), d.metadata["language"]) for d in documents]),
            enricher=enricher.key if enricher else "",
            without_context=enriched.without_context if enriched else 0,
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
    """Passages into Chroma and documents into the docstore; the passages.

    The docstore is new, so its upsert has nothing to skip. Over the old generation's it would delete passages
    before their successors exist, and it keeps one document of two with equal text (LlamaIndex issue 22706);
    what did not change costs nothing here either, since VectorCache knows its vectors.
    """
    collection = client.create_collection(
        COLLECTION,
        configuration={"hnsw": {"space": "cosine", "ef_construction": 200, "ef_search": EF_SEARCH}},
        embedding_function=None,
    )
    docstore = SimpleDocumentStore()
    pipeline = IngestionPipeline(
        transformations=list(steps),
        docstore=docstore,
        vector_store=BatchedChroma.over(collection, client.get_max_batch_size(), progress),
        disable_cache=True,  # its key is the whole list of nodes; VectorCache goes by passage
    )
    nodes = pipeline.run(documents=list(documents))
    docstore.persist(str(target / "docstore.json"))
    return nodes


def _set_current(folder: Path, name: str) -> None:
    """Make CURRENT name a generation, in one step that survives a power cut."""
    draft = folder / "CURRENT.new"
    with draft.open("w", encoding="utf-8") as file:
        file.write(name)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / "CURRENT")
