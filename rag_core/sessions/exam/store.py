"""Where exams are: four tables beside the history's. What is acknowledged is stored, whoever else writes at that moment."""

from __future__ import annotations

import hmac
import zlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from ...language.analysis import language_of
from ...values.errors import PanelError
from ...values.message import Message
from ...values.packed import pack, unpack
from ...values.types import Passage, text_key
from ..history.database import Kept, moment, storable
from ..history.schema import EXAM_QUESTIONS, EXAM_SHARES, EXAM_TICKS, EXAMS
from ..panel import room as codes
from ..panel.store import TITLE_CHARACTERS, put
from .exam import ANSWERS, HARM_CHARACTERS, OWNER, Draft, Exam, ExamQuestion, Tick, check_drafts
from .judgements import Judgements

LEASE = timedelta(minutes=20)  # that a question stays with who opened it; a phone may sleep


class Exams(Kept):
    """The exams kept in one database, until their retention; methods raise PanelError for no such exam, or no right to it."""

    keys = (EXAM_QUESTIONS.c.exam, EXAM_TICKS.c.exam, EXAM_SHARES.c.exam, EXAMS.c.code)
    since, record = EXAMS.c.opened, EXAM_QUESTIONS.c.record
    unusable = Message("The exams in {where} cannot be used: {why}.")

    def make(
        self,
        corpus: str,
        drafts: Sequence[Draft],
        *,
        title: str = "",
        depth: int = 5,
        twice: float = 0.25,
        owner_token: str = "",
    ) -> Exam:
        """A new exam, as `add` keeps it."""
        asked = [
            ExamQuestion(at, one.text, language_of(one.text), one.origin) for at, one in enumerate(drafts, start=1)
        ]
        return self.add(
            Judgements(Exam("", title, corpus, datetime.now(UTC), depth, twice), tuple(asked), ()), owner_token
        )

    def add(self, judged: Judgements, owner_token: str = "") -> Exam:
        """Keep an exam with what `judged` has under a new code; only this value has the owner's token, given or new.

        Raises InputError for no or too many questions.
        """
        check_drafts(judged.questions)
        made, token = judged.exam, owner_token if codes.is_token(owner_token) else codes.new_token()
        self.expire()
        with self._write() as connection:
            code = next(code for code in iter(codes.new_code, "") if _found(connection, code) is None)
            exam = replace(
                made, code=code, title=storable(made.title or made.corpus)[:TITLE_CHARACTERS], owner_token=token
            )
            connection.execute(
                insert(EXAMS).values(
                    code=code, title=exam.title, corpus=exam.corpus, opened=moment(exam.opened),
                    owner=codes.digest(token), depth=exam.depth, twice=exam.twice,
                )
            )  # fmt: skip
            for one in judged.questions:
                same = {"exam": code, "number": one.number, "text": storable(one.text), "language": one.language}
                connection.execute(insert(EXAM_QUESTIONS).values(same | {"record": _record(exam, one)}))
            for tick in judged.ticks:
                person = OWNER if tick.person == OWNER else codes.token_from("judge", code, tick.person)
                _put(connection, exam, replace(tick, person=person))
        return exam

    def exam(self, code: str) -> Exam:
        with self._begin() as connection:
            return _known(connection, code)

    def all(self) -> list[Exam]:
        """The latest first."""
        with self._begin() as connection:
            return [_exam(row) for row in connection.execute(select(EXAMS).order_by(EXAMS.c.opened.desc()))]

    def judgements(self, code: str) -> Judgements:
        with self._begin() as connection:
            exam = _known(connection, code)
            return Judgements(exam, tuple(_questions(connection, exam.code)), tuple(_ticks(connection, exam.code)))

    def choose(self, code: str, labels: Collection[str]) -> None:
        """Keep which strategies are about to find passages, so that an app that ends meanwhile can go on with them."""
        with self._write() as connection:
            exam = _known(connection, code)
            for one in _questions(connection, exam.code):
                _keep(connection, exam, replace(one, chosen=tuple(labels)))

    def add_found(self, code: str, number: int, found: Collection[Passage], by: Mapping[str, str]) -> None:
        """Keep what strategies, fingerprint -> label, found for a question, with what others did."""
        with self._write() as connection:
            exam = _known(connection, code)
            (question,) = _questions(connection, exam.code, number)
            _keep(connection, exam, question.with_found(found, by, exam.code))

    def next(self, code: str, token: str) -> ExamQuestion | None:
        """What this person judges next: what they began, else a question that lacks judges, fewest first; None if none does.

        A question that somebody has in front of them counts as theirs for LEASE.
        """
        now = datetime.now(UTC)
        with self._write() as connection:
            exam, person = _known(connection, code), _person(code, token)
            shares = connection.execute(select(EXAM_SHARES).where(EXAM_SHARES.c.exam == exam.code)).all()
            started = next((row.question for row in shares if row.person == person), 0)
            holding = [row for row in shares if row.begun > moment(now - LEASE) and row.person != person]
            said: dict[tuple[int, str], set[str]] = defaultdict(set)  # question and person -> passages
            for tick in _ticks(connection, exam.code):
                said[tick.question, tick.person].add(tick.passage)
            open_to = []
            for one in _questions(connection, exam.code):
                cards = {text_key(passage) for passage in one.passages}
                if cards <= said[one.number, person]:
                    continue
                whole = {who for (number, who), judged in said.items() if number == one.number and cards <= judged}
                others = (whole | {row.person for row in holding if row.question == one.number}) - {OWNER}
                if len(others) < exam.judges(one.number):
                    first = one.number != started, not said[one.number, person], len(others), one.number
                    open_to.append((first, one))
            if not open_to:
                return None
            _, chosen = min(open_to, key=lambda each: each[0])
            key = {"exam": exam.code, "person": person}
            put(connection, EXAM_SHARES, key, {"question": chosen.number, "begun": moment(now)})
        return chosen

    def tick(self, code: str, token: str, number: int, passage: str, grade: int, harm: str = "") -> None:
        """Count what this person says of a passage, by its `text_key`, in place of what they said; what returns is stored.

        Raises ValueError for a wrong grade, and PanelError for a passage that is not there, or was taken out since.
        """
        self._tick(code, _person(code, token), number, passage, grade, harm)

    def settle(self, code: str, owner_token: str | None, number: int, passage: str, grade: int) -> None:
        """Say as the owner what counts where people disagree; whoever runs the server needs no token."""
        self._tick(self._owned(code, owner_token), OWNER, number, passage, grade, "")

    def own_ticks(self, code: str, token: str) -> tuple[Tick, ...]:
        """What this person said, the first first."""
        with self._begin() as connection:
            own = _ticks(connection, _known(connection, code).code, _person(code, token))
            return tuple(sorted(own, key=lambda one: one.judged))

    def is_owner(self, code: str, owner_token: str) -> bool:
        with self._begin() as connection:
            found = _found(connection, code)
        return found is not None and hmac.compare_digest(found.owner, codes.digest(owner_token))

    def delete_exam(self, code: str, owner_token: str | None) -> None:
        """Delete an exam with all that is in it; whoever runs the server needs no token."""
        self.forget([self._owned(code, owner_token)])

    def take_out(self, corpus: str, documents: Collection[str] | None = None) -> int:
        """Forget the passages of documents of a corpus with their ticks; for None its exams. Returns how many exams."""
        mine = [one for one in self.all() if one.corpus == corpus]
        if documents is None:
            return self.forget([one.code for one in mine])
        return sum(self._take_out(exam, documents) for exam in mine)

    def _take_out(self, exam: Exam, documents: Collection[str]) -> bool:
        with self._write() as connection:
            asked = _questions(connection, exam.code)
            touched = [one for one in asked if any(passage.doc_id in documents for passage in one.passages)]
            for one in touched:
                kept = tuple(passage for passage in one.passages if passage.doc_id not in documents)
                lost = {*map(text_key, one.passages)} - {*map(text_key, kept)}
                same = (EXAM_TICKS.c.exam == exam.code, EXAM_TICKS.c.question == one.number)
                connection.execute(delete(EXAM_TICKS).where(*same, EXAM_TICKS.c.passage.in_(lost)))
                _keep(connection, exam, replace(one, passages=kept))
        return bool(touched)

    def _tick(self, code: str, person: str, number: int, passage: str, grade: int, harm: str) -> None:
        if grade not in range(len(ANSWERS)):
            raise ValueError(f"no grade: {grade}")
        with self._write() as connection:
            exam = _known(connection, code)
            asked = _questions(connection, exam.code, number)
            if passage not in {text_key(p) for one in asked for p in one.passages}:
                raise PanelError(Message("This passage is no longer in the exam."), Message("Open the page again."))
            _put(connection, exam, Tick(number, passage, person, grade, harm, datetime.now(UTC)))

    def _owned(self, code: str, owner_token: str | None) -> str:
        if owner_token is not None and not self.is_owner(code, owner_token):
            said = Message("Only the owner of exam {code} can do that.", code=code)
            raise PanelError(said, Message("Use the browser that made the exam."))
        return self.exam(code).code

    @staticmethod
    def _corpora(stored: bytes) -> set[str]:
        return {unpack(zlib.decompress(stored))["corpus"]}


def _found(connection: Connection, code: str) -> Row[Any] | None:
    return connection.execute(select(EXAMS).where(EXAMS.c.code == codes.as_code(code))).one_or_none()


def _known(connection: Connection, code: str) -> Exam:
    if (found := _found(connection, code)) is None:
        raise PanelError(Message("There is no exam with this code."), Message("Check it with who made the exam."))
    return _exam(found)


def _exam(row: Row[Any]) -> Exam:
    return Exam(row.code, row.title, row.corpus, datetime.fromisoformat(row.opened), row.depth, row.twice)


def _record(exam: Exam, question: ExamQuestion) -> bytes:
    parts = {name: getattr(question, name) for name in ("origin", "passages", "pooled", "chosen")}
    return zlib.compress(pack({"corpus": exam.corpus, **parts}).encode())


def _put(connection: Connection, exam: Exam, tick: Tick) -> None:
    key = {"exam": exam.code, "question": tick.question, "passage": tick.passage, "person": tick.person}
    harm = storable(tick.harm).strip()[:HARM_CHARACTERS]
    put(connection, EXAM_TICKS, key, {"grade": tick.grade, "harm": harm, "judged": moment(tick.judged)})


def _keep(connection: Connection, exam: Exam, question: ExamQuestion) -> None:
    same = (EXAM_QUESTIONS.c.exam == exam.code, EXAM_QUESTIONS.c.number == question.number)
    connection.execute(update(EXAM_QUESTIONS).where(*same).values(record=_record(exam, question)))


def _questions(connection: Connection, code: str, number: int | None = None) -> list[ExamQuestion]:
    chosen = select(EXAM_QUESTIONS).where(EXAM_QUESTIONS.c.exam == code).order_by(EXAM_QUESTIONS.c.number)
    if number is not None:
        chosen = chosen.where(EXAM_QUESTIONS.c.number == number)
    return [_question(row) for row in connection.execute(chosen)]


def _question(row: Row[Any]) -> ExamQuestion:
    read = unpack(zlib.decompress(row.record))
    pooled = (
        read["pooled"] if isinstance(read["pooled"], dict) else dict.fromkeys(read["pooled"], "")
    )  # once, no labels
    found = tuple(read["passages"]), pooled, tuple(read.get("chosen", ()))
    return ExamQuestion(row.number, row.text, row.language, read["origin"], *found)


def _ticks(connection: Connection, code: str, person: str | None = None) -> list[Tick]:
    chosen = select(EXAM_TICKS).where(EXAM_TICKS.c.exam == code)
    if person is not None:
        chosen = chosen.where(EXAM_TICKS.c.person == person)
    rows = connection.execute(chosen.order_by(EXAM_TICKS.c.question, EXAM_TICKS.c.judged, EXAM_TICKS.c.passage))
    return [
        Tick(row.question, row.passage, row.person, row.grade, row.harm, datetime.fromisoformat(row.judged))
        for row in rows
    ]


def _person(code: str, token: str) -> str:
    if not codes.is_token(token):
        said = Message("This browser has not joined the exam.")
        raise PanelError(said, Message("Type the exam's code again."))
    return codes.token_from("judge", codes.as_code(code), token)
