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
from typing import Any, Literal, TypeGuard

from ..language.analysis import LANGUAGES, language_of
from ..language.patterns import Pattern, Term, readings, terms_of
from ..values.errors import DataError, unreadable
from ..values.message import Message
from .benchmark import KINDS, URGENCY, Benchmark, Question, passage_key

TIED = 2  # grade of the documents of a new question's passages

Why = Literal["harmful", "off-topic"]

_QUESTION_KEYS = {"id", "text", "language", "kind", "level", "demo", "must", "must_not"}
_OWN_KEYS = {"text", "language", "kind", "level"}
_MUST_KEYS = {"says", "any", "passages"}
_MUST_NOT_KEYS = {"says", "any", "why"}


@dataclass(frozen=True, slots=True)
class Statement:
    """Something an answer can say, in a reader's words, recognised by any of its patterns in one sentence."""

    says: str
    patterns: tuple[Pattern, ...]

    def said_in(self, text: Sequence[tuple[Term, ...]]) -> bool:
        """Whether one of the sentences says it; see `sentence_terms`."""
        return any(pattern.matches(sentence) for sentence in text for pattern in self.patterns)


@dataclass(frozen=True, slots=True)
class Needed(Statement):
    """A statement that an acceptable answer contains; its passages are named by document id and position."""

    passages: tuple[str, ...]


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
    if not _is_tables(listed) or not listed or len(rows) > 1:
        raise DataError(f"{path} is not a list of questions.", "Begin each question with [[question]].")
    known = {question.id: question for question in judged.questions}
    answers: dict[str, JudgedAnswer] = {}
    for number, row in enumerate(listed, start=1):
        one = _Reader(path, row.get("id") or f"number {number}").answer(row, known)
        if one.question.id in answers:
            raise DataError(f"{path}: question {one.question.id!r} occurs twice.", "Remove one of the two.")
        answers[one.question.id] = one
    return AnswerSet(answers, hashlib.sha256(content).hexdigest()[:16])


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads one question's table and says where a fault is."""

    path: Path
    where: object

    def answer(self, row: Mapping[str, Any], known: Mapping[str, Question]) -> JudgedAnswer:
        self._keys(row, _QUESTION_KEYS, "the question")
        identity = self._text(row, "id", "the question")
        demo = row.get("demo", False)
        if not isinstance(demo, bool):
            raise self._fault("`demo` is not true or false.", "Write demo = true, or leave it out.")
        own = identity not in known
        if not own and (again := ", ".join(sorted(_OWN_KEYS & row.keys()))):
            fix = "Leave them out, or use an id that no judged question has."
            raise self._fault(f"it repeats the {again} of a judged question.", fix)
        return JudgedAnswer(
            self._own_question(identity, row) if own else known[identity],
            tuple(self._needed(one) for one in self._tables(row, "must")),
            tuple(self._unwanted(one) for one in self._tables(row, "must_not")),
            own,
            demo,
        )

    def _own_question(self, identity: str, row: Mapping[str, Any]) -> Question:
        if not _OWN_KEYS & row.keys():
            fix = "Correct the id, or give the new question text, language, kind and level."
            raise self._fault("no judged question of this split has this id.", fix)
        keys = ("text", "language", "kind")
        text, language, kind = (self._text(row, key, "a new question") for key in keys)
        level = row.get("level", "routine")
        if language not in LANGUAGES or kind not in KINDS or level not in URGENCY:
            ways = (", ".join(allowed) for allowed in (LANGUAGES, KINDS, URGENCY))
            fix = "Languages: {}; kinds: {}; levels: {}.".format(*ways)
            raise self._fault(f"language {language!r}, kind {kind!r} or level {level!r} is not valid.", fix)
        return Question(identity, text, language, kind, level)

    def _needed(self, row: Mapping[str, Any]) -> Needed:
        self._keys(row, _MUST_KEYS, "a statement of `must`")
        says, patterns = self._statement(row)
        passages = self._texts(row, "passages", says)
        for passage in passages:
            document, _, position = passage.rpartition(":")
            if not document or not position.isdecimal():
                fix = "Write document:position, such as en-anti-d:3."
                raise self._fault(f"{says!r} names the passage {passage!r}.", fix)
        return Needed(says, patterns, passages)

    def _unwanted(self, row: Mapping[str, Any]) -> Unwanted:
        self._keys(row, _MUST_NOT_KEYS, "a statement of `must_not`")
        says, patterns = self._statement(row)
        match row.get("why"):
            case "harmful" | "off-topic" as why:
                return Unwanted(says, patterns, why)
        fix = 'Write why = "harmful" or why = "off-topic".'
        raise self._fault(f"{says!r} has why = {row.get('why')!r}.", fix)

    def _statement(self, row: Mapping[str, Any]) -> tuple[str, tuple[Pattern, ...]]:
        says = self._text(row, "says", "a statement")
        try:
            return says, tuple(Pattern.parse(written) for written in self._texts(row, "any", says))
        except DataError as error:
            raise self._fault(f"{says!r}: {error.message}", error.next_step) from error

    def _tables(self, row: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
        value: object = row.get(key, [])
        if not _is_tables(value):
            raise self._fault(f"`{key}` is not a list of statements.", f"Write {key} = [{{ says = ... }}].")
        return value

    def _text(self, row: Mapping[str, Any], key: str, what: str) -> str:
        value = row.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self._fault(f"{what} has no `{key}`.", f'Write {key} = "...".')
        return value

    def _texts(self, row: Mapping[str, Any], key: str, says: str) -> tuple[str, ...]:
        value = row.get(key)
        if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
            raise self._fault(f"{says!r} has no list `{key}`.", f'Write {key} = ["..."].')
        return tuple(value)

    def _keys(self, row: Mapping[str, Any], allowed: set[str], what: str) -> None:
        if unknown := row.keys() - allowed:
            keys = f"Keys: {', '.join(sorted(allowed))}."
            raise self._fault(f"{what} has the unknown key {min(unknown)!r}.", keys)

    def _fault(self, problem: str, fix: str) -> DataError:
        return DataError(f"{self.path}, question {self.where!r}: {problem}", fix)


def _is_tables(value: object) -> TypeGuard[list[dict[str, Any]]]:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)
