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
from .store import COLLECTION, FORMAT, CorpusIndex, Manifest, checksum, chroma_client, current
from .vectors import VectorCache

Progress = Callable[[str, int, int], None]  # (what, done, total)


def silent(what: str, done: int, total: int) -> None:
    """A progress callback that tells nobody."""


@dataclass(slots=True)
class Report:
    """What an indexing run did, document by document.

    Args:
        failed: (file, reason).
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

    def open(self) -> CorpusIndex | None:
        """The current generation, checked; None when there is none.

        Raises:
            IndexDamaged: naming the corpus and the damaged part.
        """
        try:
            generation = current(self.folder)
            return None if generation is None else CorpusIndex.open(generation)
        except IndexDamaged as error:
            raise IndexDamaged(
                f"The index of corpus {self.corpus!r} is damaged. {error.message}",
                "It is rebuilt when the corpus is opened or indexed.",
            ) from error

    def moved_on(self, index: CorpusIndex) -> bool:
        """Whether another generation than this one is in use now."""
        return _generation_in_use(self.folder) != index.generation.name

    def update(self, reading: Reading, progress: Progress = silent) -> Report:
        """Bring the index to what was read; documents of other roots stay as they are.

        Nothing is written when nothing changed. Whatever goes wrong, the index in use stays.

        Raises:
            IndexBusy: another process is writing this index.
            StorageError: the disk is full or the folder cannot be written.
            DataError: a document without a readable form in the old index has to be read again.
        """
        with self._writing():
            kept, before, damaged = self._held(reading)
            fresh = {document.id: _llama_document(document, reading) for document in reading.documents}
            report = _report(self.corpus, before, kept, fresh, reading)
            documents = {**kept, **fresh}
            if not (report.added or report.changed or report.removed or damaged) and before is not None:
                report.passages = before.passages
                return report
            self._write(list(documents.values()), report, progress)
            return report

    def rebuild(self, progress: Progress = silent) -> Report:
        """Write a new generation from the documents of a damaged one.

        Raises:
            IndexDamaged: the documents themselves are lost.
            IndexBusy, StorageError: as for `update`.
        """
        with self._writing():
            generation = current(self.folder)
            documents = _read_documents(generation) if generation else {}
            report = Report(self.corpus, added=sorted(documents))
            self._write(list(documents.values()), report, progress)
            return report

    def _held(self, reading: Reading) -> tuple[dict[str, LlamaDocument], Manifest | None, bool]:
        """Documents to keep, the old manifest, and whether the old index is damaged.

        Kept are those of other roots, and those whose file could not be read this time.
        """
        try:
            index = self.open()
            if index is None:
                return {}, None, False
            manifest, damaged = index.manifest, not self._is_ours(index.manifest)
        except IndexDamaged:
            generation = current(self.folder)
            if generation is None:
                raise
            manifest, damaged = Manifest.read(generation), True
        unread = {file for file, _ in reading.failed}
        others = {
            name
            for name, row in manifest.documents.items()
            if row["root"] != reading.root or row["file"] in unread
        }
        if not others:
            return {}, manifest, damaged
        documents = _read_documents(self.folder / str(current(self.folder)))
        return {name: documents[name] for name in others}, manifest, damaged

    def _is_ours(self, manifest: Manifest) -> bool:
        return manifest.analyser == ANALYSER and manifest.chunker == CHUNKER

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
        old = _generation_in_use(self.folder)
        number = 1 + max((int(path.name[4:]) for path in self.folder.glob("gen-*")), default=0)
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
            if _generation_in_use(self.folder) != target.name:
                shutil.rmtree(target, ignore_errors=True)
        report.passages = manifest.passages
        for path in self.folder.glob("gen-*"):
            if path.name not in (target.name, old):
                shutil.rmtree(path, ignore_errors=True)
        progress("ready", 1, 1)

    def _fill(
        self, target: Path, documents: Sequence[LlamaDocument], report: Report, progress: Progress
    ) -> Manifest:
        target.mkdir()
        client = chroma_client(target / "chroma")
        collection = client.create_collection(
            COLLECTION,
            configuration={"hnsw": {"space": "cosine", "ef_construction": 200, "ef_search": 200}},
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
        report.embedded = embed.embedded
        docstore.persist(str(target / "docstore.json"))
        order = [node.node_id for node in nodes]
        passages = [passage_of(node.node_id, node.get_content(), node.metadata) for node in nodes]
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
            checksums={
                name: checksum(target / name) for name in ("docstore.json", "passages.json", "lexical.npz")
            },
        )


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


def _read_documents(generation: Path) -> dict[str, LlamaDocument]:
    try:
        stored = SimpleDocumentStore.from_persist_path(str(generation / "docstore.json")).docs
        return {name: node for name, node in stored.items() if isinstance(node, LlamaDocument)}
    except (OSError, ValueError) as error:
        raise IndexDamaged(
            f"{generation.name}: docstore.json, which holds the documents, cannot be read ({error}).",
            "Delete this corpus's folder under RAG_HOME, then run `rag index PATH --corpus NAME`.",
        ) from error


def _report(
    corpus: str,
    before: Manifest | None,
    kept: Mapping[str, LlamaDocument],
    fresh: Mapping[str, LlamaDocument],
    reading: Reading,
) -> Report:
    clash = sorted(set(kept) & set(fresh))
    if clash:
        raise DataError(
            f"Corpus {corpus!r} already has a document {clash[0]!r} from another folder.",
            "Rename the file, or index it into another corpus.",
        )
    held = {} if before is None else {name: row for name, row in before.documents.items() if name not in kept}
    report = Report(corpus, failed=list(reading.failed))
    for name, document in fresh.items():
        state = held.get(name)
        kind = report.added if state is None else report.unchanged
        if state is not None and state["hash"] != document.hash:
            kind = report.changed
        kind.append(name)
    report.removed = sorted(set(held) - set(fresh))
    return report


def _generation_in_use(folder: Path) -> str | None:
    pointer = folder / "CURRENT"
    return pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else None


def _point(folder: Path, name: str) -> None:
    """Make CURRENT name a generation, in one step that survives a power cut."""
    draft = folder / "CURRENT.new"
    with draft.open("w", encoding="utf-8") as file:
        file.write(name)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / "CURRENT")
