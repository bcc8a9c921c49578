"""The history: the questions that were asked, what each strategy made of them, and the table that keeps them."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Delete, Engine, Select, Update, delete, func, insert, select, update

from ...documents.documents import BUILTIN
from ...values.errors import DataError, StorageError
from ...values.letters import without_accents
from ...values.message import Message
from ...values.model_choice import AS_SET, ModelChoice
from ...values.packed import pack, unpack
from ...values.settings import Settings
from ...values.trace import Step, Trace
from ...values.types import ModelCall
from .database import Kept, moment, storable
from .schema import OFF, QUESTIONS


@dataclass(frozen=True, slots=True)
class AskedColumn:
    """One strategy's result, finished or not.

    Args:
        steps: the stages that finished.
        text: the answer so far; the trace has the whole one.
        trace: None unless the strategy finished.
        error: why it failed, and `next_step` what to do about it; empty if it did not.
        stopped: why it was stopped; empty if it was not.
        failed_calls: the model calls of a failed strategy.
        models, corpus: what it chose in place of the settings' models and of the question's corpus; may be empty.
    """

    strategy: str
    controls: Mapping[str, Any]
    steps: tuple[Step, ...] = ()
    text: str = ""
    trace: Trace | None = None
    error: str = ""
    next_step: str = ""
    stopped: str = ""
    failed_calls: tuple[ModelCall, ...] = ()
    models: ModelChoice = AS_SET
    corpus: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was asked.

    Args:
        id: cannot be guessed; the address of a comparison has it too.
        asked: when, in UTC.
        country: whose guidance led; empty for none.
        corpus: the documents that were searched.
        calls: the model calls it paid for; those of reused stages are not among them.
        best: the columns, from 0, voted best while their names were hidden: several for a tie, empty if none was good
            enough; None without a vote.
    """

    id: str
    asked: datetime
    question: str
    columns: tuple[AskedColumn, ...]
    country: str = ""
    corpus: str = BUILTIN
    calls: tuple[ModelCall, ...] = ()
    best: tuple[int, ...] | None = None

    @property
    def finished(self) -> int:
        return sum(column.trace is not None for column in self.columns)


def to_bytes(asked: Asked) -> bytes:
    """Everything about a question but its id, compressed."""
    fields = {**_fields(asked), "columns": [_fields(column) for column in asked.columns]}
    del fields["id"], fields["asked"]
    return zlib.compress(pack(fields).encode())


def from_bytes(identity: str, asked: datetime, stored: bytes) -> Asked:
    """The question that `to_bytes` wrote.

    Raises:
        DataError: it is damaged, or of a version that this one cannot read.
    """
    try:
        fields = unpack(zlib.decompress(stored))
        columns = tuple(AskedColumn(**column) for column in fields.pop("columns"))
        return Asked(id=identity, asked=asked.astimezone(UTC), columns=columns, **fields)
    except (zlib.error, TypeError, KeyError, AttributeError) as error:
        raise DataError(
            Message(
                "This question cannot be opened: {kind}: {reason}.", kind=type(error).__name__, reason=error
            ),
            Message("It is damaged, or another version wrote it; ask it again."),
        ) from error


def _fields(value: Asked | AskedColumn) -> dict[str, Any]:
    """Its fields, one level deep: their values stay as they are."""
    return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}


Owned = TypeVar("Owned", Select[Any], Update, Delete)


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


class History(Kept):
    """The questions kept in one database. Thread-safe; several processes may share it.

    Args:
        engine, where, home: see `Kept`.
        days: how long to keep a question; an older one is not shown, and deleted when the next is added. None for ever.
        owner: whose questions these are; None for everybody's.
    """

    keys = (QUESTIONS.c.id,)
    since, record = QUESTIONS.c.asked, QUESTIONS.c.record

    def __init__(
        self,
        engine: Engine,
        where: str,
        home: Path | None = None,
        days: int | None = None,
        owner: str | None = None,
    ) -> None:
        super().__init__(engine, where, home, days)
        self._owner = owner

    def of(self, owner: str | None) -> History:
        """The part of it that belongs to one person; all of it for None.

        What it adds is that person's, and it finds, replaces, counts and deletes nobody else's. `expire`, `showing` and
        `forget` are about documents and time, and see everybody's.
        """
        return History(self._engine, self.where, self._home, self._days, owner)

    def add(self, asked: Asked) -> None:
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

    def _own(self, statement: Owned) -> Owned:
        return statement if self._owner is None else statement.where(QUESTIONS.c.owner == self._owner)

    @staticmethod
    def _corpora(stored: bytes) -> set[str]:
        asked = from_bytes("", datetime.now(UTC), stored)
        return {asked.corpus, *(column.corpus for column in asked.columns)}

    def _unusable(self, why: str) -> StorageError:
        return StorageError(
            Message("The history in {where} cannot be used: {why}.", where=self._named, why=why),
            Message("Check the folder, the disk or the database. {off}", off=OFF),
        )


def open_history(settings: Settings) -> History | None:
    """The history of these settings; see `Kept.opened`."""
    return History.opened(settings)


def _row(asked: Asked) -> dict[str, Any]:
    question = storable(asked.question)
    return {
        "id": asked.id,
        "asked": moment(asked.asked),
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
    return moment(datetime.combine(day, time(), UTC))


def _folded(text: str) -> str:
    """Without case and accents: "Cesárea" is found by "cesarea"."""
    return without_accents(storable(text))
