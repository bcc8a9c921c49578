"""The database of the history and of the panel's rooms: SQLite unless RAG_DATABASE_URL names another one."""

import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar, Self

from sqlalchemy import Column, Connection, Engine, create_engine, delete, event, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from ...values.errors import DataError, MissingResource, SettingsError, StorageError
from ...values.message import Message
from ...values.owner_only import private_file, private_folder, private_home
from ...values.packed import values_of
from ...values.settings import Settings
from ...values.types import Passage
from ...values.visible import valid
from . import schema
from .schema import OFF

FILE = Path("history", "questions.sqlite")  # in the state folder
BATCH = 100  # records at a time, where all are gone through
CONNECT_S, ANSWER_S = 3, 5  # whole seconds that a PostgreSQL server may take to connect, and for a statement
_in_line = threading.Lock()


class Kept(ABC):
    """Tables in one database. Thread-safe; several processes may share it. Every method raises StorageError.

    Args:
        where: names the database to its operator, without secrets.
        home: the state folder if the database is in it; it is created, and closed to others.
        days: how long to keep what is in it; None for ever.
    """

    keys: ClassVar[tuple[Column[str], ...]]  # what each table is deleted by; the last names what is kept
    since: ClassVar[Column[str]]  # beside the last of them
    record: ClassVar[Column[bytes]]  # beside the first of them
    unusable: ClassVar[str]  # what an error says, of {where} and {why}
    mend: ClassVar[str] = Message("Check the folder, the disk or the database.")

    def __init__(self, engine: Engine, where: str, home: Path | None = None, days: int | None = None) -> None:
        self._engine = engine
        self.where = where
        self._home = home
        self._days = days

    @classmethod
    def opened(cls, settings: Settings) -> Self | None:
        """What these settings keep, unconnected; None if RAG_HISTORY is off. Raises SettingsError or MissingResource."""
        if settings.history == "off":
            return None
        if settings.database_url is None:
            path = str(settings.home / FILE)
            return cls(_engine(URL.create("sqlite", database=path)), path, settings.home, settings.history_days)
        url, engine = _server(settings.database_url.get_secret_value())
        where = url.render_as_string(hide_password=True).partition("?")[0]
        return cls(engine, where, days=settings.history_days)

    def expire(self) -> int:
        """Delete what is older than it is kept; returns how much there was."""
        if not (oldest := self._oldest):
            return 0
        with self._begin() as connection:
            old = connection.execute(select(self.keys[-1]).where(self.since < oldest)).scalars().all()
        return self.forget(old) if old else 0

    def showing(self, corpus: str, documents: Collection[str] | None = None) -> list[str]:
        """The keys of what has text of these documents of a corpus, or of any of it; what cannot be read may have."""
        if self._file and not self._file.exists():
            return []  # and none is created
        chosen = select(self.keys[0], self.record).execution_options(yield_per=BATCH)
        with self._begin() as connection:
            rows = connection.execute(chosen)
            return sorted({key for key, stored in rows if self._shows(stored, corpus, documents)})

    def forget(self, keys: Sequence[str]) -> int:
        """Delete these with all that is in them, whosever they are; returns how many there were."""
        with self._write() as connection:
            return self._delete(connection, keys)

    def _delete(self, connection: Connection, keys: Sequence[str]) -> int:
        count = 0
        for start in range(0, len(keys), BATCH):
            for key in self.keys:
                chosen = delete(key.table).where(key.in_(keys[start : start + BATCH]))
                deleted = connection.execute(chosen).rowcount
            count += deleted
        return count

    def _shows(self, stored: bytes, corpus: str, documents: Collection[str] | None) -> bool:
        try:
            found = values_of(zlib.decompress(stored), Passage, "doc_id")
            shown = bool(found) and (documents is None or not found.isdisjoint(documents))
            return shown and corpus in self._corpora(stored)
        except (zlib.error, DataError):
            return True

    @staticmethod
    @abstractmethod
    def _corpora(stored: bytes) -> Collection[str]:
        """The corpora that the answers in a record are from."""

    @property
    def _oldest(self) -> str | None:
        return None if self._days is None else moment(datetime.now(UTC) - timedelta(days=self._days))

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        """A transaction; rolled back on any error."""
        connected = False
        try:
            if self._file:  # of an SQLite database; only its owner can read it
                if self._home:
                    private_home(self._home)
                    private_folder(self._home / FILE.parent)
                private_file(self._file)
            with self._engine.begin() as connection:
                connected = True
                if connection.dialect.name == "postgresql":
                    connection.exec_driver_sql(f"SET LOCAL statement_timeout = '{ANSWER_S}s'")
                schema.bring_up_to_date(connection, self._named)
                yield connection
        except (SQLAlchemyError, OSError) as error:
            why = _reason(error, connected=connected)
            raise StorageError(Message(self.unusable, where=self._named, why=why), self.mend) from error

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        """A transaction that waits for other writers before it reads: SQLite refuses one that writes after them.

        SQLite makes some of many that wait give up; threads of one process stand in line.
        """
        with self._begin() as connection:
            if connection.dialect.name != "sqlite":
                yield connection
                return
            with _in_line:
                if not connection.connection.in_transaction:  # no migration has begun one
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection
                connection.commit()

    @property
    def _named(self) -> str:
        """What messages call it, which visitors read: no server and no folder is named to them."""
        return f"RAG_HOME/{FILE.as_posix()}" if self._home else Message("the database of RAG_DATABASE_URL")

    @property
    def _file(self) -> Path | None:
        url = self._engine.url
        named = str(url.database or "")
        is_file = url.get_backend_name() == "sqlite" and named and not named.startswith((":memory:", "file:"))
        return Path(named) if is_file else None


def _server(address: str) -> tuple[URL, Engine]:
    try:
        url = make_url(address)
        if url.drivername == "postgres":  # as hosts of databases write it
            url = url.set(drivername="postgresql+psycopg")
        return url, _engine(url)
    except ModuleNotFoundError as error:
        raise MissingResource(
            Message("RAG_DATABASE_URL needs the package {package}, which is not installed.", package=error.name),
            Message(
                "Install it with pip (the extra `postgres` has the one for PostgreSQL), or name another driver in the "
                "address. {off}",
                off=OFF,
            ),
        ) from error
    except (ArgumentError, ValueError):
        raise SettingsError(
            Message("Setting RAG_DATABASE_URL is not the address of a database."),
            Message("Write it as SQLAlchemy does, such as postgresql+psycopg://user@host/name. {off}", off=OFF),
        ) from None  # the error repeats the address, which may have a password


def _engine(url: URL) -> Engine:
    """A connection a transaction: questions are few, and any thread may ask."""
    timed = url.get_backend_name() == "postgresql" and "connect_timeout" not in url.query
    timeout = {"connect_timeout": CONNECT_S} if timed else {}
    # errors without the parameters, which are questions
    engine = create_engine(url, poolclass=NullPool, connect_args=timeout, hide_parameters=True)
    if url.get_backend_name() == "sqlite":
        # SQLite leaves deleted rows in the file otherwise
        event.listen(engine, "connect", lambda made, _: made.execute("PRAGMA secure_delete = ON"))
    return engine


def _reason(error: SQLAlchemyError | OSError, *, connected: bool) -> str:
    """What went wrong, without the server's address and without values of a row, which may be a question."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    line = str(getattr(error, "orig", None) or error).partition("\n")[0]
    return line.partition(": ")[0] if connected else line.rpartition(": ")[2]


def storable(text: str) -> str:
    """Valid Unicode without NUL, which PostgreSQL does not store."""
    return valid(text).replace("\0", "\ufffd")


def moment(of: datetime) -> str:
    """As the table has it, where the order of the texts is that of the moments."""
    return of.astimezone(UTC).isoformat(timespec="microseconds")
