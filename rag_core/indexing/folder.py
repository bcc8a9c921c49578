"""Writing index generations: written next to the current one, checked, then switched to atomically."""

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
from ..values.errors import DataError, IndexBusy, IndexDamaged, StorageError, attach_calls_to_errors
from ..values.private import FILE, FOLDER, private_file, private_folder, private_home, tighten
from ..values.profile import Profile
from ..values.types import Cost, ModelCall
from .bm25 import Bm25Index
from .chroma import chroma_client, clear_unused
from .chunking import DEFAULT, Chunking, PassageParser, passage_in
from .enrich import Enricher
from .old_generations import drop_old
from .pipeline import BatchedChroma, EmbedPassages, EnrichPassages, Progress
from .store import (
    COLLECTION,
    FORMAT,
    CorpusIndex,
    Manifest,
    checksums,
    current_generation,
    current_name,
    generations,
    next_number,
)
from .vectors import VectorCache

EF_SEARCH = 1000  # HNSW parameter: exact on collections of this size, at about 2 ms per query
# Chroma writes the vectors of few passages too; otherwise every reader would write the files anew
SYNC = {"batch_size": 1, "sync_threshold": 1}


@dataclass(frozen=True, slots=True)
class WriteReport:
    """The outcome of writing a generation.

    Args:
        passages: number of passages.
        embedded: number of passages embedded; the rest were cached.
        enricher: key of the enricher; empty for a plain index.
        calls: the enricher's calls.
        embeddings: the embedding calls.
        without_context: number of passages whose context failed; `reason` says why.
        damage: damage found in the previous index; empty when there was none.
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
        """The cost of contexts and embeddings."""
        return Cost.of((*self.calls, *self.embeddings))


class IndexFolder:
    """A folder of index generations.

    Args:
        home: the state folder, which `folder` is in.
        what: the index's name in messages.
    """

    def __init__(
        self, home: Path, folder: Path, corpus: str, what: str, embedder: Embedder, cache: VectorCache
    ) -> None:
        self._home = home
        self.corpus = corpus
        self.folder = folder
        self._what = f"{what} of corpus {corpus!r}"
        self._embedder = embedder
        self._cache = cache
        self._opened: CorpusIndex | None = None

    def open(self) -> CorpusIndex | None:
        """The current generation, opened and checked once; None when there is none.

        Raises:
            IndexDamaged: the message names the corpus and the damaged part.
        """
        generation = None
        try:
            generation = current_generation(self.folder)
            if generation is None:
                return None
            if self._opened is None or not self._opened.is_from(generation):
                self._opened = None
                self._opened = CorpusIndex.open(generation, self._embedder.read)
                drop_old(self.folder)
            made_with = self._opened.manifest.embedding.partition("+gloss@")[0]
            if made_with != self._embedder.weights:
                raise IndexDamaged(
                    f"{generation.name}: it was made with {made_with}, not with {self._embedder.weights}."
                )
            return self._opened
        except IndexDamaged as error:
            if generation and current_name(self.folder) not in (None, generation.name):
                return self.open()  # another process has just replaced it
            raise IndexDamaged(
                f"The {self._what} is damaged. {error.message}",
                "It will be rebuilt when the corpus is next opened, by any `rag` command, or indexed.",
            ) from error

    @property
    def exists(self) -> bool:
        """Whether an index exists."""
        return current_name(self.folder) is not None

    def is_current(self, index: CorpusIndex) -> bool:
        """Whether an index was written by this version, for this embedding model and its gloss."""
        return index.manifest.made_with(self._embedder.key)

    @contextmanager
    def _writing(self) -> Iterator[list[ModelCall]]:
        """Take the write lock and yield a list for model calls, which errors will carry."""
        lock = FileLock(self.folder / "LOCK", timeout=0, mode=FILE)
        bills: list[ModelCall] = []
        try:
            private_home(self._home)
            for folder in (self.folder.parents[1], self.folder.parent, self.folder):
                private_folder(folder)
            with lock, attach_calls_to_errors(bills):
                tighten(self.folder)
                yield bills
        except Timeout as error:
            raise IndexBusy(
                f"Another process is writing the {self._what}.",
                "Wait until it finishes, then try again.",
            ) from error
        except TimeoutError as error:  # an OSError too, but of a library that gave up, not of the disk
            raise DataError(
                f"The {self._what} was not written, because a document took too long to split ({error}). "
                "The current index is unchanged.",
                "Index the folder in parts to find that document.",
                tuple(bills),
            ) from error
        except OSError as error:
            raise StorageError(
                f"The {self._what} cannot be written in {self.folder}: "
                f"{error.strerror or error}. The current index is unchanged.",
                "Free disk space or set RAG_HOME to a writable folder.",
                tuple(bills),
            ) from error

    def keep_only_current(self) -> None:
        """Delete every generation but the current one, even while a process reads it."""
        for path in generations(self.folder):
            if path.name != current_name(self.folder):
                shutil.rmtree(path, ignore_errors=True)

    @property
    def profile(self) -> Profile:
        """The corpus's latest profile; empty when none was given."""
        latest = self._latest
        return latest.profile if latest else Profile()

    @property
    def chunking(self) -> Chunking:
        """How long its passages are; the default for a new corpus."""
        latest = self._latest
        return latest.chunking if latest else DEFAULT

    @property
    def _latest(self) -> Manifest | None:
        for generation in reversed(generations(self.folder)):
            with suppress(IndexDamaged):
                return Manifest.read(generation)
        return None

    def _write(
        self,
        documents: Sequence[LlamaDocument],
        progress: Progress,
        bills: list[ModelCall],
        enricher: Enricher | None = None,
        profile: Profile = Profile(),
        chunking: Chunking = DEFAULT,
    ) -> WriteReport:
        before = current_name(self.folder)
        target = self.folder / f"gen-{next_number(self.folder):06d}"
        try:
            written = self._fill(target, documents, progress, bills, enricher, profile, chunking)
            progress("check", 0, 1)
            CorpusIndex.open(target)
            progress("commit", 0, 1)
            tighten(target)
            _set_current(self.folder, target.name)
        except ChromaError as error:  # how Chroma reports a full disk
            raise StorageError(
                f"Writing the {self._what} failed: {error}. The current index is unchanged.",
                "Check the free disk space, then try again.",
            ) from error
        finally:
            if current_name(self.folder) != target.name:
                shutil.rmtree(target, ignore_errors=True)
        self._opened = None
        kept = (before, target.name)
        drop_old(self.folder, [path for path in generations(self.folder) if path.name not in kept])
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
        chunking: Chunking,
    ) -> WriteReport:
        target.mkdir(FOLDER)
        enrich = EnrichPassages(documents, enricher, progress, bills) if enricher else None
        embed = EmbedPassages(self._cache, progress, bills)
        parse = PassageParser(
            self._embedder.count, lambda done, total: progress("split", done, total), chunking
        )
        steps = [step for step in (parse, enrich, embed) if step]
        with chroma_client(target / "chroma") as client:
            nodes = _store(client, target, documents, steps, progress)
        clear_unused(target / "chroma")
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
            chunker=chunking.key,
            chunking=chunking,
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
            probe=self._cache.probe(),
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


def _set_current(folder: Path, name: str) -> None:
    """Point CURRENT to a generation, atomically and durably."""
    draft = folder / "CURRENT.new"
    private_file(draft)
    with draft.open("w", encoding="utf-8") as file:
        file.write(name)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / "CURRENT")
