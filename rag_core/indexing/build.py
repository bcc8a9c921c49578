"""Writing an index: a new generation beside the old one, checked, then pointed at in one step."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chromadb.errors import ChromaError
from filelock import FileLock, Timeout
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import BaseNode, TransformComponent
from llama_index.core.schema import Document as LlamaDocument
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.vector_stores.chroma import ChromaVectorStore
from pydantic import PrivateAttr

from ..context import Embedder
from ..corpus import Document
from ..errors import DataError, IndexBusy, IndexDamaged, StorageError
from ..lexical import Bm25Index
from ..text import ANALYSER, tokens
from ..types import Passage
from .chunking import CHUNKER, PassageParser, passage_of
from .readers import Reading
from .salvage import Lost, lost_rows, read_documents, salvaged
from .store import (
    COLLECTION,
    FORMAT,
    CorpusIndex,
    Manifest,
    checksums,
    chroma_client,
    current,
    generations,
    in_use,
)
from .vectors import VectorCache

EF_SEARCH = 1000  # of HNSW: exact on collections of this size, at about 2 ms a query

Progress = Callable[[str, int, int], None]  # (what, done, total)


def silent(what: str, done: int, total: int) -> None:
    """A progress callback that tells nobody."""


@dataclass(slots=True)
class Report:
    """What an indexing run did, document by document.

    Args:
        failed: (file, reason); and (root, reason) where documents were lost with a damaged index.
        embedded: passages that had to be embedded; the others were known.
    """

    corpus: str
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    passages: int = 0
    embedded: int = 0


class CorpusStore:
    """The index of one corpus for one embedding model.

    Args:
        home: the state folder.
        corpus: name of the corpus; letters, digits, ".", "_" and "-".
        shipped: folder of vectors that were computed beforehand.
    """

    def __init__(self, home: Path, corpus: str, embedder: Embedder, shipped: Path | None = None) -> None:
        self.corpus = corpus
        self.folder = home / "corpora" / corpus / embedder.key
        self._embedder = embedder
        prebuilt = shipped / f"{embedder.key}.npz" if shipped else None
        self._cache = VectorCache(home / "vectors" / f"{embedder.key}.sqlite", embedder, prebuilt)
        self._opened: CorpusIndex | None = None

    def open(self) -> CorpusIndex | None:
        """The current generation, opened and checked once; None when there is none.

        Raises:
            IndexDamaged: naming the corpus and the damaged part.
        """
        try:
            generation = current(self.folder)
            if generation is None:
                return None
            if self._opened is None or self._opened.generation != generation:
                self._opened = CorpusIndex.open(generation)
            return self._opened
        except IndexDamaged as error:
            raise IndexDamaged(
                f"The index of corpus {self.corpus!r} is damaged. {error.message}",
                "It is rebuilt when the corpus is opened or indexed.",
            ) from error

    @property
    def exists(self) -> bool:
        """Whether there is an index to ask."""
        return in_use(self.folder) is not None

    def update(self, reading: Reading, progress: Progress = silent) -> Report:
        """Bring the index to what was read; documents of other roots stay as they are.

        Nothing is written when nothing changed. Whatever goes wrong, the index in use stays.

        Raises:
            IndexBusy: another process is writing this index.
            StorageError: the disk is full or the folder cannot be written.
            DataError: another folder already gave this corpus a document of the same id.
        """
        with self._writing():
            old, sound, lost = self._old()
            fresh = {document.id: _llama_document(document, reading) for document in reading.documents}
            kept = _kept(self.corpus, old, fresh, reading)
            report = _report(self.corpus, old, kept, fresh, reading)
            report.failed += lost_rows(self.corpus, lost, fresh, reading.root)
            if sound and not (report.added or report.changed or report.removed):
                report.passages = sound.manifest.passages
                return report
            self._write(list({**kept, **fresh}.values()), report, progress)
            return report

    def rebuild(self, progress: Progress = silent) -> Report:
        """Write a new generation from the documents of a damaged one.

        Raises:
            IndexDamaged: the documents themselves are lost.
            IndexBusy, StorageError: as for `update`.
        """
        with self._writing():
            documents, sound, lost = self._old()
            if not documents and sound is None:
                raise IndexDamaged(
                    f"The documents of corpus {self.corpus!r} are lost with its index.",
                    f"Run `rag index PATH --corpus {self.corpus}` to read them again.",
                )
            failed = lost_rows(self.corpus, lost)
            report = Report(self.corpus, added=sorted(documents), failed=failed)
            self._write(list(documents.values()), report, progress)
            return report

    def _old(self) -> tuple[dict[str, LlamaDocument], CorpusIndex | None, Lost]:
        """The index in use: its documents, itself if it is sound and of this version, what is lost of it."""
        try:
            index = self.open()
        except IndexDamaged:
            documents, lost = salvaged(self.folder)
            return documents, None, lost
        if index is None:
            return {}, None, {}
        ours = index.manifest.analyser == ANALYSER and index.manifest.chunker == CHUNKER
        return read_documents(index.generation), index if ours else None, {}

    @contextmanager
    def _writing(self) -> Iterator[None]:
        lock = FileLock(self.folder / "LOCK", timeout=0)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with lock:
                yield
        except Timeout as error:
            raise IndexBusy(
                f"Another process is writing the index of corpus {self.corpus!r}.",
                "Wait for it, then try again.",
            ) from error
        except OSError as error:
            raise StorageError(
                f"The index of corpus {self.corpus!r} cannot be written in {self.folder}: "
                f"{error.strerror or error}. The index in use is untouched.",
                "Free disk space or set RAG_HOME to a folder that can be written.",
            ) from error

    def _write(self, documents: Sequence[LlamaDocument], report: Report, progress: Progress) -> None:
        old = in_use(self.folder)
        number = 1 + max((int(path.name[4:]) for path in generations(self.folder)), default=0)
        target = self.folder / f"gen-{number:06d}"
        try:
            manifest = self._fill(target, documents, report, progress)
            manifest.write(target)
            progress("check", 0, 1)
            CorpusIndex.open(target)
            progress("commit", 0, 1)
            _point(self.folder, target.name)
        except ChromaError as error:  # Chroma wraps full disks in errors of its own
            raise StorageError(
                f"Writing the index of corpus {self.corpus!r} failed: {error}. The index in use is untouched.",
                "Check the free disk space, then try again.",
            ) from error
        finally:
            if in_use(self.folder) != target.name:
                shutil.rmtree(target, ignore_errors=True)
        report.passages = manifest.passages
        for path in generations(self.folder):
            if path.name not in (target.name, old):
                shutil.rmtree(path, ignore_errors=True)
        progress("ready", 1, 1)

    def _fill(
        self, target: Path, documents: Sequence[LlamaDocument], report: Report, progress: Progress
    ) -> Manifest:
        target.mkdir()
        with chroma_client(target / "chroma") as client:
            nodes, embedded = self._store(client, target, documents, progress)
        report.embedded = embedded
        passages = [passage_of(node.node_id, node.get_content(), node.metadata) for node in nodes]
        order = [passage.id for passage in passages]
        (target / "passages.json").write_text(json.dumps(order), encoding="utf-8")
        progress("lexical", 0, 1)
        Bm25Index.fit([tokens(passage.indexed_text, passage.language) for passage in passages]).save(
            target / "lexical.npz"
        )
        return Manifest(
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
        )

    def _store(
        self, client: Any, target: Path, documents: Sequence[LlamaDocument], progress: Progress
    ) -> tuple[Sequence[BaseNode], int]:
        """Passages into Chroma and documents into the docstore; the passages, and how many were embedded."""
        collection = client.create_collection(
            COLLECTION,
            configuration={"hnsw": {"space": "cosine", "ef_construction": 200, "ef_search": EF_SEARCH}},
            embedding_function=None,
        )
        docstore = SimpleDocumentStore()
        embed = EmbedPassages(self._cache, progress)
        pipeline = IngestionPipeline(
            transformations=[PassageParser(self._embedder.count), embed],
            docstore=docstore,
            vector_store=BatchedChroma.over(collection, client.get_max_batch_size(), progress),
            disable_cache=True,  # its key is the whole list of nodes; VectorCache goes by passage
        )
        nodes = pipeline.run(documents=list(documents))
        docstore.persist(str(target / "docstore.json"))
        return nodes, embed.embedded


class EmbedPassages(TransformComponent):
    """Gives each node the vector of its passage's indexed text."""

    _cache: VectorCache = PrivateAttr()
    _progress: Progress = PrivateAttr()
    _embedded: int = PrivateAttr(default=0)

    def __init__(self, cache: VectorCache, progress: Progress) -> None:
        super().__init__()
        self._cache = cache
        self._progress = progress

    @property
    def embedded(self) -> int:
        """How many passages were not known before."""
        return self._embedded

    def __call__(self, nodes: Sequence[BaseNode], **kwargs: Any) -> Sequence[BaseNode]:
        """Set `embedding` on every node."""
        if not nodes:
            return nodes
        texts = [passage_of(node.node_id, node.get_content(), node.metadata).indexed_text for node in nodes]
        vectors, self._embedded = self._cache.vectors(
            texts, lambda done, total: self._progress("embed", done, total)
        )
        for node, vector in zip(nodes, vectors, strict=True):
            node.embedding = vector.tolist()
        return nodes


class BatchedChroma(ChromaVectorStore):
    """LlamaIndex's Chroma store, kept within Chroma's own batch limit."""

    _batch: int = PrivateAttr(default=1000)
    _progress: Progress = PrivateAttr()

    @classmethod
    def over(cls, collection: Any, batch: int, progress: Progress) -> BatchedChroma:
        """A store over an open collection."""
        store = cls(chroma_collection=collection)  # type: ignore[call-arg]  # its __init__ is not seen by mypy
        store._batch = batch
        store._progress = progress
        return store

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Add nodes batch by batch; returns their ids."""
        ids: list[str] = []
        for start in range(0, len(nodes), self._batch):
            self._progress("store", start, len(nodes))
            ids += super().add(list(nodes[start : start + self._batch]), **kwargs)
        return ids


def chunked(documents: Sequence[Document], embedder: Embedder) -> list[Passage]:
    """The passages an index of these documents would hold, in order."""
    reading = Reading("", list(documents))
    nodes = PassageParser(embedder.count).get_nodes_from_documents(
        [_llama_document(document, reading) for document in documents]
    )
    return [passage_of(node.node_id, node.get_content(), node.metadata) for node in nodes]


def _llama_document(document: Document, reading: Reading) -> LlamaDocument:
    return LlamaDocument(
        id_=document.id,
        text=document.text,
        metadata={
            "title": document.title,
            "language": document.language,
            "source": "; ".join(str(source) for source in document.sources),
            "root": reading.root,
            "file": reading.files.get(document.id, ""),
            "whole": reading.whole,
        },
    )


def _kept(
    corpus: str, old: Mapping[str, LlamaDocument], fresh: Mapping[str, LlamaDocument], reading: Reading
) -> dict[str, LlamaDocument]:
    """Old documents that stay: those of other roots, and those of files that could not be read now."""
    unread = {file for file, _ in reading.failed}
    others = {name: document for name, document in old.items() if document.metadata["root"] != reading.root}
    clash = sorted(others.keys() & fresh.keys())
    if clash and not reading.owner:
        raise DataError(
            f"Corpus {corpus!r} already has a document {clash[0]!r} from another folder.",
            "Rename the file, or index it into another corpus.",
        )
    return {
        name: document
        for name, document in old.items()
        if name not in fresh and (name in others or document.metadata["file"] in unread)
    }


def _report(
    corpus: str,
    old: Mapping[str, LlamaDocument],
    kept: Mapping[str, LlamaDocument],
    fresh: Mapping[str, LlamaDocument],
    reading: Reading,
) -> Report:
    report = Report(corpus, failed=list(reading.failed))
    for name, document in fresh.items():
        if name not in old:
            report.added.append(name)
        elif old[name].hash != document.hash:
            report.changed.append(name)
        else:
            report.unchanged.append(name)
    report.removed = sorted(old.keys() - fresh.keys() - kept.keys())
    return report


def _point(folder: Path, name: str) -> None:
    """Make CURRENT name a generation, in one step that survives a power cut."""
    draft = folder / "CURRENT.new"
    with draft.open("w", encoding="utf-8") as file:
        file.write(name)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / "CURRENT")
