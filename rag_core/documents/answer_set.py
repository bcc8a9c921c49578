"""Judged answers: what an acceptable answer to a question must say, and what it must not.

<folder>/answers/<split>.toml, beside the questions and judgements of the split:

    [[question]]
    id = "en-001"        # of a judged question; a new id comes with text, language, kind and level
    must = [{ says = "Go to hospital now", any = ["hospital now|once"], passages = ["en-bleeding:3"] }]
    must_not = [{ says = "Wait and see", why = "harmful", any = ["wait see"] }]

An answer says a statement when one of its sentences matches one of the statement's patterns
(`language.patterns`). Passages are named by document and position. Without `must`, the collection does not cover
the question, and the right answer is an abstention.
"""

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, StrictBool, ValidationError

from ..language.analysis import LANGUAGES, language_of
from ..language.patterns import Pattern, Term, readings, terms_of
from ..values.errors import DataError, unreadable
from ..values.message import Message
from ..values.triage import LEVELS
from .benchmark import KINDS, Benchmark, Question, passage_key
from .limits import shorten

TIED = 2  # grade of the documents of a new question's passages

Why = Literal["harmful", "off-topic"]

Text = Annotated[str, Field(pattern=r"\S")]


def _pattern(written: object) -> Pattern:
    if not isinstance(written, str):
        raise ValueError("a pattern is a text")
    try:
        return Pattern.parse(written)
    except DataError as error:
        raise ValueError(str(error)) from error


Passages = Annotated[tuple[Annotated[str, Field(pattern=r"^.+:\d+$")], ...], Field(min_length=1)]
Patterns = Annotated[
    tuple[Annotated[Pattern, PlainValidator(_pattern)], ...], Field(validation_alias="any", min_length=1)
]


@dataclass(frozen=True, slots=True)
class Statement:
    """Something an answer can say, in a reader's words, recognised by any of its patterns in one sentence."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    says: Text
    patterns: Patterns

    def said_in(self, text: Sequence[tuple[Term, ...]]) -> bool:
        return any(pattern.matches(sentence) for sentence in text for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Needed(Statement):
    """A statement that an acceptable answer contains; its passages are named by document id and position."""

    passages: Passages


@dataclass(frozen=True, slots=True)
class Unwanted(Statement):
    """A statement that an acceptable answer does not contain."""

    why: Why


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """What decides whether an answer is acceptable; `own` if its question is none of the judged ones."""

    question: Question
    must: tuple[Needed, ...]
    must_not: tuple[Unwanted, ...]
    own: bool = False
    demo: bool = False

    @property
    def outside(self) -> bool:
        return not self.must

    @property
    def passages(self) -> frozenset[str]:
        return frozenset(passage for one in self.must for passage in one.passages)


@dataclass(frozen=True, slots=True)
class AnswerSet:
    """The judged answers of one split, by question id; the first 16 hexadecimal digits of the file's SHA-256."""

    answers: Mapping[str, JudgedAnswer]
    checksum: str

    def extend(self, judged: Benchmark) -> Benchmark:
        """The benchmark with the set's own questions; the documents of their passages are relevant."""
        own = [one for one in self.answers.values() if one.own]
        tied = {one.question.id: dict.fromkeys(map(passage_key, one.passages), TIED) for one in own}
        questions = (*judged.questions, *(one.question for one in own))
        return replace(judged, questions=questions, qrels={**judged.qrels, **tied})


def answer_file(folder: Path, split: str) -> Path:
    """Where the answer set of a split is, if there is one."""
    return folder / "answers" / f"{split}.toml"


def sentence_terms(text: str, language: str = "") -> list[tuple[Term, ...]]:
    """The terms of each sentence, for `Statement.said_in`; the language is detected if empty."""
    return [terms_of(sentence) for sentence in readings(text, language or language_of(text))]


def read_answer_set(path: Path, judged: Benchmark) -> AnswerSet:
    """Read the judged answers of the split of `judged`; raises DataError with file and question."""
    try:
        content = path.read_bytes()
        rows = tomllib.loads(content.decode("utf-8"))
    except (OSError, ValueError) as error:  # includes TOMLDecodeError, which names the line
        raise unreadable(path, error, Message("Check that it is UTF-8 and TOML.")) from error
    listed = rows.get("question")
    if not isinstance(listed, list) or not listed or len(rows) > 1:
        raise DataError(f"{path} is not a list of questions.", "Begin each question with [[question]].")
    known = {question.id: question for question in judged.questions}
    answers: dict[str, JudgedAnswer] = {}
    for number, row in enumerate(listed, start=1):
        where = row.get("id", number) if isinstance(row, dict) else number
        try:
            one = _Row.model_validate(row).judged(known)
            if one.question.id in answers:
                raise ValueError("it occurs twice")
        except ValueError as error:
            fix = "Correct it; data/answers/dev.toml of the built-in collection shows the form."
            raise DataError(f"{path}, question {where!r}: {_reason(error)}.", fix) from error
        answers[one.question.id] = one
    return AnswerSet(answers, hashlib.sha256(content).hexdigest()[:16])


class _Row(BaseModel):
    """One question's table; text, language, kind and level are those of a new question."""

    model_config = ConfigDict(extra="forbid")

    id: Text
    text: Text = ""
    language: str = ""
    kind: str = ""
    level: str = "routine"
    demo: StrictBool = False
    must: tuple[Needed, ...] = ()
    must_not: tuple[Unwanted, ...] = ()

    def judged(self, known: Mapping[str, Question]) -> JudgedAnswer:
        own = sorted(self.model_fields_set & {"text", "language", "kind", "level"})
        question = known.get(self.id)
        if question and own:
            raise ValueError(f"it repeats the {', '.join(own)} of a judged question")
        if not question and not own:
            raise ValueError("no judged question of this split has this id, and a new one needs text")
        if not question:
            valid = self.language in LANGUAGES and self.kind in KINDS and self.level in LEVELS
            if not (self.text and valid):
                ways = ", one of ".join(map(str, (list(LANGUAGES), KINDS, list(LEVELS))))
                raise ValueError(f"a new question has text, language, kind and level: one of {ways}")
            question = Question(self.id, self.text, self.language, self.kind, self.level)
        return JudgedAnswer(question, self.must, self.must_not, bool(own), self.demo)


def _reason(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg'].removeprefix('Value error, ')}, not {shorten(repr(first['input']), 80)}"
