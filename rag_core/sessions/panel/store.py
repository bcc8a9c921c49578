"""Where rooms are: four tables beside the history's. What races with closing is decided there, in one transaction."""

from __future__ import annotations

import hmac
import random
import threading
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, Engine, Row, Select, Table, delete, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import OperationalError

from ...values.errors import PanelError, StorageError
from ...values.message import Message
from ...values.settings import Settings
from ..history.database import Kept, moment, place_of, storable
from ..history.schema import PEOPLE, ROOMS, ROUNDS, VOTES
from .room import (
    CHOICES,
    COMMENT_CHARACTERS,
    LETTERS,
    REASONS,
    Choice,
    Count,
    Pair,
    Question,
    Room,
    Round,
    Vote,
    digest,
    from_bytes,
    is_token,
    new_code,
    new_token,
    shows,
    sides,
    to_bytes,
)
from .session import write_panel

TITLE_CHARACTERS = 200
_in_line = threading.Lock()
_UPSERTS: Mapping[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


class Rooms(Kept):
    """The rooms kept in one database. Thread-safe; several processes may share it.

    Args:
        engine, where, home: see `Kept`.
        days: how long to keep a room; an older one is deleted when the next is opened. None for ever.

    Raises:
        StorageError: from every method, when the database cannot be used.
        PanelError: from every method, when there is no such room, or it does not allow it.
    """

    def __init__(self, engine: Engine, where: str, home: Path | None = None, days: int | None = None) -> None:
        super().__init__(engine, where, home)
        self._days = days

    def open_room(self, title: str, owner: str = "", presenter_token: str = "") -> Room:
        """A new room; only this one has the presenter's token, which is not kept.

        Args:
            presenter_token: one that a presenter has already, for a way back in; a new one by default.
        """
        self._let_readers_and_a_writer_work_at_once()
        self.expire()
        now = datetime.now(UTC)
        token = presenter_token if is_token(presenter_token) else new_token()
        with self._write() as connection:
            code = next(code for code in iter(new_code, "") if _room(connection, code) is None)
            room = Room(code, storable(title)[:TITLE_CHARACTERS], now, owner, token)
            connection.execute(
                insert(ROOMS).values(
                    code=code, title=room.title, opened=moment(now), presenter=digest(token), owner=owner
                )
            )
        return room

    def room(self, code: str) -> Room:
        """The room with this code, in capitals or not."""
        with self._begin() as connection:
            found = _known(_room(connection, _typed(code)))
        return Room(found.code, found.title, datetime.fromisoformat(found.opened), found.owner)

    def presented(self, presenter_token: str) -> Room | None:
        """The latest room that this token opens, with the token; None without one."""
        mine = select(ROOMS).where(ROOMS.c.presenter == digest(presenter_token))
        with self._begin() as connection:
            found = connection.execute(mine.order_by(ROOMS.c.opened.desc()).limit(1)).one_or_none()
        if found is None:
            return None
        return Room(
            found.code, found.title, datetime.fromisoformat(found.opened), found.owner, presenter_token
        )

    def ask(self, code: str, presenter_token: str, question: Question) -> Round:
        """Put a question to the room; earlier ones are closed."""
        with self._present(code, presenter_token) as (connection, room):
            connection.execute(update(ROUNDS).where(ROUNDS.c.room == room).values(closed=True))
            last = connection.execute(select(func.max(ROUNDS.c.number)).where(ROUNDS.c.room == room)).scalar()
            asked = Round(room, (last or 0) + 1, datetime.now(UTC), question)
            connection.execute(
                insert(ROUNDS).values(
                    room=room, number=asked.number, asked=moment(asked.asked), record=to_bytes(question),
                    closed=False, revealed=False,
                )
            )  # fmt: skip
        return asked

    def current(self, code: str) -> Round | None:
        """The last question that was asked; None before the first."""
        last = self._rounds(code, select(ROUNDS).order_by(ROUNDS.c.number.desc()).limit(1))
        return last[0] if last else None

    def rounds(self, code: str) -> tuple[Round, ...]:
        """Every question that was asked, in order."""
        return self._rounds(code, select(ROUNDS).order_by(ROUNDS.c.number))

    def join(self, code: str, token: str = "") -> str:
        """Count a person in, and return the token that they are known by: theirs, or a new one."""
        mine = token if is_token(token) else new_token()
        with self._write() as connection:
            room = _known(_room(connection, _typed(code))).code
            _admit(connection, room, _person(room, mine))
        return mine

    def pair(
        self, asked: Round, token: str, by: Literal["informative", "random"] = "informative"
    ) -> Pair | None:
        """What this person judges next, the same until they have voted on it; None when they judged every pair.

        The most informative pair is the one that fewest people voted on or have in front of them; of several, the one
        whose answers the room has told apart least.
        """
        room, number, person = asked.room, asked.number, _person(asked.room, token)
        with self._write() as connection:
            _known(_room(connection, room))
            _admit(connection, room, person)
            votes = _votes(connection, room, number)
            done = {one.pair for one in votes if one.person == person}
            words, pairs = asked.question.words, asked.question.pairs
            read = {words(one) for one in pairs if Pair(*one).key in done}
            if not (left := [one for one in pairs if words(one) not in read]):
                return None
            shown = connection.execute(
                select(PEOPLE).where(PEOPLE.c.room == room, PEOPLE.c.round == number)
            ).all()
            before = {one.person: Pair(one.left, one.right) for one in shown}
            if person in before and before[person].key not in done:
                return before[person]
            chance = random.Random(digest("next", token, room, number))
            chance.shuffle(left)
            if by == "informative":
                voted = {(one.person, one.pair) for one in votes}
                busy = voted | {(one, pair.key) for one, pair in before.items()}
                seen = Counter(key for _, key in busy)
                left.sort(key=lambda one: (seen[Pair(*one).key], _lead(votes, one)))
            chosen = sides(token, room, number, left[0])
            mine = update(PEOPLE).where(PEOPLE.c.room == room, PEOPLE.c.person == person)
            connection.execute(mine.values(round=number, left=chosen.left, right=chosen.right))
        return chosen

    def vote(
        self,
        asked: Round,
        token: str,
        pair: Pair,
        choice: Choice,
        reasons: Collection[str] = (),
        comment: str = "",
    ) -> None:
        """Count this person's vote on a pair, in place of an earlier one; what returns is stored.

        Raises:
            PanelError: the round is closed, or the room was deleted.
            ValueError: the pair, the choice or a reason is none.
        """
        places = range(len(asked.question.answers))
        if choice not in CHOICES or pair.left == pair.right or {pair.left, pair.right} - {*places}:
            raise ValueError(f"no choice, or no pair of this question: {choice!r}, {pair}")
        if unknown := {*reasons} - {*REASONS}:
            raise ValueError(f"no reasons: {sorted(unknown)}")
        person = _person(asked.room, token)
        with self._write() as connection:
            # Closing waits for this lock, or this waits for closing and then sees it
            found = connection.execute(_one(asked).with_for_update(read=True)).one_or_none()
            if found is None or found.closed:
                raise PanelError(
                    Message("Voting on this question is closed."), Message("Wait for the next question.")
                )
            _admit(connection, asked.room, person)
            said = {
                "left": pair.left, "right": pair.right, "choice": choice, "voted": moment(datetime.now(UTC)),
                "reasons": " ".join(one for one in REASONS if one in reasons),
                "comment": storable(comment).strip()[:COMMENT_CHARACTERS],
            }  # fmt: skip
            row = {"room": asked.room, "round": asked.number, "person": person, "pair": pair.key, **said}
            connection.execute(
                _upsert(connection, VOTES)
                .values(row)
                .on_conflict_do_update(index_elements=[*VOTES.primary_key], set_=said)
            )

    def people(self, code: str) -> int:
        """How many joined the room."""
        with self._begin() as connection:
            room = _known(_room(connection, _typed(code))).code
            joined = select(func.count()).select_from(PEOPLE).where(PEOPLE.c.room == room)
            return int(connection.execute(joined).scalar_one())

    def count(self, asked: Round) -> Count:
        """How many joined the room and voted in this round."""
        chosen = (VOTES.c.room == asked.room, VOTES.c.round == asked.number)
        with self._begin() as connection:
            joined = connection.execute(
                select(func.count()).select_from(PEOPLE).where(PEOPLE.c.room == asked.room)
            ).scalar_one()
            voted, votes = connection.execute(
                select(func.count(VOTES.c.person.distinct()), func.count()).where(*chosen)
            ).one()
        return Count(joined, voted, votes)

    def close(self, asked: Round, presenter_token: str) -> Round:
        """Take no more votes; those that were acknowledged before are all counted."""
        return self._mark(asked, presenter_token, closed=True)

    def reveal(self, asked: Round, presenter_token: str) -> Round:
        """Close it and show the names."""
        return self._mark(asked, presenter_token, closed=True, revealed=True)

    def votes(self, code: str) -> tuple[Vote, ...]:
        """Every vote in the room, by question and then by time."""
        with self._begin() as connection:
            rows = _votes(connection, _known(_room(connection, _typed(code))).code)
        return tuple(map(_vote, rows))

    def own_votes(self, asked: Round, token: str) -> tuple[Vote, ...]:
        """What this person said in this round, by time."""
        with self._begin() as connection:
            rows = _votes(connection, asked.room, asked.number)
        return tuple(_vote(one) for one in rows if one.person == _person(asked.room, token))

    def export(self, code: str, presenter_token: str) -> str:
        """The room as the text of a session file; see `write_panel`."""
        with self._present(code, presenter_token):
            pass
        return write_panel(self.room(code), self.rounds(code), self.votes(code))

    def delete_room(self, code: str, presenter_token: str) -> None:
        """Delete a room with its questions, people and votes."""
        with self._present(code, presenter_token) as (connection, room):
            _delete(connection, [room])

    def expire(self) -> int:
        """Delete the rooms that are older than they are kept; returns how many there were."""
        if self._days is None:
            return 0
        oldest = moment(datetime.now(UTC) - timedelta(days=self._days))
        with self._write() as connection:
            old = connection.execute(select(ROOMS.c.code).where(ROOMS.c.opened < oldest)).scalars().all()
            _delete(connection, old)
        return len(old)

    def showing(self, corpus: str, documents: Collection[str] | None = None) -> list[str]:
        """The codes of the rooms whose answers have text of these documents of a corpus, or of any of it."""
        if self._file and not self._file.exists():
            return []  # and none is created
        with self._begin() as connection:
            rows = connection.execute(select(ROUNDS.c.room, ROUNDS.c.record)).all()
        return sorted({row.room for row in rows if shows(row.record, corpus, documents)})

    def forget(self, codes: Sequence[str]) -> None:
        """Delete these rooms with all that is in them, whoever opened them."""
        with self._write() as connection:
            _delete(connection, codes)

    def _rounds(self, code: str, chosen: Select[Any]) -> tuple[Round, ...]:
        with self._begin() as connection:
            room = _known(_room(connection, _typed(code))).code
            rows = connection.execute(chosen.where(ROUNDS.c.room == room)).all()
        return tuple(_round(one) for one in rows)

    def _mark(self, asked: Round, presenter_token: str, **marks: bool) -> Round:
        with self._present(asked.room, presenter_token) as (connection, _):
            same = (ROUNDS.c.room == asked.room, ROUNDS.c.number == asked.number)
            connection.execute(update(ROUNDS).where(*same).values(**marks))
            return _round(connection.execute(_one(asked)).one())

    @contextmanager
    def _present(self, code: str, presenter_token: str) -> Iterator[tuple[Connection, str]]:
        """A transaction that writes what only the presenter may, alone in the room."""
        with self._write() as connection:
            found = _known(_room(connection, _typed(code), alone=True))
            if not hmac.compare_digest(found.presenter, digest(presenter_token)):
                raise PanelError(
                    Message("Only the presenter of room {code} can do that.", code=found.code),
                    Message("Use the window that opened the room."),
                )
            yield connection, found.code

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        """A transaction that waits for other writers before it reads: SQLite refuses one that writes after them.

        Of many that wait, SQLite would let some in late enough to give up; threads of one process stand in line.
        """
        with self._begin() as connection:
            if connection.dialect.name != "sqlite":
                yield connection
                return
            with _in_line:
                driver = connection.connection.driver_connection
                if not getattr(driver, "in_transaction", True):  # a migration has begun one
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection
                connection.commit()

    def _let_readers_and_a_writer_work_at_once(self) -> None:
        """SQLite's write-ahead log, which the file keeps once it has one; without it, they wait for each other."""
        if self._engine.dialect.name == "sqlite":
            with self._begin():
                pass  # the file is there then, and closed to others
            with suppress(OperationalError), self._engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")

    def _unusable(self, why: str) -> StorageError:
        return StorageError(
            Message("The rooms in {where} cannot be used: {why}.", where=self._named, why=why),
            Message("Check the folder, the disk or the database."),
        )


def open_rooms(settings: Settings) -> Rooms | None:
    """The rooms of these settings; None where RAG_HISTORY is off. Nothing is connected to or created yet.

    Raises:
        SettingsError: RAG_DATABASE_URL is not an address of a database.
        MissingResource: the package that connects to it is not installed.
    """
    if settings.history == "off":
        return None
    place = place_of(settings)
    return Rooms(place.engine, place.where, place.home, settings.history_days)


def _typed(code: str) -> str:
    """A code as it is kept: what people add or type small does not matter."""
    return "".join(letter for letter in code.upper() if letter in LETTERS)


def _person(room: str, token: str) -> str:
    if not is_token(token):
        raise PanelError(
            Message("This browser has not joined the room."), Message("Type the room's code again.")
        )
    return digest("person", room, token)[:32]


def _room(connection: Connection, code: str, *, alone: bool = False) -> Row[Any] | None:
    found = select(ROOMS).where(ROOMS.c.code == code)
    return connection.execute(found.with_for_update() if alone else found).one_or_none()


def _known(found: Row[Any] | None) -> Row[Any]:
    if found is None:
        raise PanelError(Message("There is no room with this code."), Message("Check it with the presenter."))
    return found


def _one(asked: Round) -> Select[Any]:
    return select(ROUNDS).where(ROUNDS.c.room == asked.room, ROUNDS.c.number == asked.number)


def _votes(connection: Connection, room: str, number: int | None = None) -> Sequence[Row[Any]]:
    chosen = select(VOTES).where(VOTES.c.room == room).order_by(VOTES.c.round, VOTES.c.voted, VOTES.c.person)
    return connection.execute(chosen if number is None else chosen.where(VOTES.c.round == number)).all()


def _admit(connection: Connection, room: str, person: str) -> None:
    row = {
        "room": room,
        "person": person,
        "joined": moment(datetime.now(UTC)),
        "round": 0,
        "left": 0,
        "right": 0,
    }
    connection.execute(_upsert(connection, PEOPLE).values(row).on_conflict_do_nothing())


def _upsert(connection: Connection, table: Table) -> Any:
    return _UPSERTS[connection.dialect.name](table)


def _delete(connection: Connection, rooms: Sequence[str]) -> None:
    for of in (ROUNDS.c.room, VOTES.c.room, PEOPLE.c.room, ROOMS.c.code):
        connection.execute(delete(of.table).where(of.in_(rooms)))


def _lead(votes: Sequence[Row[Any]], pair: tuple[int, int]) -> int:
    """By how many votes of this round one of two answers is ahead, over all pairs that have them."""
    wins = Counter(_vote(one).better for one in votes)
    return abs(wins[pair[0]] - wins[pair[1]])


def _round(row: Row[Any]) -> Round:
    asked = datetime.fromisoformat(row.asked)
    return Round(row.room, row.number, asked, from_bytes(row.record), row.closed, row.revealed)


def _vote(row: Row[Any]) -> Vote:
    return Vote(
        row.round, row.person, Pair(row.left, row.right), row.choice, datetime.fromisoformat(row.voted),
        tuple(row.reasons.split()), row.comment,
    )  # fmt: skip
