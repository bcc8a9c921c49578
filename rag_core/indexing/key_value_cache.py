"""Results that are dear to compute, kept by key in one SQLite file each, so that a crash loses none."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from ..values.errors import StorageError


def text_key(text: str) -> bytes:
    """The key of a text: its SHA-256."""
    return hashlib.sha256(text.encode()).digest()


class KeyValueCache:
    """Bytes by key.

    Args:
        path: the file; made when it is first used.
        table: name of its one table.
        what: what it holds, for the reader of an error.
    """

    def __init__(self, path: Path, table: str, what: str) -> None:
        self._path = path
        self._table = table
        self._what = what

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """The file, open in this thread.

        Raises:
            StorageError: it cannot be read or written, inside the `with` block too.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path)) as database:
                database.execute(
                    f"CREATE TABLE IF NOT EXISTS {self._table} (key BLOB PRIMARY KEY, value BLOB)"
                )
                yield database
        except sqlite3.DatabaseError as error:
            raise StorageError(
                f"The store of {self._what} {self._path} cannot be used: {error}.",
                "Free disk space, check that the folder is writable, or delete the file; "
                f"{self._what} are then made again.",
            ) from error

    def read(self, database: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """What is kept of these keys."""
        held: dict[bytes, bytes] = {}
        for start in range(0, len(keys), 500):  # SQLite's limit on variables is 999 in old builds
            part = keys[start : start + 500]
            marks = ",".join("?" * len(part))
            held.update(database.execute(f"SELECT * FROM {self._table} WHERE key IN ({marks})", part))
        return held

    def write(self, database: sqlite3.Connection, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep rows at once."""
        with database:
            database.executemany(f"INSERT OR REPLACE INTO {self._table} VALUES (?, ?)", rows)
