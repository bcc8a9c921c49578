"""Cached embeddings, and other expensive results: unchanged text is never embedded twice, even after a crash.

The vectors of the built-in documents are shipped in `data/vectors/`, a folder per embedding model with two small files
per document, so that the first start embeds nothing and a changed document adds kilobytes to the repository.
"""

import functools
import hashlib
import sqlite3
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..models.same_model import PROBE, another_model, probe, same
from ..runtime.services import Embedder
from ..values.errors import DataError, StorageError, attach_calls_to_errors
from ..values.message import Message
from ..values.owner_only import private_file, private_folder
from ..values.types import ModelCall, Vectors

BATCH = 64  # texts of a request to a server, saved before the next
LOCAL_BATCH = 256  # texts embedded here between saves: enough to keep all processors busy
LanguageText = tuple[str, str]  # a text and its language
Progress = Callable[[int, int], None]  # (done, total)
BeforeEmbedding = Callable[[Sequence[Sequence[str]]], None]


def text_key(text: str) -> bytes:
    """The key of a text: its SHA-256."""
    return hashlib.sha256(text.encode()).digest()


class KeyValueCache:
    """A persistent cache of bytes by key, in an SQLite file that is created on first use."""

    def __init__(self, path: Path, table: str, what: str) -> None:
        self._path = path
        self._table = table
        self._what = what

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Open the file in this thread; raises StorageError, in the block too, if it cannot be used."""
        try:
            self._create()
            with closing(sqlite3.connect(self._path)) as database:
                database.execute(f"CREATE TABLE IF NOT EXISTS {self._table} (key BLOB PRIMARY KEY, value BLOB)")
                yield database
        except sqlite3.DatabaseError as error:
            raise StorageError(
                Message(
                    "The file of {what} {path} cannot be used: {reason}.",
                    what=self._what,
                    path=self._path,
                    reason=error,
                ),
                Message(
                    "Free disk space, make the folder writable, or delete the file; the {what} will be recreated.",
                    what=self._what,
                ),
            ) from error

    def _create(self) -> None:
        try:
            private_folder(self._path.parent)
            private_file(self._path)
        except OSError as error:
            raise sqlite3.OperationalError(error.strerror or str(error)) from error

    def read(self, database: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        found: dict[bytes, bytes] = {}
        for start in range(0, len(keys), 500):  # SQLite's limit on variables is 999 in old builds
            part = keys[start : start + 500]
            marks = ",".join("?" * len(part))
            found.update(database.execute(f"SELECT * FROM {self._table} WHERE key IN ({marks})", part))
        return found

    def write(self, database: sqlite3.Connection, rows: Iterable[tuple[bytes, bytes]]) -> None:
        with database:
            database.executemany(f"INSERT OR REPLACE INTO {self._table} VALUES (?, ?)", rows)

    def remove(self, database: sqlite3.Connection, values: Iterable[bytes]) -> None:
        """Delete the rows with these values, and overwrite them on disk."""
        database.execute("PRAGMA secure_delete = ON")
        with database:
            database.executemany(f"DELETE FROM {self._table} WHERE value = ?", [(value,) for value in values])


PROBE_KEY = text_key(PROBE)


class _Shipped(UserDict[bytes, Any]):
    """Rows by key, made vectors of 32-bit floats when asked for: of thousands, a question needs a few."""

    def __getitem__(self, key: bytes) -> bytes:
        row = super().__getitem__(key)
        return bytes((row["vector"].astype(np.float32) * row["scale"]).tobytes())


def read_shipped(folder: Path) -> Mapping[bytes, bytes]:
    """Shipped vectors by key, of every file in a model's folder, empty without one; raises DataError for a wrong file."""
    return _read_shipped(folder, folder.stat().st_mtime_ns) if folder.is_dir() else {}


@functools.lru_cache(maxsize=4)
def _read_shipped(folder: Path, changed: int) -> Mapping[bytes, bytes]:
    read = _Shipped()
    for path in sorted(folder.glob("*.npy")):
        try:
            rows = np.load(path)
            if not {"key", "scale", "vector"} <= set(rows.dtype.names or ()):
                raise ValueError("other columns")
        except (OSError, ValueError) as error:
            raise DataError(
                Message("The shipped vectors {path} cannot be read: {reason}.", path=path, reason=error),
                Message("Delete it, and its texts are embedded at the next indexing."),
            ) from error
        read.update(zip(rows["key"].tolist(), rows, strict=True))
    return read


def stored_vectors(path: Path, folder: Path, texts: Sequence[str]) -> dict[str, Vectors]:
    """The (d,) vectors of texts as read: shipped in a folder, made at indexing, or kept; others count as missing."""
    keys = {text: text_key(text) for text in texts}
    shipped = read_shipped(folder)
    found = {key: shipped[key] for key in keys.values() if key in shipped}
    for file in (path, kept_beside(path)):
        left = [key for key in keys.values() if key not in found]
        if left and file.is_file():
            made = KeyValueCache(file, "vectors", "cached vectors")
            with suppress(StorageError), made.open() as database:
                found.update(made.read(database, left))
    return {text: np.frombuffer(found[key], np.float32) for text, key in keys.items() if key in found}


KEPT = ".kept.sqlite"  # how the files of vectors that questions made end


def kept_beside(path: Path) -> Path:
    """The file of the vectors that questions made, beside that of those made at indexing."""
    return path.with_name(f"{path.stem}{KEPT}")


def keep_vectors(path: Path, vectors: Mapping[str, Vectors]) -> None:
    """Keep the (d,) vectors of parts of passages, by the text as read, for `stored_vectors`; or make them again next time."""
    made = KeyValueCache(kept_beside(path), "vectors", "cached vectors")
    with suppress(StorageError), made.open() as database:
        made.write(database, [(text_key(text), vector.tobytes()) for text, vector in vectors.items()])


def drop_kept(home: Path) -> None:
    """Delete the vectors that questions made, of all corpora: those of a passage are not told from the others'."""
    for file in (home / "vectors").glob(f"*{KEPT}"):
        file.unlink(missing_ok=True)


@dataclass(eq=False)
class VectorCache:
    """Vectors by the SHA-256 of their text as the model reads it, in one SQLite file per embedding model.

    `shipped`, a folder of precomputed vectors, is used first. `before` receives the texts about to be embedded, as
    read, request by request, with the probe sentence that a server is sent first; it raises to refuse.
    """

    path: Path
    embedder: Embedder
    shipped: Path | None = None
    before: BeforeEmbedding = lambda requests: None

    def __post_init__(self) -> None:
        self._cache = KeyValueCache(self.path, "vectors", "cached vectors")
        self._served = bool(getattr(self.embedder, "server", ""))

    def vectors(self, texts: Sequence[LanguageText], progress: Progress) -> tuple[Vectors, int, tuple[ModelCall, ...]]:
        """(n, d) vectors of n texts, the number embedded now, and the calls, which StorageError and ProviderError carry."""
        calls: list[ModelCall] = []
        read = [self.embedder.read(*text) for text in texts]
        keys = [text_key(text) for text in read]
        with attach_calls_to_errors(calls), self._cache.open() as database:
            shipped = read_shipped(self.shipped) if self.shipped else {}
            found = {key: shipped[key] for key in keys if key in shipped}
            found.update(self._cache.read(database, [key for key in keys if key not in found]))
            unread = dict(zip(keys, zip(read, texts, strict=True), strict=True))
            missing = [(key, *unread[key]) for key in unread if key not in found]
            missing.sort(key=lambda item: len(item[1]))  # batches of similar length need little padding
            size = BATCH if self._served else LOCAL_BATCH
            batches = [missing[start : start + size] for start in range(0, len(missing), size)]
            if batches:
                probes = [[PROBE]] if self._served else []
                self.before(probes + [[text for _, text, _ in batch] for batch in batches])
                self._check_model(database, calls)
            for number, batch in enumerate(batches):
                progress(number * size, len(missing))
                texts, languages = zip(*(text for _, _, text in batch), strict=True)
                fresh, bills = self.embedder.embed(texts, "passage", languages)
                calls += bills
                rows = [(key, vector.tobytes()) for (key, *_), vector in zip(batch, fresh, strict=True)]
                self._cache.write(database, rows)
                found.update(rows)
            progress(len(missing), len(missing))
        vectors = np.array([np.frombuffer(found[key], np.float32) for key in keys])
        return vectors, len(missing), tuple(calls)

    def probe(self) -> tuple[float, ...]:
        """The vector of the probe sentence from a server's model that made the vectors; empty if not known."""
        if not self.path.is_file():
            return ()
        with self._cache.open() as database:
            known = self._cache.read(database, [PROBE_KEY]).get(PROBE_KEY, b"")
        return tuple(np.frombuffer(known, np.float32).tolist())

    def _check_model(self, database: sqlite3.Connection, calls: list[ModelCall]) -> None:
        if not self._served:
            return
        vector, bills = probe(self.embedder)
        calls += bills
        known = self._cache.read(database, [PROBE_KEY]).get(PROBE_KEY)
        if known is None:
            self._cache.write(database, [(PROBE_KEY, vector.tobytes())])
        elif not same(vector, np.frombuffer(known, np.float32)):
            renew = (
                "delete that file, run `rag forget CORPUS` for each corpus indexed with that model, and index it again"
            )
            raise another_model(self.embedder.name, f"the vectors in {self.path}", renew, ())
