"""A folder of index generations: a new one is written next to the current one, checked, then switched to atomically."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from ..runtime.services import Embedder
from ..values.errors import (
    DataError,
    IndexBusy,
    IndexDamaged,
    IndexOutdated,
    StorageError,
    attach_calls_to_errors,
)
from ..values.message import Message
from ..values.owner_only import FILE, private_file, private_folder, private_home, tighten, write_atomically
from ..values.profile import Profile
from ..values.types import ModelCall
from . import chroma
from .backends import damaged
from .cutting import DEFAULT, Chunking
from .enrich import Enricher
from .manifest import Manifest
from .store import CorpusIndex, current_generation, current_name, generations, next_number
from .stores import CHROMA, STORES, WORDS, Stores, chosen, drop_others
from .vectors import VectorCache
from .write_report import Progress, WriteReport

if TYPE_CHECKING:
    from llama_index.core.schema import Document as LlamaDocument

NOTED = "FILES"  # beside CURRENT: a generation, and the state of the files that it is of
_POLL = 0.1  # seconds


def was_noted(home: Path, corpus: str, state: str) -> bool:
    """Whether any of a corpus's indexes was found to be of files in this state (`IndexFolder.note`)."""
    return any(
        noted.read_text("utf-8", "replace").endswith(state) for noted in home.glob(f"corpora/{corpus}/*/{NOTED}")
    )


def locked(lock: FileLock, waiting: Callable[[], object] | None) -> AbstractContextManager[object]:
    """Take a lock for the `with` block; `waiting` is called while another process has it, Timeout is raised without."""
    if waiting is None:
        return lock.acquire(timeout=0)
    return lock.acquire(timeout=-1, poll_interval=_POLL, cancel_check=lambda: bool(waiting()))


# seconds that a replaced generation stays where machines share an index: a run's lock on it may not reach here
GRACE = 3600.0


@dataclass(eq=False)
class IndexFolder:
    """Index generations in `home`, called `what` in messages; `waiting` is called before a wait, None: IndexBusy."""

    home: Path
    folder: Path
    corpus: str
    what: str
    embedder: Embedder
    cache: VectorCache
    vectors_later: bool
    waiting: Callable[[], None] | None
    stores: Stores

    def __post_init__(self) -> None:
        self._what = Message("{what} of corpus {corpus!r}", what=self.what, corpus=self.corpus)
        self._opened: CorpusIndex | None = None
        self._grace = 0.0 if self.stores.keys() <= STORES.keys() else GRACE
        self._dropped = 0.0  # when old generations were last looked for, by the clock of `time.monotonic`

    def open(self) -> CorpusIndex | None:
        """The current generation, opened and checked once; None without one. Raises IndexDamaged, which names the part."""
        generation = None
        try:
            generation = current_generation(self.folder)
            if generation is None:
                return None
            if self._opened is None or not self._opened.is_from(generation):
                self._opened = None
                self._opened = CorpusIndex.open(
                    generation, self.embedder.read, stores=self.stores, vectors_later=self.vectors_later
                )
                self._drop_old()
            elif self._grace and time.monotonic() > self._dropped + self._grace:
                self._drop_old()  # those that stayed
            made_with = self._opened.manifest.embedding.partition("+gloss@")[0]
            if made_with != self.embedder.weights:
                weights = self.embedder.weights
                what = Message(
                    "it was made with {made_with}, not with {weights}.", made_with=made_with, weights=weights
                )
                raise damaged(generation, what)
            return self._opened
        except IndexDamaged as error:
            if generation and current_name(self.folder) not in (None, generation.name):
                return self.open()  # another process has just replaced it
            wrong = (
                Message("The {index} is of another version.", index=self._what)
                if isinstance(error, IndexOutdated)
                else Message("The {index} is damaged.", index=self._what)
            )
            raise type(error)(
                Message.joined([wrong, error.message], " "),
                Message("It will be rebuilt when the corpus is next opened, by any `rag` command, or indexed."),
            ) from error

    @property
    def exists(self) -> bool:
        return current_name(self.folder) is not None

    def is_current(self, index: CorpusIndex) -> bool:
        """Whether an index was written by this version, for this embedding model and its gloss, where it is to be."""
        store, now = index.manifest.store, chosen(self.stores)
        placed = store == now or WORDS in (store, now) or {store, now} <= STORES.keys()
        return index.manifest.made_with(self.embedder.key) and placed

    def is_of(self, index: CorpusIndex, state: str) -> bool:
        """Whether an index was last found to be of files in this state (`note`)."""
        noted = self.folder / NOTED
        return noted.is_file() and noted.read_text("utf-8", "replace") == f"{index.generation.name} {state}"

    def note(self, state: str) -> None:
        """Note the state (`state_of`) of the files that the current generation is of, so that they need not be read again."""
        with suppress(StorageError):  # they are read again next time
            write_atomically(self.folder / NOTED, f"{current_name(self.folder)} {state}")

    def is_complete(self, index: CorpusIndex) -> bool:
        """Whether an index has vectors, if it is to, and the collection for other programs; questions do without that."""
        if index.manifest.store == WORDS:
            return chosen(self.stores) == WORDS
        collection = index.generation / chroma.FOLDER / chroma.DATABASE
        return chosen(self.stores) != CHROMA or collection.is_file()

    def _store_after(self, before: Manifest | None) -> str:
        """The store for what is written anew of the same files: none for those indexed by words alone."""
        return WORDS if before and before.store == WORDS else chosen(self.stores)

    @contextmanager
    def _writing(self) -> Iterator[list[ModelCall]]:
        """Take the write lock and yield a list for model calls, which errors will carry."""
        lock = FileLock(self.folder / "LOCK", mode=FILE)
        bills: list[ModelCall] = []
        try:
            private_home(self.home)
            for folder in (self.folder.parents[1], self.folder.parent, self.folder):
                private_folder(folder)
            with locked(lock, self.waiting), attach_calls_to_errors(bills):
                tighten(self.folder)
                yield bills
        except Timeout as error:
            raise IndexBusy(
                Message("Another process is writing the {index}.", index=self._what),
                Message("Wait until it finishes, then try again."),
            ) from error
        except TimeoutError as error:  # an OSError too, but of a library that gave up, not of the disk
            raise DataError(
                Message(
                    "The {index} was not written, because a document took too long to split ({reason}). "
                    "The current index is unchanged.",
                    index=self._what,
                    reason=error,
                ),
                Message("Index the folder in parts to find that document."),
                tuple(bills),
            ) from error
        except OSError as error:
            raise StorageError(
                Message(
                    "The {index} cannot be written in {folder}: {reason}. The current index is unchanged.",
                    index=self._what,
                    folder=self.folder,
                    reason=error.strerror or error,
                ),
                Message("Free disk space or set RAG_HOME to a writable folder."),
                tuple(bills),
            ) from error

    def keep_only_current(self) -> None:
        """Delete every generation but the current one, even while a process reads it."""
        for path in generations(self.folder):
            if path.name != current_name(self.folder):
                shutil.rmtree(path, ignore_errors=True)
        self._drop_collections()

    def _drop_collections(self) -> None:
        """Drop the collections of generations that are gone; for the process with the write lock."""
        drop_others(self.stores, self.folder, [path.name for path in generations(self.folder)])

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
        alongside: Callable[[], None] = lambda: None,
        *,
        store: str,
    ) -> WriteReport:
        from .writing import write_generation  # with LlamaIndex, which takes a second

        before = current_name(self.folder)
        target = self.folder / f"gen-{next_number(self.folder):06d}"
        try:
            written = write_generation(target, self, documents, enricher, profile, chunking, store, progress, bills)
            progress("check", 0, 1)
            checked = CorpusIndex.open(target, self.embedder.read, stores=self.stores)
            progress("commit", 0, 1)
            tighten(target)
            _set_current(self.folder, target.name, alongside)
        except sqlite3.Error as error:  # how they report a full disk
            raise StorageError(
                Message(
                    "Writing the {index} failed: {reason}. The current index is unchanged.",
                    index=self._what,
                    reason=error,
                ),
                Message("Check the free disk space, then try again."),
            ) from error
        finally:
            if current_name(self.folder) != target.name:
                shutil.rmtree(target, ignore_errors=True)
        self._opened = checked
        self._drop_old([path for path in generations(self.folder) if (before or "") < path.name < target.name])
        with suppress(StorageError):  # the next writer deletes them
            self._drop_collections()
        progress("ready", 1, 1)
        return written

    def _drop_old(self, also: Collection[Path] = ()) -> None:
        self._dropped = time.monotonic()
        drop_old(self.folder, also, self._grace)


def _set_current(folder: Path, name: str, alongside: Callable[[], None]) -> None:
    """Point CURRENT to a generation, atomically and durably, after what must change with it."""
    draft = folder / "CURRENT.new"
    private_file(draft)
    with draft.open("w", encoding="utf-8") as file:
        file.write(name)
        file.flush()
        os.fsync(file.fileno())
    alongside()
    draft.replace(folder / "CURRENT")


def drop_old(folder: Path, also: Collection[Path] = (), grace: float = 0.0) -> None:
    """Delete the generations of an index that are no longer needed and that no process reads.

    One with a document since removed or changed goes as soon as no process reads it: the text must not stay on disk.
    Otherwise the one before the current one stays, to recover documents from, and a former current one for `grace`
    seconds after its successor was written. Those in `also` were never current, for the process with the lock. Does
    nothing where the folder cannot be written.
    """
    current = folder / (current_name(folder) or "")
    documents = _hashes(current)
    if documents is None:
        return  # the others may be needed to repair it
    older = [path for path in generations(folder) if path.name < current.name]
    unneeded = older[:-1]
    unneeded += [path for path in older[-1:] if not (_hashes(path) or {("", "")}) <= documents]
    recent = _replaced_within(grace, [path for path in (*older, current) if path not in also])
    for path in {*unneeded, *also} - recent:
        _remove_unread(path)


def _replaced_within(seconds: float, written: Sequence[Path]) -> set[Path]:
    """The generations, of these in their order, whose successor's manifest is younger than this."""
    ages: dict[Path, float] = {}
    for path in written:
        with suppress(OSError):  # unfinished, or just deleted by another process
            ages[path] = time.time() - (path / "manifest.json").stat().st_mtime
    return {path for path, successor in pairwise(ages) if ages[successor] < seconds}


def _hashes(generation: Path) -> set[tuple[str, str]] | None:
    """Id and hash of every document of a generation; None when they cannot be read."""
    with suppress(IndexDamaged, AttributeError, KeyError, TypeError):
        return {(name, str(entry["hash"])) for name, entry in Manifest.read(generation).documents.items()}
    return None


def _remove_unread(generation: Path) -> None:
    with ExitStack() as stack:
        try:
            manifest = stack.enter_context((generation / "manifest.json").open("rb"))
            fcntl.flock(manifest, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            pass  # unfinished
        except OSError:
            return
        shutil.rmtree(generation, ignore_errors=True)
