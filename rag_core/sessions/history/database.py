"""The database of the history and of the panel's rooms: SQLite unless RAG_DATABASE_URL names another one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from ...values.errors import MissingResource, SettingsError, StorageError
from ...values.message import Message
from ...values.owner_only import private_file, private_folder, private_home
from ...values.settings import Settings
from ...values.visible import valid
from . import schema
from .schema import OFF

FILE = Path("history", "questions.sqlite")  # in the state folder
CONNECT_S, ANSWER_S = 3, 5  # whole seconds that a PostgreSQL server may take to connect, and for a statement


@dataclass(frozen=True, slots=True)
class Place:
    """A database, which nothing has connected to yet.

    Args:
        where: names the database to its operator, without secrets.
        home: the state folder if the database is in it.
    """

    engine: Engine
    where: str
    home: Path | None = None


class Kept(ABC):
    """Tables in one database. Thread-safe; several processes may share it.

    Args:
        engine: connected to when it is used; its tables are created or migrated then.
        where: names the database to its operator, without secrets.
        home: the state folder if the database is in it; it is created, and closed to others.

    Raises:
        StorageError: from every method, when the database cannot be used.
    """

    def __init__(self, engine: Engine, where: str, home: Path | None = None) -> None:
        self._engine = engine
        self.where = where
        self._home = home

    @abstractmethod
    def _unusable(self, why: str) -> StorageError:
        """The error that says so."""

    @contextmanager
    def _begin(self) -> Iterator[Connection]:
        """A transaction; rolled back on any error."""
        connected = False
        try:
            self._make_private()
            with self._engine.begin() as connection:
                connected = True
                if connection.dialect.name == "postgresql":
                    connection.exec_driver_sql(f"SET LOCAL statement_timeout = '{ANSWER_S}s'")
                schema.bring_up_to_date(connection, self._named)
                yield connection
        except (SQLAlchemyError, OSError) as error:
            raise self._unusable(_reason(error, connected=connected)) from error

    def _make_private(self) -> None:
        """Create the file of an SQLite database, which only its owner can read."""
        if self._file:
            if self._home:
                private_home(self._home)
                private_folder(self._home / FILE.parent)
            private_file(self._file)

    @property
    def _named(self) -> str:
        """What messages call it, which visitors read: no server is named to them."""
        return str(self._file) if self._file else Message("the database of RAG_DATABASE_URL")

    @property
    def _file(self) -> Path | None:
        """The file of an SQLite database."""
        url = self._engine.url
        named = str(url.database or "")
        is_file = url.get_backend_name() == "sqlite" and named and not named.startswith((":memory:", "file:"))
        return Path(named) if is_file else None


def place_of(settings: Settings) -> Place:
    """Where these settings keep things.

    Raises:
        SettingsError: RAG_DATABASE_URL is not an address of a database.
        MissingResource: the package that connects to it is not installed.
    """
    if settings.database_url is None:
        path = settings.home / FILE
        return Place(_engine(URL.create("sqlite", database=str(path))), str(path), settings.home)
    try:
        url = make_url(settings.database_url.get_secret_value())
        if url.drivername == "postgres":  # as hosts of databases write it
            url = url.set(drivername="postgresql+psycopg")
        where = url.render_as_string(hide_password=True).partition("?")[0]
        return Place(_engine(url), where)
    except ModuleNotFoundError as error:
        raise MissingResource(
            Message(
                "RAG_DATABASE_URL needs the package {package}, which is not installed.", package=error.name
            ),
            Message(
                "Install it with pip (the extra `postgres` has the one for PostgreSQL), or name another driver in the "
                "address. {off}",
                off=OFF,
            ),
        ) from error
    except (ArgumentError, ValueError):
        raise SettingsError(
            Message("Setting RAG_DATABASE_URL is not the address of a database."),
            Message(
                "Write it as SQLAlchemy does, such as postgresql+psycopg://user@host/name. {off}", off=OFF
            ),
        ) from None  # the error repeats the address, which may have a password


def _engine(url: URL) -> Engine:
    """A connection a transaction: questions are few, and any thread may ask."""
    timed = url.get_backend_name() == "postgresql" and "connect_timeout" not in url.query
    timeout = {"connect_timeout": CONNECT_S} if timed else {}
    # errors without the parameters, which are questions
    engine = create_engine(url, poolclass=NullPool, connect_args=timeout, hide_parameters=True)
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _overwrite_deleted)
    return engine


def _overwrite_deleted(connection: Any, _record: Any) -> None:
    """SQLite leaves deleted rows in the file otherwise."""
    connection.execute("PRAGMA secure_delete = ON")


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
