"""An exam as values: questions on a corpus, the passages found for each, and what people say of them."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias, get_args

from ...documents.reading.tables import csv_rows
from ...language.questions import check_question
from ...values.errors import DataError, InputError
from ...values.message import Message
from ...values.types import Passage, text_key

Answers: TypeAlias = Literal["no", "in part", "answers"]  # as grades 0, 1 and 2
ANSWERS: tuple[Answers, ...] = get_args(Answers)
Origin: TypeAlias = Literal["written", "history", "model"]
OWNER = "owner"  # judges last: what the owner says settles what others disagree on
MOST_QUESTIONS = 500
HARM_CHARACTERS = 500


class Draft(NamedTuple):
    """A question for an exam, and where it is from."""

    text: str
    origin: Origin = "written"


@dataclass(frozen=True, slots=True)
class ExamQuestion:
    """A question, numbered from 1, with the passages to judge, in the order they are shown.

    Args:
        language: ISO 639-1 code.
        pooled: the strategies whose first passages these are, fingerprint -> label.
        chosen: the labels of those that were chosen last to find some.
    """

    number: int
    text: str
    language: str
    origin: Origin
    passages: tuple[Passage, ...] = ()
    pooled: Mapping[str, str] = field(default_factory=dict)
    chosen: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return f"q{self.number:03d}"

    def with_found(self, found: Iterable[Passage], by: Mapping[str, str], exam: str) -> ExamQuestion:
        """The same with more passages, each text once; those that were there keep their places."""
        here = {text_key(one) for one in self.passages}
        new = {text_key(one): one for one in found}
        fresh = [one for key, one in sorted(new.items()) if key not in here]
        random.Random(f"{exam} {self.number}").shuffle(fresh)  # the order says nothing of who found what
        return replace(self, passages=(*self.passages, *fresh), pooled={**self.pooled, **by})


@dataclass(frozen=True, slots=True)
class Exam:
    """An exam on a corpus, opened at a time in UTC; raises ValueError for a wrong depth or share.

    Args:
        depth: passages of each strategy that are judged, 1 or more.
        twice: the share of the questions that two people judge, 0 to 1.
        owner_token: only the value that `Exams.add` returned has it.
    """

    code: str
    title: str
    corpus: str
    opened: datetime
    depth: int
    twice: float
    owner_token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.depth < 1 or not 0 <= self.twice <= 1:
            raise ValueError(f"depth {self.depth}, twice {self.twice}")

    def judges(self, number: int) -> int:
        """How many people judge a question: two for every so many, spread over the exam."""
        return 1 + (int(number * self.twice) > int((number - 1) * self.twice))


@dataclass(frozen=True, slots=True)
class Tick:
    """What a person, a digest that differs by exam, says of a passage, by its `text_key`; `harm` says how it could harm."""

    question: int
    passage: str
    person: str
    grade: int
    harm: str
    judged: datetime


def read_drafts(text: str) -> list[Draft]:
    """The questions in a text: lines of a queries.jsonl, a table with a column "question" or "text", or one a line.

    Raises DataError, with the line, for a question that cannot be asked, and InputError for none or too many.
    """
    drafts: dict[str, Draft] = {}
    for number, said in _lines(text):
        try:
            drafts.setdefault(said.casefold(), Draft(check_question(said)))
        except InputError as error:
            raise DataError(Message("Line {number}: {why}", number=number, why=error.message)) from error
    check_drafts(list(drafts.values()))
    return list(drafts.values())


def check_drafts(drafts: Collection[Draft | ExamQuestion]) -> None:
    """Raise InputError for no question, or more than an exam may have."""
    if not drafts:
        raise InputError(Message("There are no questions."), Message("Write one a line."))
    if len(drafts) > MOST_QUESTIONS:
        what = Message("{count} questions are more than an exam has ({most}).", count=len(drafts), most=MOST_QUESTIONS)
        raise InputError(what, Message("Leave some out."))


def _lines(text: str) -> list[tuple[int, str]]:
    text = text.lstrip("\ufeff")
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if text.startswith("{"):
        return [(number, _text_of(number, line)) for number, line in lines]
    with suppress(csv.Error):  # a line that is too long, which is then refused as a question
        rows = list(csv_rows(text))
        for at, name in enumerate(rows[0].cells if rows else ()):
            if name in ("question", "text"):
                return [(row.line, row.cells[at]) for row in rows[1:] if row.cells[at:] and row.cells[at]]
    return lines


def _text_of(number: int, line: str) -> str:
    try:
        return str(json.loads(line)["text"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        what = Message("Line {number} is not a question of a queries.jsonl.", number=number)
        raise DataError(what, Message('Write {"_id": "1", "text": "..."} on each line.')) from error
