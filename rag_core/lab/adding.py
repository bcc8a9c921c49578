"""Files uploaded into a corpus of one's own, refused with a reason or stored and indexed, and removed; a corpus indexed anew."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..documents.documents import BUILTIN
from ..indexing import (
    Chunking,
    EnrichmentEstimate,
    Progress,
    Report,
    SourceFiles,
    Upload,
    UploadFolder,
    find_file,
    find_forgettable,
    forget_corpus,
    forget_documents,
    no_progress,
    read_path,
    stores_of,
    why_refused,
)
from ..indexing.uploads import MAX_UPLOADS
from ..values.errors import ConfigError, InputError
from ..values.message import Message
from ..values.prompt_injection import gives_orders
from ..values.settings import Settings
from ..values.types import ModelCall
from .corpora import as_typed, folder_name, keep_title
from .engines import Engines
from .opening import LONGEST_NAME, Indexing, check_corpus_name, corpus_store


def remove_file(corpus: str, root: str, file: str, settings: Settings, engines: Engines) -> list[str]:
    """Remove one file's documents from every index, and the file if it was uploaded; returns notes for the user.

    With the last file goes the corpus. Raises ConfigError for the built-in corpus, DataError if the corpus has no such
    file, IndexBusy, or StorageError if the disk cannot be written.
    """
    check_own_corpus(corpus)
    with UploadFolder(settings.home, corpus).changing():
        found = find_file(settings.home, corpus, root, file)
        if not found.others:
            forget_corpus(settings.home, corpus, stores_of(settings))
            return []
        return forget_documents(settings.home, found, engines.embedder, engines.enricher, stores=stores_of(settings))


def remove_corpus(corpus: str, settings: Settings) -> None:
    """Remove a corpus with its indexes and uploaded files; raises RagError as `remove_file` does."""
    check_own_corpus(corpus)
    with UploadFolder(settings.home, corpus).changing():
        for found in find_forgettable(settings.home, corpus):
            forget_corpus(settings.home, found.corpus, stores_of(settings))


NO_DOCUMENTS = Message("there are no documents that it could be about; upload them with it")
FileStatus = Literal["added", "changed", "unchanged", "failed"]


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What became of an uploaded file.

    Args:
        reason: why it failed, or why a part of it was not added; empty otherwise.
        documents: read from it: one, or the rows of a table.
        hidden: what it hides from readers, which is not indexed.
        orders: whether it gives orders to language models; it is indexed.
    """

    name: str
    status: FileStatus
    reason: str = ""
    documents: int = 0
    hidden: tuple[str, ...] = ()
    orders: bool = False


@dataclass(frozen=True, slots=True)
class Added:
    """What became of uploaded files, in their order; `report` is None if no file could be read."""

    files: tuple[FileOutcome, ...]
    report: Report | None = None


def check_own_corpus(corpus: str) -> None:
    """Raise ConfigError for a name that cannot be one's own corpus."""
    check_corpus_name(corpus)
    if corpus.casefold() == BUILTIN.casefold():
        raise ConfigError(
            Message("The name {corpus!r} belongs to the built-in documents.", corpus=corpus),
            Message("Choose another name."),
        )


def own_corpus(typed: str) -> tuple[str, str]:
    """The corpus a typed name means, and the name if it differs; ConfigError if empty, too long or the built-in's."""
    title = as_typed(typed)
    if not title or len(title) > LONGEST_NAME:
        check_corpus_name(title)
    try:
        check_corpus_name(title)
    except ConfigError:
        return folder_name(title), title
    check_own_corpus(title)
    return title, ""


def add_files(
    uploads: Sequence[Upload],
    corpus: str,
    settings: Settings,
    engines: Engines,
    *,
    enrich: bool = False,
    subject: str = "",
    title: str = "",
    progress: Progress = no_progress,
    consent: Callable[[Sequence[ModelCall]], None] = lambda calls: None,
    announce: Callable[[EnrichmentEstimate], None] = lambda estimate: None,
) -> Added:
    """Store uploaded files in the state folder and index them, with those stored before.

    A file that is refused or has nothing to read is not stored, and an earlier one of its name stays. Files are stored
    when their index is put in place: whatever fails before, both are as they were. Raises as `index`, and ConfigError
    for the corpus's name or the number of files.

    Args:
        subject: what the corpus is about; empty to leave it as it is.
        title: the name to show for the corpus; empty if it is its own.
        consent: as for `open_lab`; `announce` likewise, for the contexts that a paid model writes.
    """
    check_own_corpus(corpus)
    if not 0 < len(uploads) <= MAX_UPLOADS:
        raise InputError(
            Message("{count} files were given.", count=len(uploads)),
            Message("Upload 1 to {limit} at a time.", limit=MAX_UPLOADS),
        )
    refused = {
        place: why
        for place, one in enumerate(uploads)
        if (why := why_refused(one, [before.name for before in uploads[:place]]))
    }
    good = [one for place, one in enumerate(uploads) if place not in refused]
    outcomes, report = {}, None
    if good:
        folder = UploadFolder(settings.home, corpus)
        with folder.changing(lambda: progress("waiting for an earlier change to end", 0, 1)):
            before = folder.names
            new = [one for one in good if not folder.has(one)]
            with folder.staged(new) as stage:
                read = read_path(stage, progress) if new else SourceFiles("")
                reading = folder.read(read, progress)
                readable = {*read.files.values()} & {*reading.files.values()}
                if reading.documents:
                    readable |= read.asked.keys()
                reading.failed += [(name, NO_DOCUMENTS) for name in read.asked if name not in readable]
                if reading.documents:
                    store = corpus_store(settings, corpus, engines, consent)
                    if subject:
                        reading.profile = replace(store.profile, subject=subject)
                    indexing = Indexing(store, engines, settings, enrich, None, progress, announce, sentences=True)
                    # with the switch: the next upload would remove what the index has and the folder has not
                    report = indexing.update(reading, lambda: folder.store(stage, readable))
                    if title:
                        keep_title(settings.home, corpus, title)
        for one in good:
            if one not in new:
                status: FileStatus = "unchanged"
            elif one.name in readable:
                status = "changed" if one.name in before else "added"
            else:
                status = "failed"
            outcomes[one.name] = _outcome(one.name, status, reading)
    return Added(
        tuple(
            FileOutcome(one.name, "failed", refused[place]) if place in refused else outcomes[one.name]
            for place, one in enumerate(uploads)
        ),
        report,
    )


def _outcome(name: str, status: FileStatus, reading: SourceFiles) -> FileOutcome:
    failed = status == "failed"
    documents = [one for one in reading.documents if reading.files[one.id] == name and not failed]
    return FileOutcome(
        name,
        status,
        Message.joined(dict.fromkeys(why for file, why in reading.failed if file == name), "; "),
        len(documents),
        tuple(piece for one in documents for piece in one.hidden),
        any(gives_orders(text) for one in documents for text in (one.id, one.title, one.text)),
    )


def reindex(
    corpus: str,
    chunking: Chunking,
    settings: Settings,
    engines: Engines,
    *,
    enrich: bool,
    progress: Progress = no_progress,
    consent: Callable[[Sequence[ModelCall]], None] = lambda calls: None,
    announce: Callable[[EnrichmentEstimate], None] = lambda estimate: None,
) -> Report:
    """Cut a corpus anew, and add or remove the contexts of its passages; `consent` and `announce` as for `add_files`.

    With `enrich` it has an enriched index, as the built-in corpus always has. Raises ConfigError for the corpus's name,
    or to take contexts from the built-in one; otherwise as `index`. On an error the index stays as it was.
    """
    check_corpus_name(corpus)
    if corpus == BUILTIN and not enrich:
        raise ConfigError(
            Message("The built-in corpus keeps its contexts."),
            Message("Contextual's control `enriched` leaves them out."),
        )
    with UploadFolder(settings.home, corpus).changing(lambda: progress("waiting for an earlier change to end", 0, 1)):
        store = corpus_store(settings, corpus, engines, consent)
        report = store.rechunk(chunking, progress)
        if not enrich:
            store.enriched.remove()
        Indexing(store, engines, settings, enrich, None, progress, announce, sentences=True).finish(report)
    return report
