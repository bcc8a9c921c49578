"""Files uploaded into a corpus: staged in folders that end with their process, then kept so as to be indexed again."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from ..documents.asked import BESIDE
from ..documents.limits import megabytes
from ..documents.reading.formats import EMPTY, SUFFIXES
from ..values.errors import StorageError
from ..values.message import Message
from ..values.owner_only import FILE, private_folder, private_home, tighten
from ..values.visible import valid
from .folder import locked
from .readers import SourceFiles, add_documents, read_path
from .write_report import Progress, no_progress

UNLOCKED_S = 60.0  # in which whoever makes a folder locks it


@contextmanager
def _opened(folder: Path | str, flags: int = 0) -> Iterator[int]:
    """A folder's descriptor, which a lock on it needs; the lock ends with the block, or with this process."""
    descriptor = os.open(folder, os.O_RDONLY | flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


UPLOADS = "uploads"  # folder in the state folder, and the root of these documents in every index
MAX_UPLOAD = 20_000_000  # bytes; `rag index` takes larger ones
MAX_UPLOADS = 200  # at once
MAX_NAME = 150  # bytes of a file's name
_STAGED = ".new-"  # begins the name of a folder of files that are being indexed
_BEIR = "corpus.jsonl"  # makes the folder a BEIR folder


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as it was uploaded; `name` is its file name."""

    name: str
    content: bytes


class UploadFolder:
    """The uploaded files of one corpus."""

    def __init__(self, home: Path, corpus: str) -> None:
        self._home = home
        self._corpus = corpus
        self.folder = home / UPLOADS / corpus

    @property
    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir()) if self.folder.is_dir() else []

    def has(self, upload: Upload) -> bool:
        path = self.folder / upload.name
        return path.is_file() and path.read_bytes() == upload.content

    @contextmanager
    def changing(self, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Be the only one, in any process, to change the corpus's files; `waiting` may raise. Raises StorageError."""
        lock = FileLock(self._home / UPLOADS / f".{self._corpus}.lock", mode=FILE)
        with self._writable():
            private_home(self._home)
            private_folder(self._home / UPLOADS)
        clear_staged(self._home)
        with locked(lock, waiting), self._writable():
            yield

    @contextmanager
    def staged(self, uploads: Sequence[Upload]) -> Iterator[Path]:
        """A private folder with these files, which goes when the block ends, or with the next process if this one is killed."""
        with (
            tempfile.TemporaryDirectory(prefix=_STAGED, dir=self.folder.parent) as made,
            _opened(made) as lock,
        ):
            with suppress(OSError):  # a file system without locks; then nothing is cleared there either
                fcntl.flock(lock, fcntl.LOCK_EX)
            for upload in uploads:
                Path(made, upload.name).write_bytes(upload.content)
            yield Path(made)

    def store(self, stage: Path, names: Collection[str]) -> None:
        """Move these files from a staged folder to the stored ones; each replaces the one with its name."""
        private_folder(self.folder)
        for name in names:
            (stage / name).replace(self.folder / name)
        tighten(self.folder)

    def remove(self, names: Collection[str]) -> None:
        clear_staged(self._home)
        for name in names:
            (self.folder / name).unlink(missing_ok=True)
        if not self.names:
            shutil.rmtree(self.folder, ignore_errors=True)

    def read(self, new: SourceFiles, progress: Progress = no_progress) -> SourceFiles:
        """The documents of the stored files and of new ones; a new file that could be read replaces that of its name."""
        old = read_path(self.folder, progress) if self.names else SourceFiles("")
        replaced = set(new.files.values())
        reading = SourceFiles(UPLOADS)
        for source in (old, new):
            for document in source.documents:
                name = source.files[document.id]
                if source is new or name not in replaced:
                    add_documents(reading, name, [document])
        reading.asked = {
            **{name: rows for name, rows in old.asked.items() if name not in replaced},
            **new.asked,
        }
        reading.failed += [*new.failed, *((name, why) for name, why in old.failed if name not in replaced)]
        reading.documents.sort(key=lambda document: document.id)
        return reading

    @contextmanager
    def _writable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(
                Message(
                    "The files of corpus {corpus!r} cannot be stored in {folder}: {reason}.",
                    corpus=self._corpus,
                    folder=self.folder,
                    reason=error.strerror or error,
                ),
                Message("Free disk space or set RAG_HOME to a writable folder."),
            ) from error


def clear_staged(home: Path) -> None:
    """Remove what an upload left whose process was killed."""
    for folder in (home / UPLOADS).glob(f"{_STAGED}*"):
        with suppress(OSError), _opened(folder, os.O_DIRECTORY | os.O_NOFOLLOW) as lock:
            made = os.fstat(lock)
            just_made = time.time() - made.st_mtime < UNLOCKED_S and not os.listdir(lock)
            if made.st_uid == os.geteuid() and not just_made:  # ours, and surely locked while it is used
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)


def why_refused(upload: Upload, before: Collection[str] = ()) -> str:
    """Why a file is not accepted after those `before` it, to follow its name; empty if it is."""
    name = upload.name
    suffix = os.path.splitext(name)[1].lower()
    if name != valid(name) or not name.isprintable() or name.startswith(".") or {"/", "\\"} & set(name):
        return Message("its name starts with a dot or has signs that a file name cannot have; rename it")
    if len(name.encode()) > MAX_NAME:
        return Message("its name is longer than {limit} bytes; shorten it", limit=MAX_NAME)
    if name == _BEIR:
        return Message("this name marks a BEIR folder; rename the file, or index the folder with `rag index`")
    if name in before:
        return Message("another file of this name was uploaded with it; rename one")
    if suffix not in SUFFIXES and name != BESIDE:
        kind = suffix or Message("a file without extension")
        known = ", ".join(one[1:] for one in SUFFIXES)
        return Message("{kind} is not supported; use {known}", kind=kind, known=known)
    if not upload.content:
        return EMPTY
    if len(upload.content) > MAX_UPLOAD:
        return Message("it is larger than {limit}; split it, or use `rag index`", limit=megabytes(MAX_UPLOAD))
    return ""
