"""A corpus's indexes: the plain one, updated from the documents that were read, and the enriched one that follows it."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..documents.documents import Document
from ..runtime.services import Embedder
from ..values.errors import DataError, IndexDamaged, IndexOutdated
from ..values.message import Message
from ..values.profile import Profile
from ..values.sources import sources_to_json
from ..values.types import Cost, ModelCall, Passage
from .cutting import Chunking
from .enrich import OFFLINE, Enricher
from .folder import IndexFolder
from .manifest import Manifest
from .readers import SourceFiles
from .recovery import Entries, Lost, entry_of, read_documents, recover_documents, report_lost_documents
from .store import CorpusIndex, generations
from .stores import STORES, WORDS, Stores, chosen, drop_others
from .vectors import BeforeEmbedding, VectorCache
from .write_report import Progress, WriteReport, no_progress

if TYPE_CHECKING:
    from llama_index.core.schema import Document as LlamaDocument


@dataclass(slots=True)
class Report:
    """What an indexing run did, document by document.

    Args:
        failed: (file, reason) per file; (root, reason) for documents lost with a damaged index.
        skipped: (file, reason) for files of unsupported types.
        hidden: (document, what its file hides from readers), for each such text; none is indexed.
        orders: the documents that give orders to language models, which are indexed; only of `rag index`.
        embedded: number of passages embedded; the rest were cached.
        calls: the embedding calls, without those for the enriched index.
        enriched: the update of the enriched index; None when there was none.
        questions: what a model was asked for; None when it was not.
    """

    corpus: str
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    hidden: list[tuple[str, str]] = field(default_factory=list)
    orders: list[str] = field(default_factory=list)
    passages: int = 0
    embedded: int = 0
    calls: tuple[ModelCall, ...] = ()
    profile: Profile = Profile()
    enriched: WriteReport | None = None
    questions: WriteReport | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def nothing_read(self) -> bool:
        return bool(self.failed) and not (self.added or self.changed or self.unchanged)

    @property
    def embeddings(self) -> tuple[ModelCall, ...]:
        return (*self.calls, *(self.enriched.embeddings if self.enriched else ()))

    @property
    def cost(self) -> Cost:
        return sum((one.cost for one in (self.enriched, self.questions) if one), Cost.of(self.calls))


class EnrichedStore(IndexFolder):
    """The enriched index of a corpus, with contexts: its documents are the plain index's, so damage to it loses nothing."""

    def follow(
        self,
        plain: CorpusIndex,
        enricher: Enricher,
        progress: Progress = no_progress,
        *,
        retry_missing: bool = False,
    ) -> WriteReport | None:
        """Update it to the plain index's documents; returns None when it was up to date.

        `retry_missing` also rewrites an up-to-date index in which some contexts failed. Raises IndexBusy, or StorageError.
        """
        if self._follows(plain, enricher, retry_missing)[0]:
            return None
        with self._writing() as bills:
            up_to_date, damage = self._follows(plain, enricher, retry_missing)
            if up_to_date:  # another process has just done it
                return None
            documents = list(read_documents(plain.generation).values())
            chunking, store = plain.manifest.chunking, self._store_after(plain.manifest)
            written = self._write(documents, progress, bills, enricher, chunking=chunking, store=store)
            return replace(written, damage=damage)

    def sync_if_free(
        self, plain: CorpusIndex, offline: Enricher, progress: Progress = no_progress
    ) -> tuple[WriteReport | None, str]:
        """As `follow`, if the index exists and the update is free; what was written, and a message, either may be empty."""
        kept = generations(self.folder)
        if not kept:
            return None, ""
        try:
            enricher = Manifest.read(kept[-1]).enricher
            if enricher.startswith(OFFLINE):
                return self.follow(plain, offline, progress), ""
            index = self.open()
        except IndexDamaged as error:
            return None, f"{error.message} To repair it, {self._command}."
        if index and self.is_current(index) and index.manifest.same_passages(plain.manifest):
            return None, ""
        made_by = enricher.partition("/")[0]
        return None, (
            f"The {self._what} was not updated, because {made_by} writes its contexts at a cost: {self._command}."
        )

    def remove(self) -> None:
        """Delete it, if there is one; raises IndexBusy, or StorageError if the folder cannot be written."""
        if self.folder.is_dir():
            with self._writing():
                drop_others(self.stores, self.folder, ())
                shutil.rmtree(self.folder)
            self._opened = None

    @property
    def own_prompt(self) -> str:
        """The prompt in place of the standard one that its contexts were last written with; empty if there is none."""
        kept = generations(self.folder)
        try:
            return Manifest.read(kept[-1]).context_prompt if kept else ""
        except IndexDamaged:  # writing it anew reports the damage
            return ""

    @property
    def _command(self) -> str:
        return f"run `rag index PATH --corpus {self.corpus} --enrich`"

    def _follows(self, plain: CorpusIndex, enricher: Enricher, retry_missing: bool) -> tuple[bool, str]:
        """Whether it is up to date, and any damage found."""
        try:
            index = self.open()
        except IndexOutdated:
            return False, ""
        except IndexDamaged as error:
            return False, error.message
        if index is None or (retry_missing and index.manifest.without_context):
            return False, ""
        same = index.manifest.enricher == enricher.key and index.manifest.same_passages(plain.manifest)
        complete = self.is_complete(index) or index.manifest.store == plain.manifest.store == WORDS
        return same and self.is_current(index) and complete, ""


class CorpusStore(IndexFolder):
    """The index of one corpus for one embedding model, with its enriched index.

    `corpus` has letters, digits, ".", "_" and "-"; `shipped` is a folder of precomputed vectors (see `VectorCache`).
    """

    def __init__(
        self,
        home: Path,
        corpus: str,
        embedder: Embedder,
        shipped: Path | None = None,
        before: BeforeEmbedding = lambda requests: None,
        *,
        vectors_later: bool = False,
        waiting: Callable[[], None] | None = None,
        stores: Stores = STORES,
    ) -> None:
        prebuilt = shipped / embedder.weights if shipped else None
        cache = VectorCache(home / "vectors" / f"{embedder.weights}.sqlite", embedder, prebuilt, before)
        folder = home / "corpora" / corpus / embedder.weights
        super().__init__(home, folder, corpus, "index", embedder, cache, vectors_later, waiting, stores)
        beside = folder.with_name(f"{folder.name}+enriched")
        self.enriched = EnrichedStore(
            home, beside, corpus, "enriched index", embedder, cache, vectors_later, waiting, stores
        )

    @property
    def other_models(self) -> list[str]:
        """The embedding models, by their weights, of this corpus's other indexes."""
        indexes = [one for one in self.folder.parent.glob("*/CURRENT") if not one.parent.name.endswith("+enriched")]
        return sorted(one.parent.name for one in indexes if one.parent != self.folder)

    def update(
        self,
        reading: SourceFiles,
        progress: Progress = no_progress,
        alongside: Callable[[], None] = lambda: None,
    ) -> Report:
        """Update the index from the files that were read; documents from other roots are kept.

        Writes nothing if neither documents nor profile changed. On failure the current index stays in use. `alongside`
        is called right before the new index is put in place, or when the old one stays. Raises IndexBusy, StorageError,
        or DataError if two documents have one id, or the corpus has one with that id from another folder.
        """
        report, chunking, read = self._change(reading)
        if read is None:  # without the lock, so that a folder that cannot be written serves what it has
            alongside()
            return report
        with self._writing() as bills:
            report, chunking, read = self._change(reading)
            if read is None:  # another process has just done it
                alongside()
                return report
            store = chosen(self.stores)
            return self._write_report(report, read(), chunking, progress, bills, store, alongside)

    def _change(self, reading: SourceFiles) -> tuple[Report, Chunking, Callable[[], list[LlamaDocument]] | None]:
        """What an update would do, and what makes all documents of the index after it; None if it would change nothing."""
        old, read, sound, lost = self._old()
        fresh = {one.id: entry_of(one.text, _metadata(one, reading)) for one in reading.documents}
        if len(fresh) < len(reading.documents):
            ((double, _),) = Counter(one.id for one in reading.documents).most_common(1)
            raise DataError(f"Two documents have the id {double!r}.", "Give each document an id of its own.")
        kept = _kept(self.corpus, old, fresh, reading)
        lost_now = report_lost_documents(self.corpus, lost, fresh, reading.root)
        report = Report(self.corpus, failed=[*reading.failed, *lost_now], skipped=list(reading.skipped))
        for name, entry in fresh.items():
            if name not in old:
                report.added.append(name)
            else:
                same = old[name]["hash"] == entry["hash"]
                (report.unchanged if same else report.changed).append(name)
        report.hidden = [(document.id, piece) for document in reading.documents for piece in document.hidden]
        report.removed = sorted(old.keys() - fresh.keys() - kept.keys())
        report.profile = self.profile if reading.profile is None else reading.profile
        chunking = self.chunking if reading.chunking is None else reading.chunking
        changed = report.added or report.changed or report.removed
        settled = sound and (sound.manifest.profile, sound.manifest.chunking) == (report.profile, chunking)
        if sound and settled and not changed and self.is_complete(sound):
            report.passages, report.profile = sound.manifest.passages, sound.profile
            return report, chunking, None

        def documents() -> list[LlamaDocument]:
            stay = [document for name, document in read().items() if name in kept]
            return stay + [_llama_document(document, reading) for document in reading.documents]

        return report, chunking, documents

    def rebuild(self, progress: Progress = no_progress) -> Report:
        """Rebuild a damaged or outdated index from its documents; raises IndexDamaged if they are lost, or as `update`."""
        with self._writing() as bills:
            _, read, sound, lost = self._old()
            documents = read()
            if not documents and sound is None:
                raise IndexDamaged(
                    Message(
                        "The damaged index of corpus {corpus!r} has no readable documents left.",
                        corpus=self.corpus,
                    ),
                    Message("Run `rag index PATH --corpus {corpus}` to index them again.", corpus=self.corpus),
                )
            del sound  # so that nothing reads the old generation
            failed = report_lost_documents(self.corpus, lost)
            report = Report(self.corpus, added=sorted(documents), failed=failed, profile=self.profile)
            store = self._store_after(self._latest)
            return self._write_report(report, list(documents.values()), self.chunking, progress, bills, store)

    def rechunk(self, chunking: Chunking, progress: Progress = no_progress) -> Report:
        """Cut the documents of the index anew, without their files; raises DataError without an index, or as `rebuild`."""
        with self._writing() as bills:
            _, read, sound, lost = self._old()
            documents = read()
            if not documents:
                raise DataError(
                    Message("Corpus {corpus!r} has no documents to cut.", corpus=self.corpus),
                    Message("Add documents first."),
                )
            names = sorted(documents)
            if sound and not lost and sound.manifest.chunking == chunking:
                return Report(self.corpus, unchanged=names, passages=sound.manifest.passages, profile=sound.profile)
            del sound  # so that nothing reads the old generation
            report = Report(self.corpus, changed=names, profile=self.profile)
            store = self._store_after(self._latest)
            return self._write_report(report, list(documents.values()), chunking, progress, bills, store)

    def forget(self, documents: Collection[str], progress: Progress = no_progress) -> Report:
        """Write the index without these documents, and delete every older generation; raises as `update`."""
        with self._writing() as bills:
            old, read, sound, _ = self._old()
            del sound
            left = [document for name, document in read().items() if name not in documents]
            gone = sorted(old.keys() & set(documents))
            report = Report(self.corpus, removed=gone, profile=self.profile)
            store = self._store_after(self._latest)
            report = self._write_report(report, left, self.chunking, progress, bills, store)
            self.keep_only_current()
            return report

    def _write_report(
        self,
        report: Report,
        documents: Sequence[LlamaDocument],
        chunking: Chunking,
        progress: Progress,
        bills: list[ModelCall],
        store: str,
        alongside: Callable[[], None] = lambda: None,
    ) -> Report:
        written = self._write(
            documents, progress, bills, profile=report.profile, chunking=chunking, alongside=alongside, store=store
        )
        report.passages, report.embedded = written.passages, written.embedded
        report.calls = written.embeddings
        index = self.open()
        assert index is not None  # just written
        report.profile = index.profile
        return report

    def _old(self) -> tuple[Entries, Callable[[], dict[str, LlamaDocument]], CorpusIndex | None, Lost]:
        """The current documents: entries and reader; the index, if it is intact and current; the lost documents."""
        try:
            index = self.open()
        except IndexDamaged:
            documents, lost = recover_documents(self.folder)
            return (
                {name: entry_of(one.text, one.metadata) for name, one in documents.items()},
                lambda: documents,
                None,
                lost,
            )
        if index is None:
            return {}, dict, None, {}
        generation = index.generation
        current = index if self.is_current(index) else None
        return index.manifest.documents, lambda: read_documents(generation), current, {}


def chunked(documents: Sequence[Document], embedder: Embedder) -> list[Passage]:
    """The passages of an index of these documents, in order, without contexts."""
    from .passage_parser import PassageParser
    from .passages import passage_in

    reading = SourceFiles("", list(documents))
    sources = [_llama_document(document, reading) for document in documents]
    return [passage_in(node) for node in PassageParser(embedder.count).get_nodes_from_documents(sources)]


def _llama_document(document: Document, reading: SourceFiles) -> LlamaDocument:
    from llama_index.core.schema import Document as LlamaDocument

    return LlamaDocument(id_=document.id, text=document.text, metadata=_metadata(document, reading))


def _metadata(document: Document, reading: SourceFiles) -> dict[str, Any]:
    return {
        "title": document.title,
        "language": document.language,
        "source": "",
        "sources": sources_to_json(document.sources),
        "marks": [[one, list(named), list(others)] for one, named, others in document.marks],  # as in JSON
        "root": reading.root,
        "file": reading.files.get(document.id, ""),
        "whole": reading.whole,
        # only where it is said, so that no other document has to be indexed again
        **({"patient": document.patient} if document.patient else {}),
        **({"pieces": list(document.pieces)} if document.pieces else {}),
        **({"metadata": [list(pair) for pair in document.metadata]} if document.metadata else {}),
    }


def _kept(corpus: str, old: Entries, fresh: Entries, reading: SourceFiles) -> Entries:
    """Old documents to keep: those of other roots, and those whose files could not be read this time."""
    unread = {file for file, _ in reading.failed}
    folders = tuple(file for file in unread if file.endswith("/"))
    others = {name: entry for name, entry in old.items() if entry["root"] != reading.root}
    clash = sorted(others.keys() & fresh.keys())
    if clash and not reading.owner:
        raise DataError(
            Message(
                "Corpus {corpus!r} already has a document {document!r} from another folder.",
                corpus=corpus,
                document=clash[0],
            ),
            Message(
                "Rename the file or use another corpus. If the folder has moved, run `rag forget {root}` first.",
                root=old[clash[0]]["root"],
            ),
        )
    return {
        name: entry
        for name, entry in old.items()
        if name not in fresh and (name in others or entry["file"] in unread or entry["file"].startswith(folders))
    }
