"""What people say of an exam's passages: what counts of it, how far they agree, and how far the exam is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from functools import cached_property

from ...documents.benchmark import Qrels
from ...language.questions import check_question
from ...values.message import Message
from ...values.types import Passage, text_key
from .exam import ANSWERS, OWNER, Exam, ExamQuestion, Tick

JUDGED_BY = Message(
    "Judged in an exam. People: {people}; questions: {pooled}; passages judged: {judged} of {cards}, as 2 (answers), "
    "1 (in part) or 0; Krippendorff's alpha: {alpha}; disagreements not settled, of which the lower grade counts: {disputed}. "
    "What nobody judged counts as 0; known questions like the exam's are left out."
)


@dataclass(frozen=True, slots=True)
class Card:
    """A passage of a question, what people said of it, the first first, and the grade that the owner settled on."""

    question: ExamQuestion
    passage: Passage
    people: tuple[Tick, ...] = ()
    settled: int | None = None

    @property
    def place(self) -> tuple[int, str]:
        """The number of its question, and its `text_key`."""
        return self.question.number, text_key(self.passage)

    @property
    def grade(self) -> int | None:
        """What counts: what the owner settled, else the lowest of what people said; None if nobody judged it."""
        return min((one.grade for one in self.people), default=None) if self.settled is None else self.settled

    @property
    def disputed(self) -> bool:
        """Whether people disagree, settled or not."""
        return len({one.grade for one in self.people}) > 1

    @property
    def unsettled(self) -> bool:
        return self.disputed and self.settled is None

    @property
    def harms(self) -> list[str]:
        return [one.harm for one in self.people if one.harm]


@dataclass(frozen=True)
class Judgements:
    """An exam, its questions, and all that was said of their passages, by question and then by time."""

    exam: Exam
    questions: tuple[ExamQuestion, ...]
    ticks: tuple[Tick, ...]

    @cached_property
    def cards(self) -> tuple[Card, ...]:
        """Every passage of every question, in the order they are shown."""
        said: dict[tuple[int, str], list[Tick]] = defaultdict(list)
        for tick in self.ticks:
            said[tick.question, tick.passage].append(tick)
        return tuple(
            _card(question, passage, said[question.number, text_key(passage)])
            for question in self.questions
            for passage in question.passages
        )

    @property
    def to_look_at(self) -> list[Card]:
        """The passages on which people disagree, or that somebody says could harm."""
        return [card for card in self.cards if card.disputed or card.harms]

    @property
    def unsettled(self) -> list[Card]:
        return [card for card in self.cards if card.unsettled]

    @property
    def measurable(self) -> bool:
        """Whether a passage counts as an answer, at least in part."""
        return any(card.grade for card in self.cards)

    @property
    def qrels(self) -> Qrels:
        """Question id -> `text_key` -> grade, of what is judged."""
        found: dict[str, dict[str, int]] = {}
        for card in self.cards:
            if card.grade is not None:
                found.setdefault(card.question.id, {})[card.place[1]] = card.grade
        return found

    @property
    def strategies(self) -> tuple[str, ...]:
        """The labels of those whose first passages these are, or were chosen to find some."""
        return tuple(dict.fromkeys(label for one in self.questions for label in (*one.pooled.values(), *one.chosen)))

    @property
    def standing(self) -> Standing:
        short = {one.question.number for one in self.cards if len(one.people) < self.exam.judges(one.question.number)}
        pooled = [one for one in self.questions if one.passages]
        return Standing(
            questions=len(self.questions),
            pooled=len(pooled),
            complete=sum(one.number not in short for one in pooled),
            cards=len(self.cards),
            judged=sum(card.grade is not None for card in self.cards),
            people=len({tick.person for tick in self.ticks} - {OWNER}),
            disputed=len(self.unsettled),
            harmful=sum(bool(card.harms) for card in self.cards),
            agreement=agreement(card.people for card in self.cards),
        )


def _card(question: ExamQuestion, passage: Passage, said: Collection[Tick]) -> Card:
    people = tuple(one for one in said if one.person != OWNER)
    return Card(question, passage, people, next((one.grade for one in said if one.person == OWNER), None))


@dataclass(frozen=True, slots=True)
class Standing:
    """How far an exam is.

    Args:
        cards: passages to judge, over all questions.
        judged: of those, how many somebody has.
        complete: questions whose every passage is judged by as many people as it needs.
        disputed: passages on which people disagree and the owner has not settled it.
        harmful: passages of which somebody says how they could harm.
    """

    questions: int
    pooled: int
    complete: int
    cards: int
    judged: int
    people: int
    disputed: int
    harmful: int
    agreement: float | None

    @property
    def sentence(self) -> Message:
        """Who judged, for a result: an exam's `judged_by`."""
        alpha = Message("not defined") if self.agreement is None else f"{self.agreement:.2f}"
        return Message(JUDGED_BY, **asdict(self), alpha=alpha)


def check(judged: Judgements) -> None:
    """Raise ValueError, saying where, for a judgement of nothing in the exam, and InputError for a question that cannot be asked."""
    for number, one in enumerate(judged.questions, start=1):
        if one.number != number or check_question(one.text) != one.text:
            raise ValueError(f"questions.{number - 1}")
    places = {card.place for card in judged.cards}
    for place, tick in enumerate(judged.ticks):
        if (tick.question, tick.passage) not in places or tick.grade not in range(len(ANSWERS)):
            raise ValueError(f"ticks.{place}")


def agreement(said: Iterable[Collection[Tick]]) -> float | None:
    """Krippendorff's ordinal alpha over passages that two judged, 1 for full agreement, 0 chance; None if undefined."""
    from ..panel.ranking import krippendorff

    return krippendorff(({one.person: one.grade for one in each} for each in said), "ordinal")
