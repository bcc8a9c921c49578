"""Removing documents with their text from every index of a state folder, and the files that were uploaded.

The vectors of passages stay, under a hash of their text, and evaluation runs, which keep document ids and rewritten questions.
"""

import os
import shutil
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from ..documents.asked import asked_folder, drop_asked
from ..documents.forgotten import tell_forgotten
from ..runtime.services import Embedder
from ..values.errors import DataError, IndexBusy, IndexDamaged, StorageError
from ..values.message import Message
from ..values.owner_only import FILE
from .build import CorpusStore
from .enrich import CACHE, OFFLINE, Enricher
from .manifest import Manifest
from .store import CorpusIndex, generations
from .stores import STORES, Stores, drop_others
from .uploads import UPLOADS, UploadFolder
from .vectors import KeyValueCache, drop_kept
from .write_report import Progress, no_progress


@dataclass(frozen=True, slots=True)
class Forgettable:
    """Ids of documents to forget, and how many documents of the corpus stay; 0 removes the corpus."""

    corpus: str
    documents: frozenset[str]
    others: int = 0


def find_forgettable(home: Path, target: str) -> list[Forgettable]:
    """The documents of a corpus, or those indexed from a path, which need not exist; raises DataError if there are none."""
    corpora = sorted(path for path in (home / "corpora").glob("*") if path.is_dir())
    sources = {corpus: dict(_sources(corpus)) for corpus in corpora}
    named = home / "corpora" / target
    if named in sources:
        return [Forgettable(target, frozenset(sources[named]))]
    path = os.path.abspath(os.path.expanduser(target)) if target.strip() else ""
    places = {path, os.path.realpath(path)} if path else set()
    found = []
    for corpus, documents in sources.items():
        inside = {name for name, source in documents.items() if _within(source, places)}
        if inside:
            found.append(Forgettable(corpus.name, frozenset(inside), len(documents) - len(inside)))
    if not found:
        roots = sorted({source[0] for documents in sources.values() for source in documents.values()})
        known = [*(corpus.name for corpus in corpora), *(root for root in roots if os.path.isabs(root))]
        raise DataError(
            Message("No corpus is named {target!r} or has documents from there.", target=target),
            Message("Indexed: {known}.", known=", ".join(known)) if known else Message("Nothing is indexed."),
        )
    return found


def find_documents(home: Path, corpus: str, names: Collection[str]) -> Forgettable:
    """The documents of a corpus with these ids; raises DataError if it has not all of them, or none is named."""
    folder = home / "corpora" / corpus
    known = dict(_sources(folder)) if folder.is_dir() else {}
    missing = sorted({*names} - known.keys())
    if missing or not names:
        raise DataError(
            f"Corpus {corpus!r} has no {', '.join(map(repr, missing)) or 'such document'}.",
            f"It has: {', '.join(sorted(known)[:10])}.",
        )
    return Forgettable(corpus, frozenset(names), len(known) - len({*names}))


def forget_corpus(home: Path, corpus: str, stores: Stores = STORES) -> None:
    """Remove every index of a corpus; raises IndexBusy or StorageError if one cannot be written."""
    folder = home / "corpora" / corpus
    tell_forgotten(home, corpus)
    _forget_made(home, folder, stores)
    uploads = UploadFolder(home, corpus)
    # first: only the indexes tell a second call, after a kill, what is left to do
    uploads.remove(uploads.names)
    for index in _indexes(folder):
        _remove(index, stores)
    shutil.rmtree(folder, ignore_errors=True)


def forget_documents(
    home: Path,
    what: Forgettable,
    embedder: Embedder,
    enricher: Callable[[str], Enricher],
    progress: Progress = no_progress,
    stores: Stores = STORES,
) -> list[str]:
    """Remove documents from every generation of every index of a corpus; returns notes for the user.

    `enricher` makes contexts for a subject without a language model. Raises as `forget_corpus` does.
    """
    folder = home / "corpora" / what.corpus
    tell_forgotten(home, what.corpus, what.documents)
    _forget_made(home, folder, stores, what.documents)
    drop_asked(asked_folder(home, what.corpus), lambda one: one.document in what.documents)
    # first: only the indexes tell a second call, after a kill, what is left to do
    sources = dict(_sources(folder))
    uploaded = {sources[name] for name in what.documents if name in sources}
    UploadFolder(home, what.corpus).remove({file for root, file in uploaded if root == UPLOADS})
    notes = []
    for index in _indexes(folder):
        if "+" not in index.name and index.name != embedder.weights and _contains(index, what.documents):
            for one in (index, index.with_name(f"{index.name}+enriched")):
                if one.is_dir():
                    _remove(one, stores)
            notes.append(
                f"The index of corpus {what.corpus!r} for another embedding model, {index.name}, was removed "
                f"entirely; index the {what.others} other documents again to use that model."
            )
    store = CorpusStore(home, what.corpus, embedder, stores=stores)
    if store.exists:
        store.forget(what.documents, progress)
        plain = store.open()
        assert plain is not None  # just written
        store.enriched.sync_if_free(plain, enricher(plain.profile.subject), progress)
        store.enriched.keep_only_current()
    if store.enriched.folder.is_dir() and _contains(store.enriched.folder, what.documents):
        _remove(store.enriched.folder, stores)
        notes.append(
            f"The enriched index of corpus {what.corpus!r} was removed; "
            f"run `rag index PATH --corpus {what.corpus} --enrich` to make it again."
        )
    return notes


def find_file(home: Path, corpus: str, root: str, file: str) -> Forgettable:
    """The documents that a corpus has of one file of its index; raises DataError if there are none."""
    sources = dict(_sources(home / "corpora" / corpus)) if (home / "corpora" / corpus).is_dir() else {}
    found = frozenset(name for name, source in sources.items() if source == (root, file))
    if not found:
        raise DataError(
            Message("Corpus {corpus!r} has no file {file!r} any more.", corpus=corpus, file=file),
            Message("Reload the page."),
        )
    return Forgettable(corpus, found, len(sources) - len(found))


def _sources(corpus: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    for generation in _generations(corpus):
        with suppress(IndexDamaged, AttributeError):
            for name, entry in Manifest.read(generation).documents.items():
                yield name, (str(entry.get("root", "")), str(entry.get("file", "")))


def _within(source: tuple[str, str], places: Collection[str]) -> bool:
    root, file = source
    whole = os.path.join(root, file)
    return any(one == place or one.startswith(place + os.sep) for place in places for one in (root, whole))


def _indexes(corpus: Path) -> list[Path]:
    return sorted(path for path in corpus.iterdir() if path.is_dir())


def _generations(corpus: Path) -> list[Path]:
    return [generation for index in _indexes(corpus) for generation in generations(index)]


def _contains(index: Path, documents: Collection[str]) -> bool:
    """Whether a generation lists one of these documents, or cannot be read."""
    for generation in generations(index):
        try:
            listed = Manifest.read(generation).documents
        except IndexDamaged:
            return True
        if any(name in listed for name in documents):
            return True
    return False


def _remove(index: Path, stores: Stores) -> None:
    try:
        with FileLock(index / "LOCK", timeout=0, mode=FILE):
            drop_others(stores, index, ())
            shutil.rmtree(index)
    except Timeout as error:
        raise IndexBusy(
            Message("Another process is writing the index in {index}.", index=index),
            Message("Wait until it finishes, then try again."),
        ) from error
    except OSError as error:
        raise StorageError(
            Message("{index} cannot be removed: {reason}.", index=index, reason=error.strerror or error),
            Message("Make the folder writable."),
        ) from error


def _forget_made(home: Path, folder: Path, stores: Stores, documents: Collection[str] | None = None) -> None:
    """Delete the cached contexts that a model wrote for these documents, or for all, and the vectors that questions made."""
    drop_kept(home)
    cache = home / "vectors" / CACHE
    contexts: set[bytes] = set()
    for generation in _generations(folder):
        with suppress(IndexDamaged):
            if Manifest.read(generation).enricher.startswith(OFFLINE):
                continue
            passages = CorpusIndex.open(generation, stores=stores, vectors_later=True).passages.values()
            contexts |= {one.context.encode() for one in passages if documents is None or one.doc_id in documents}
    contexts.discard(b"")
    if contexts and cache.is_file():
        kept = KeyValueCache(cache, "contexts", "cached contexts")
        with kept.open() as database:
            kept.remove(database, contexts)
