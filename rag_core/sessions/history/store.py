"""Where the history is: a table, in SQLite in the state folder unless RAG_DATABASE_URL names another database."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import (
    Connection,
    Delete,
    Engine,
    Select,
    Update,
    create_engine,
    delete,
    event,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from ...values.errors import MissingResource, SettingsError, StorageError
from ...values.letters import without_accents
from ...values.message import Message
from ...values.owner_only import private_file, private_folder, private_home
from ...values.settings import Settings
from ...values.visible import valid
from . import schema
from .record import Asked, from_bytes, shows, to_bytes
from .schema import OFF, QUESTIONS

FILE = Path("history", "questions.sqlite")  # in the state folder
CONNECT_S, ANSWER_S = 3, 5  # whole seconds that a PostgreSQL server may take to connect, and for a statement
Owned = TypeVar("Owned", Select[Any], Update, Delete)
BATCH = 100  # questions at a time, where all are gone through


@dataclass(frozen=True, slots=True)
class Entry:
    """A question in the list, without its results.

    Args:
        asked: when, in UTC.
        strategies: names, in the order of the columns.
        finished: how many of them have a result.
    """

    id: str
    asked: datetime
    question: str
    strategies: tuple[str, ...]
    finished: int

    def as_json(self) -> dict[str, Any]:
        """Its fields, as `rag history --json` prints them."""
        return asdict(self) | {"asked": self.asked.isoformat()}


class History:
    """The questions kept in one database. Thread-safe; several processes may share it.

    Args:
        engine: connected to when it is used; its table is created or migrated then.
        where: names the database to its operator, without secrets.
        home: the state folder if the database is in it; it is created, and closed to others.
        owner: whose questions these are; None for everybody's.
        days: how long to keep a question; an older one is not shown, and deleted when the next is added. None for ever.

    Raises:
        StorageError: from every method, when the database cannot be used.
    """

    def __init__(
        self,
        engine: Engine,
        where: str,
        home: Path | None = None,
        days: int | None = None,
        owner: str | None = None,
    ) -> None:
        self._engine = engine
        self.where = where
        self._home = home
        self._days = days
        self._owner = owner

    def of(self, owner: str | None) -> History:
        """The part of it that belongs to one person; all of it for None.

        What it adds is that person's, and it finds, replaces, counts and deletes nobody else's. `expire`, `showing` and
        `forget` are about documents and time, and see everybody's.
        """
        return History(self._engine, self.where, self._home, self._days, owner)

    def add(self, asked: Asked) -> None:
        """Keep a question."""
        self.expire()
        with self._begin() as connection:
            connection.execute(insert(QUESTIONS).values(**_row(asked), owner=self._owner or ""))

    def update(self, asked: Asked) -> bool:
        """Replace what is kept of a question; False if it was deleted in the meantime, and then it stays deleted."""
        with self._begin() as connection:
            chosen = self._own(update(QUESTIONS)).where(QUESTIONS.c.id == asked.id)
            return connection.execute(chosen.values(_row(asked))).rowcount > 0

    def find(self, identity: str) -> Asked | None:
        """A question with its results; None if none has this id.

        Raises:
            DataError: it is damaged, or of a version that this one cannot read.
        """
        with self._begin() as connection:
            found = connection.execute(
                self._own(select(QUESTIONS)).where(QUESTIONS.c.id == identity)
            ).one_or_none()
        if found is None:
            return None
        return from_bytes(found.id, datetime.fromisoformat(found.asked), found.record)

    def search(
        self,
        words: str = "",
        strategy: str = "",
        since: date | None = None,
        until: date | None = None,
        limit: int | None = None,
    ) -> list[Entry]:
        """Questions, the latest first.

        Args:
            words: each must be part of the question, whatever its case and accents.
            strategy: name of a strategy that answered it.
            since, until: first and last day, in UTC.
            limit: the most to return; all by default.
        """
        columns = [column for column in QUESTIONS.c if column.name not in ("folded", "record")]
        chosen = _chosen(self._own(select(*columns)), words, strategy, since, until)
        if oldest := self._oldest:
            chosen = chosen.where(QUESTIONS.c.asked >= oldest)
        with self._begin() as connection:
            rows = connection.execute(
                chosen.order_by(QUESTIONS.c.asked.desc(), QUESTIONS.c.id).limit(limit)
            ).all()
        return [
            Entry(
                row.id,
                datetime.fromisoformat(row.asked),
                row.question,
                tuple(row.strategies.split()),
                row.finished,
            )
            for row in rows
        ]

    def count(self) -> int:
        """How many questions are kept."""
        with self._begin() as connection:
            return int(
                connection.execute(self._own(select(func.count()).select_from(QUESTIONS))).scalar_one()
            )

    def delete(self, identity: str) -> bool:
        """Delete a question and its results; False if there is none with this id."""
        with self._begin() as connection:
            return (
                connection.execute(self._own(delete(QUESTIONS)).where(QUESTIONS.c.id == identity)).rowcount
                > 0
            )

    def delete_all(self) -> int:
        """Delete every question; returns how many there were."""
        with self._begin() as connection:
            return connection.execute(self._own(delete(QUESTIONS))).rowcount

    def expire(self) -> int:
        """Delete the questions that are older than they are kept; returns how many there were."""
        oldest = self._oldest
        if oldest is None:
            return 0
        with self._begin() as connection:
            return connection.execute(delete(QUESTIONS).where(QUESTIONS.c.asked < oldest)).rowcount

    def showing(self, corpus: str, documents: Collection[str] | None = None) -> list[str]:
        """The ids of the questions whose results have text of these documents of a corpus, or of any of it.

        One that cannot be read is among them.
        """
        if self._file and not self._file.exists():
            return []  # and none is created
        with self._begin() as connection:
            rows = connection.execute(
                select(QUESTIONS.c.id, QUESTIONS.c.record).execution_options(yield_per=BATCH)
            )
            return [row.id for row in rows if shows(row.record, corpus, documents)]

    def forget(self, identities: Sequence[str]) -> int:
        """Delete these questions and their results; returns how many there were."""
        batches = [identities[start : start + BATCH] for start in range(0, len(identities), BATCH)]
        with self._begin() as connection:
            return sum(
                connection.execute(delete(QUESTIONS).where(QUESTIONS.c.id.in_(batch))).rowcount
                for batch in batches
            )

    def _own(self, statement: Owned) -> Owned:
        return statement if self._owner is None else statement.where(QUESTIONS.c.owner == self._owner)

    @property
    def _oldest(self) -> str | None:
        """The moment since which questions are kept."""
        return None if self._days is None else _moment(datetime.now(UTC) - timedelta(days=self._days))

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
            raise StorageError(
                Message(
                    "The history in {where} cannot be used: {why}.",
                    where=self._named,
                    why=_reason(error, connected=connected),
                ),
                Message("Check the folder, the disk or the database. {off}", off=OFF),
            ) from error

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


def open_history(settings: Settings) -> History | None:
    """The history of these settings; None when it is off. Nothing is connected to or created yet.

    Raises:
        SettingsError: RAG_DATABASE_URL is not an address of a database.
        MissingResource: the package that connects to it is not installed.
    """
    if settings.history == "off":
        return None
    if settings.database_url is None:
        path = settings.home / FILE
        engine = _engine(URL.create("sqlite", database=str(path)))
        return History(engine, str(path), settings.home, settings.history_days)
    try:
        url = make_url(settings.database_url.get_secret_value())
        if url.drivername == "postgres":  # as hosts of databases write it
            url = url.set(drivername="postgresql+psycopg")
        where = url.render_as_string(hide_password=True).partition("?")[0]
        return History(_engine(url), where, days=settings.history_days)
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


def _row(asked: Asked) -> dict[str, Any]:
    question = _storable(asked.question)
    return {
        "id": asked.id,
        "asked": _moment(asked.asked),
        "question": question,
        "folded": _folded(question),
        "strategies": f" {' '.join(column.strategy for column in asked.columns)} ",
        "finished": asked.finished,
        "record": to_bytes(asked),
    }


def _chosen(
    query: Select[Any], words: str, strategy: str, since: date | None, until: date | None
) -> Select[Any]:
    for word in _folded(words).split():
        query = query.where(QUESTIONS.c.folded.contains(word, autoescape=True))
    if strategy:
        query = query.where(QUESTIONS.c.strategies.contains(f" {strategy} ", autoescape=True))
    if since:
        query = query.where(QUESTIONS.c.asked >= _midnight(since))
    if until:
        query = query.where(QUESTIONS.c.asked < _midnight(until + timedelta(days=1)))
    return query


def _midnight(day: date) -> str:
    return _moment(datetime.combine(day, time(), UTC))


def _moment(of: datetime) -> str:
    """As the table has it, where the order of the texts is that of the moments."""
    return of.astimezone(UTC).isoformat(timespec="microseconds")


def _folded(text: str) -> str:
    """Without case and accents: "Cesárea" is found by "cesarea"."""
    return without_accents(_storable(text))


def _storable(text: str) -> str:
    """Valid Unicode without NUL, which PostgreSQL does not store."""
    return valid(text).replace("\0", "\ufffd")
