"""Caches for expensive results, one SQLite file each, so that a crash loses nothing."""

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from ..values.errors import StorageError
from ..values.message import Message
from ..values.owner_only import private_file, private_folder


def text_key(text: str) -> bytes:
    """The key of a text: its SHA-256."""
    return hashlib.sha256(text.encode()).digest()


class KeyValueCache:
    """A persistent cache of bytes by key.

    Args:
        path: the SQLite file, created on first use.
        table: name of its only table.
        what: what it caches, for error messages.
    """

    def __init__(self, path: Path, table: str, what: str) -> None:
        self._path = path
        self._table = table
        self._what = what

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Open the file in this thread.

        Raises:
            StorageError: it cannot be read or written; also from inside the `with` block.
        """
        try:
            self._create()
            with closing(sqlite3.connect(self._path)) as database:
                database.execute(
                    f"CREATE TABLE IF NOT EXISTS {self._table} (key BLOB PRIMARY KEY, value BLOB)"
                )
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
