"""The history: a table of the questions that were asked."""

from copy import copy
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Self, TypeVar

from sqlalchemy import Delete, Select, Update, delete, func, insert, select, update

from ...values.letters import without_accents
from ...values.message import Message
from .database import Kept, moment, storable
from .record import Asked, from_bytes, to_bytes
from .schema import OFF, QUESTIONS

Owned = TypeVar("Owned", Select[Any], Update, Delete)


@dataclass(frozen=True, slots=True)
class Entry:
    """A question in the list: when (UTC), its columns' strategies, and how many of them have a result."""

    id: str
    asked: datetime
    question: str
    strategies: tuple[str, ...]
    finished: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"asked": self.asked.isoformat()}


class History(Kept):
    """The questions kept in one database, older ones than `days` not shown. Thread-safe, also between processes."""

    keys = (QUESTIONS.c.id,)
    since, record = QUESTIONS.c.asked, QUESTIONS.c.record
    unusable = Message("The history in {where} cannot be used: {why}.")
    mend = Message("Check the folder, the disk or the database. {off}", off=OFF)
    _owner: str | None = None  # whose questions these are; None for everybody's

    def of(self, owner: str | None) -> Self:
        """The part that belongs to one person, or all for None; `expire`, `showing` and `forget` see everybody's."""
        part = copy(self)
        part._owner = owner
        return part

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
        """A question with its results; None if there is none. Raises DataError if it is unreadable."""
        this = self._own(select(QUESTIONS)).where(QUESTIONS.c.id == identity)
        with self._begin() as connection:
            found = connection.execute(this).one_or_none()
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
        """Questions, the latest first, from and to a day in UTC, with each of `words` whatever its case and accents."""
        columns = [column for column in QUESTIONS.c if column.name not in ("folded", "record")]
        chosen = self._own(select(*columns))
        for word in _folded(words).split():
            chosen = chosen.where(QUESTIONS.c.folded.contains(word, autoescape=True))
        if strategy:
            chosen = chosen.where(QUESTIONS.c.strategies.contains(f" {strategy} ", autoescape=True))
        for first in (since and _midnight(since), self._oldest):
            if first:
                chosen = chosen.where(QUESTIONS.c.asked >= first)
        if until:
            chosen = chosen.where(QUESTIONS.c.asked < _midnight(until + timedelta(days=1)))
        latest = chosen.order_by(QUESTIONS.c.asked.desc(), QUESTIONS.c.id).limit(limit)
        with self._begin() as connection:
            rows = connection.execute(latest).all()
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
        counted = self._own(select(func.count()).select_from(QUESTIONS))
        with self._begin() as connection:
            return int(connection.execute(counted).scalar_one())

    def delete(self, identity: str) -> bool:
        """Delete a question and its results; False if there is none with this id."""
        this = self._own(delete(QUESTIONS)).where(QUESTIONS.c.id == identity)
        with self._begin() as connection:
            return connection.execute(this).rowcount > 0

    def delete_all(self) -> int:
        with self._begin() as connection:
            return connection.execute(self._own(delete(QUESTIONS))).rowcount

    def _own(self, statement: Owned) -> Owned:
        return statement if self._owner is None else statement.where(QUESTIONS.c.owner == self._owner)

    @staticmethod
    def _corpora(stored: bytes) -> set[str]:
        asked = from_bytes("", datetime.now(UTC), stored)
        return {asked.corpus, *(column.corpus for column in asked.columns)}


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


def _midnight(day: date) -> str:
    return moment(datetime.combine(day, time(), UTC))


def _folded(text: str) -> str:
    """Without case and accents: "Cesárea" is found by "cesarea"."""
    return without_accents(storable(text))
