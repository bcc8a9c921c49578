"""Where rooms are: four tables beside the history's. What races with closing is decided there, in one transaction."""

import hmac
import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Literal

from sqlalchemy import Connection, Row, Select, Table, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import OperationalError

from ...values.errors import PanelError
from ...values.message import Message
from ..history.database import Kept, moment, storable
from ..history.schema import PEOPLE, ROOMS, ROUNDS, VOTES
from . import room as values
from .room import CHOICES, REASONS, Choice, Count, Pair, Question, Room, Round, Vote, digest
from .session import write_panel

TITLE_CHARACTERS = 200
_UPSERTS: Mapping[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


class Rooms(Kept):
    """The rooms kept in one database, until their retention; methods raise PanelError for no such room, or no right to it."""

    keys = (ROUNDS.c.room, VOTES.c.room, PEOPLE.c.room, ROOMS.c.code)
    since, record = ROOMS.c.opened, ROUNDS.c.record
    unusable = Message("The rooms in {where} cannot be used: {why}.")

    def open_room(self, title: str, presenter_token: str = "") -> Room:
        """A new room; only this value has the presenter's token, given or new, which is not kept."""
        self._turn_on_write_ahead_log()
        self.expire()
        now = datetime.now(UTC)
        token = presenter_token if values.is_token(presenter_token) else values.new_token()
        with self._write() as connection:
            code = next(code for code in iter(values.new_code, "") if _found(connection, code) is None)
            room = Room(code, storable(title)[:TITLE_CHARACTERS], now, token)
            row = insert(ROOMS).values(code=code, title=room.title, opened=moment(now), owner="")
            connection.execute(row.values(presenter=digest(token)))
        return room

    def room(self, code: str) -> Room:
        with self._begin() as connection:
            return _room(_known(connection, code))

    def presented(self, presenter_token: str) -> Room | None:
        """The latest room that this token opens, with the token; None without one."""
        mine = select(ROOMS).where(ROOMS.c.presenter == digest(presenter_token))
        with self._begin() as connection:
            found = connection.execute(mine.order_by(ROOMS.c.opened.desc()).limit(1)).one_or_none()
        return _room(found, presenter_token) if found else None

    def ask(self, code: str, presenter_token: str, question: Question) -> Round:
        """Put a question to the room; earlier ones are closed."""
        with self._present(code, presenter_token) as (connection, room):
            _still_open(connection, room)
            connection.execute(update(ROUNDS).where(ROUNDS.c.room == room).values(closed=True))
            last = connection.execute(select(func.max(ROUNDS.c.number)).where(ROUNDS.c.room == room)).scalar()
            asked = Round(room, (last or 0) + 1, datetime.now(UTC), question)
            row = insert(ROUNDS).values(room=room, number=asked.number, asked=moment(asked.asked))
            connection.execute(row.values(closed=False, revealed=False, record=values.to_bytes(question)))
        return asked

    def current(self, code: str) -> Round | None:
        """The last question that was asked; None before the first."""
        last = self._rounds(code, select(ROUNDS).order_by(ROUNDS.c.number.desc()).limit(1))
        return last[0] if last else None

    def rounds(self, code: str) -> tuple[Round, ...]:
        return self._rounds(code, select(ROUNDS).order_by(ROUNDS.c.number))

    def join(self, code: str, token: str = "") -> str:
        """Count a person in, and return the token that they are known by: theirs, or a new one."""
        mine = token if values.is_token(token) else values.new_token()
        with self._write() as connection:
            room = _still_open(connection, code)
            _admit(connection, room, _person(room, mine))
        return mine

    def pair(self, asked: Round, token: str, by: Literal["informative", "random"] = "informative") -> Pair | None:
        """What this person judges next, the same until they have voted on it; None when they judged every pair.

        The most informative pair is the one that fewest people voted on or have in front of them; of several, the one
        whose answers the room has told apart least.
        """
        room, number, person = asked.room, asked.number, _person(asked.room, token)
        with self._write() as connection:
            _still_open(connection, room)
            _admit(connection, room, person)
            votes = _votes(connection, room, number)
            done = {one.pair.key for one in votes if one.person == person}
            words, pairs = asked.question.words, asked.question.pairs
            read = {words(one) for one in pairs if Pair(*one).key in done}
            if not (left := [one for one in pairs if words(one) not in read]):
                return None
            shown = connection.execute(select(PEOPLE).where(PEOPLE.c.room == room, PEOPLE.c.round == number))
            before = {one.person: Pair(one.left, one.right) for one in shown}
            if person in before and before[person].key not in done:
                return before[person]
            random.Random(digest("next", token, room, number)).shuffle(left)
            if by == "informative":
                voted = {(one.person, one.pair.key) for one in votes}
                busy = voted | {(one, pair.key) for one, pair in before.items()}
                seen = Counter(key for _, key in busy)
                left.sort(key=lambda one: (seen[Pair(*one).key], _lead(votes, one)))
            chosen = values.sides(token, room, number, left[0])
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

        Raises PanelError if the round is closed or the room deleted, ValueError for a wrong pair, choice or reason.
        """
        places = range(len(asked.question.answers))
        if choice not in CHOICES or pair.left == pair.right or not {pair.left, pair.right} <= {*places}:
            raise ValueError(f"no choice, or no pair of this question: {choice!r}, {pair}")
        if unknown := {*reasons} - {*REASONS}:
            raise ValueError(f"no reasons: {sorted(unknown)}")
        person = _person(asked.room, token)
        with self._write() as connection:
            # Closing waits for this lock, or this waits for closing and then sees it
            found = connection.execute(_one(asked).with_for_update(read=True)).one_or_none()
            if found is None or found.closed:
                said = Message("Voting on this question is closed.")
                raise PanelError(said, Message("Wait for the next question."))
            _admit(connection, _still_open(connection, asked.room), person)
            row = {
                "left": pair.left, "right": pair.right, "choice": choice, "voted": moment(datetime.now(UTC)),
                "reasons": " ".join(one for one in REASONS if one in reasons),
                "comment": storable(comment).strip()[: values.COMMENT_CHARACTERS],
            }  # fmt: skip
            key = {"room": asked.room, "round": asked.number, "person": person, "pair": pair.key}
            put(connection, VOTES, key, row)

    def people(self, code: str) -> int:
        with self._begin() as connection:
            return _joined(connection, _known(connection, code).code)

    def count(self, asked: Round) -> Count:
        with self._begin() as connection:
            people = [vote.person for vote in _votes(connection, asked.room, asked.number)]
            return Count(_joined(connection, asked.room), len({*people}), len(people))

    def close(self, asked: Round, presenter_token: str) -> Round:
        """Take no more votes; those that were acknowledged before are all counted."""
        return self._mark(asked, presenter_token, closed=True)

    def reveal(self, asked: Round, presenter_token: str) -> Round:
        return self._mark(asked, presenter_token, closed=True, revealed=True)

    def votes(self, code: str) -> tuple[Vote, ...]:
        """Every vote in the room, by question and then by time."""
        with self._begin() as connection:
            return tuple(_votes(connection, _known(connection, code).code))

    def own_votes(self, asked: Round, token: str) -> tuple[Vote, ...]:
        person = _person(asked.room, token)
        with self._begin() as connection:
            return tuple(one for one in _votes(connection, asked.room, asked.number) if one.person == person)

    def export(self, code: str, presenter_token: str) -> str:
        """The room as the text of a session file; see `write_panel`."""
        with self._present(code, presenter_token):
            pass
        return write_panel(self.room(code), self.rounds(code), self.votes(code))

    def delete_room(self, code: str, presenter_token: str) -> None:
        with self._present(code, presenter_token) as (connection, room):
            self._delete(connection, [room])

    def _rounds(self, code: str, chosen: Select[Any]) -> tuple[Round, ...]:
        with self._begin() as connection:
            rows = connection.execute(chosen.where(ROUNDS.c.room == _known(connection, code).code)).all()
        return tuple(map(_round, rows))

    def _mark(self, asked: Round, presenter_token: str, **marks: bool) -> Round:
        with self._present(asked.room, presenter_token) as (connection, room):
            same = (ROUNDS.c.room == room, ROUNDS.c.number == asked.number)
            connection.execute(update(ROUNDS).where(*same).values(**marks))
            return _round(connection.execute(_one(asked)).one())

    @contextmanager
    def _present(self, code: str, presenter_token: str) -> Iterator[tuple[Connection, str]]:
        """A transaction that writes what only the presenter may, alone in the room."""
        with self._write() as connection:
            found = _known(connection, code, alone=True)
            if not hmac.compare_digest(found.presenter, digest(presenter_token)):
                said = Message("Only the presenter of room {code} can do that.", code=found.code)
                raise PanelError(said, Message("Use the window that opened the room."))
            yield connection, found.code

    def _turn_on_write_ahead_log(self) -> None:
        """Let readers of an SQLite file and a writer work at once; the file keeps this."""
        if self._engine.dialect.name == "sqlite":
            with self._begin():
                pass  # the file is there then, and closed to others
            with suppress(OperationalError), self._engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")

    @staticmethod
    def _corpora(stored: bytes) -> set[str]:
        return {one.trace.corpus for one in values.from_bytes(stored).answers}


def _person(room: str, token: str) -> str:
    if not values.is_token(token):
        said = Message("This browser has not joined the room.")
        raise PanelError(said, Message("Type the room's code again."))
    return values.token_from("person", room, token)


def _found(connection: Connection, code: str, *, alone: bool = False) -> Row[Any] | None:
    found = select(ROOMS).where(ROOMS.c.code == code)
    return connection.execute(found.with_for_update() if alone else found).one_or_none()


def _known(connection: Connection, typed: str, *, alone: bool = False) -> Row[Any]:
    if (found := _found(connection, values.as_code(typed), alone=alone)) is None:
        raise PanelError(Message("There is no room with this code."), Message("Check it with the presenter."))
    return found


def _still_open(connection: Connection, typed: str) -> str:
    """The code of a room whose time is not over."""
    room = _room(_known(connection, typed))
    if room.closes <= datetime.now(UTC):
        hours = values.OPEN_FOR.total_seconds() / 3600
        said = Message("This room closed {hours:.0f} hours after it was opened.", hours=hours)
        raise PanelError(said, Message("Open another one, or ask its presenter to."))
    return room.code


def _one(asked: Round) -> Select[Any]:
    return select(ROUNDS).where(ROUNDS.c.room == asked.room, ROUNDS.c.number == asked.number)


def _votes(connection: Connection, room: str, number: int | None = None) -> list[Vote]:
    chosen = select(VOTES).where(VOTES.c.room == room).order_by(VOTES.c.round, VOTES.c.voted, VOTES.c.person)
    rows = connection.execute(chosen if number is None else chosen.where(VOTES.c.round == number))
    return [
        Vote(
            row.round, row.person, Pair(row.left, row.right), row.choice, datetime.fromisoformat(row.voted),
            tuple(row.reasons.split()), row.comment,
        )
        for row in rows
    ]  # fmt: skip


def _joined(connection: Connection, room: str) -> int:
    joined = select(func.count()).select_from(PEOPLE).where(PEOPLE.c.room == room)
    return int(connection.execute(joined).scalar_one())


def _admit(connection: Connection, room: str, person: str) -> None:
    row = _upsert(connection, PEOPLE).values(room=room, person=person, joined=moment(datetime.now(UTC)))
    connection.execute(row.values(round=0, left=0, right=0).on_conflict_do_nothing())


def put(connection: Connection, table: Table, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Write a row, in place of the one with its key."""
    row = _upsert(connection, table).values({**key, **values})
    connection.execute(row.on_conflict_do_update(index_elements=[*key], set_=values))


def _upsert(connection: Connection, table: Table) -> Any:
    """An insert that can say what to do on a conflict; both databases have it in their own words."""
    return _UPSERTS[connection.dialect.name](table)


def _lead(votes: Sequence[Vote], pair: tuple[int, int]) -> int:
    """By how many votes one of two answers is ahead, over all pairs that have them."""
    wins = Counter(one.better for one in votes)
    return abs(wins[pair[0]] - wins[pair[1]])


def _room(row: Row[Any], presenter_token: str = "") -> Room:
    return Room(row.code, row.title, datetime.fromisoformat(row.opened), presenter_token)


def _round(row: Row[Any]) -> Round:
    asked = datetime.fromisoformat(row.asked)
    return Round(row.room, row.number, asked, values.from_bytes(row.record), row.closed, row.revealed)
