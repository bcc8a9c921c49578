"""How the answers of a comparison differ, read off what they say, cite and name; how two results of a column do."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from string import ascii_uppercase
from typing import Literal, TypeVar

from ..language.analysis import language_of
from ..offline.amounts import Quantity, quantities
from ..pipeline.stream import remember
from ..runtime.run import Run
from ..runtime.services import Services
from ..stages import LeaveOut
from ..stages.citations import unmarked
from ..values.answers import Answer
from ..values.sources import listed
from ..values.trace import Trace, shared_passages
from ..values.translation import translate, translate_plural
from ..values.types import Passage
from .fate import fates, no_longer_found
from .without_models import recipe_of_unchanged

Columns = tuple[int, ...]  # positions, ascending
Key = TypeVar("Key")
NO_FIGURE = ("", "times")  # units: 2019 is any number, and "once" says nothing beside a dose
# of English and Spanish units: weeks, semanas, meses, unidades
_PLURAL = re.compile(r"(?<=mes|dad)es$|(?<!me)s$")


@dataclass(frozen=True, slots=True)
class AnswerDifferences:
    """What the answers of several columns share, and what only some have; columns without an answer are left out.

    Args:
        same: groups of columns with one and the same answer.
        quoting: groups of columns whose answers differ, and cite the same sections.
        sections: the columns with one answer -> titles of the sections that no other answer cites.
        figures: the same of quantities, numbers with a unit, that no other answer names.
        declined: columns that declined to answer.
    """

    same: tuple[Columns, ...] = ()
    quoting: tuple[Columns, ...] = ()
    sections: Mapping[Columns, tuple[str, ...]] = field(default_factory=dict)
    figures: Mapping[Columns, tuple[str, ...]] = field(default_factory=dict)
    declined: Columns = ()

    def alike(self, column: int) -> Columns:
        """The columns that give this one's answer, itself included; all that declined give one answer."""
        return next((group for group in (*self.same, self.declined) if column in group), (column,))

    def is_tie(self, best: Columns) -> bool:
        """Whether the columns voted best give different answers."""
        return bool(best) and not set(best) <= set(self.alike(best[0]))

    def in_words(self, language: str, most: int | None = None) -> list[str]:
        """A sentence for each, with columns by their letters in bold; of an answer's sections or figures `most` are named."""

        def letters(columns: Columns) -> str:
            return listed(map(letter, columns), language)

        def plural(one: str, many: str, columns: Columns, **fields: object) -> str:
            return translate_plural(language, one, many, len(columns), columns=letters(columns), **fields)

        def some(words: Sequence[str]) -> str:
            named = [*words[:most]]
            if more := len(words) - len(named):
                named.append(translate(language, "{count} more", count=more))
            return listed(named, language)

        told = [
            translate(language, "**{columns}** give the same answer.", columns=letters(columns))
            for columns in self.same
        ]
        told += [
            translate(language, "**{columns}** quote the same sections.", columns=letters(columns))
            for columns in self.quoting
        ]
        for columns, titles in self.sections.items():
            quoted = some([translate(language, "“{title}”", title=title) for title in titles])
            told.append(
                plural(
                    "Only **{columns}** quotes {sections}.",
                    "Only **{columns}** quote {sections}.",
                    columns,
                    sections=quoted,
                )
            )
        for columns, figures in self.figures.items():
            told.append(
                plural(
                    "Only **{columns}** names {figures}.",
                    "Only **{columns}** name {figures}.",
                    columns,
                    figures=some(figures),
                )
            )
        if self.declined:
            told.append(plural("**{columns}** declines.", "**{columns}** decline.", self.declined))
        return told


@dataclass(frozen=True, slots=True)
class Told:
    """What an answer says after its notice, and the titles of the sections it cites, by their identity."""

    text: str
    abstained: bool
    sections: Mapping[tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of one or more answers, without markers, and the columns whose answer has it."""

    text: str
    columns: Columns


@dataclass(frozen=True, slots=True)
class Quoted:
    """A section that answers rest on, by its title; empty for sentences that no passage supports."""

    title: str
    statements: tuple[Statement, ...]


def together(traces: Sequence[Trace | None], first: int = 0) -> tuple[Quoted, ...]:
    """All answers as one: each section once, and each of its sentences once, with the columns that have it.

    Traces are by column, None without a result; the order of column `first` is kept, and what others add follows.
    """
    sections: dict[str, dict[str, list[int]]] = {}
    for place in sorted(range(len(traces)), key=lambda place: place != first):
        trace = traces[place]
        if trace is None or trace.answer is None:
            continue
        for sentence in trace.answer.sentences:
            title = trace.ranking.hits[sentence.by[0] - 1].passage.full_title if sentence.by else ""
            columns = sections.setdefault(title, {}).setdefault(sentence.text, [])
            if place not in columns:
                columns.append(place)
    return tuple(
        Quoted(title, tuple(Statement(text, tuple(sorted(columns))) for text, columns in said.items()))
        for title, said in sections.items()
    )


def letter(place: int) -> str:
    """The letter of a column, from 0; after Z its number."""
    return ascii_uppercase[place] if place < len(ascii_uppercase) else f"{place + 1:d}"


def answer_differences(traces: Sequence[Trace | None]) -> AnswerDifferences:
    """How the answers of columns in order differ; None for a column without a result."""
    return differences_of(
        [
            Told(trace.answer.written, trace.answer.abstained, _sections(trace)) if trace and trace.answer else None
            for trace in traces
        ]
    )


def differences_of(told: Sequence[Told | None]) -> AnswerDifferences:
    """The same of what the answers say; their markers do not count, since a passage has another number in each column."""
    texts = {place: unmarked(one.text) for place, one in enumerate(told) if one and not one.abstained}
    answers = _grouped(texts)
    sections = {columns: one.sections for columns in answers if (one := told[columns[0]])}
    cited = {columns: frozenset(found) for columns, found in sections.items() if found}
    return AnswerDifferences(
        same=tuple(columns for columns in answers if len(columns) > 1),
        quoting=tuple(tuple(sorted(sum(group, ()))) for group in _grouped(cited) if len(group) > 1),
        sections=_only(sections),
        figures=_only({columns: _figures(texts[columns[0]]) for columns in answers}),
        declined=tuple(place for place, one in enumerate(told) if one and one.abstained),
    )


def _grouped(values: Mapping[Key, object]) -> list[tuple[Key, ...]]:
    groups: dict[object, list[Key]] = {}
    for key, value in values.items():
        groups.setdefault(value, []).append(key)
    return [tuple(group) for group in groups.values()]


def _only(found: Mapping[Columns, Mapping[Key, str]]) -> dict[Columns, tuple[str, ...]]:
    """What one answer alone has, in words; nothing where there is no other answer."""
    if len(found) < 2:
        return {}
    alone = {}
    for columns, values in found.items():
        others = {key for other, theirs in found.items() if other != columns for key in theirs}
        if mine := tuple(words for key, words in values.items() if key not in others):
            alone[columns] = mine
    return alone


def _sections(trace: Trace) -> dict[tuple[str, ...], str]:
    if trace.answer is None:
        return {}
    passages = {hit.id: hit.passage for hit in trace.ranking}
    cited = (passages[one.context_id] for one in trace.answer.citations if one.context_id in passages)
    return {(trace.corpus, one.doc_id, one.heading): one.full_title for one in cited}


def _figures(text: str) -> dict[tuple[float, str], str]:
    found, _ = quantities(text, language_of(text))
    named = sorted((one for one in found if one.unit not in NO_FIGURE), key=lambda one: (one.unit, one.value))
    return {(one.value, one.unit): _as_written(one, text) for one in named}


def _as_written(one: Quantity, text: str) -> str:
    """A quantity in the words of a text, which were read in lower case: "250 IU"; "1 week" of "1 to 2 weeks"."""
    words = _PLURAL.sub("", one.text) if one.number == 1 else one.text
    found = re.search(re.escape(words), text, re.IGNORECASE)
    return found[0] if found else words


def answer_without(trace: Trace, passages: Collection[str], services: Services) -> Trace:
    """The trace with the answer that its model writes without these passages (ids); raises ConfigError or StageError."""
    strategy = recipe_of_unchanged(trace, services).build(**trace.controls)
    *before, answering = strategy.stages
    changed = replace(strategy, stages=(*before, LeaveOut(tuple(sorted(passages))), answering))
    run = Run()
    remember(run.shared, trace, [changed], services)
    return changed.run(trace.question, services, run)


@dataclass(frozen=True, slots=True)
class RankChange:
    """A passage that either result uses: its rank in each, from 1, or None, and its later fate in words."""

    passage: Passage
    before: int | None
    after: int | None
    fate: str

    @property
    def kind(self) -> Literal["entered", "left", "up", "down", "same"]:
        if self.before is None:
            return "entered"
        if self.after is None:
            return "left"
        if self.after == self.before:
            return "same"
        return "up" if self.after < self.before else "down"


@dataclass(frozen=True, slots=True)
class SentenceChange:
    """A sentence of either answer."""

    text: str
    kind: Literal["new", "gone", "same"]


def rank_changes(before: Trace, after: Trace) -> tuple[RankChange, ...]:
    """The passages used after, in order, then those that are no longer used, in their earlier order."""
    told = {fate.passage.id: fate.text for fate in fates(after)}
    changes = [
        RankChange(
            one.passage,
            one.ranks.get(0),
            one.ranks.get(1),
            told.get(one.passage.id) or no_longer_found(one.passage.id, before, after),
        )
        for one in shared_passages((before.ranking, after.ranking))
    ]
    return tuple(sorted(changes, key=lambda one: (one.after is None, one.after or one.before)))


def answer_changes(before: Answer, after: Answer) -> tuple[SentenceChange, ...]:
    """The sentences of the later answer, then those only the earlier one has; numbers of citations do not count."""
    was, now = _sentences(before), _sentences(after)
    kept = [SentenceChange(one, "same" if one in was else "new") for one in now]
    return (*kept, *(SentenceChange(one, "gone") for one in was if one not in now))


def _sentences(answer: Answer) -> Sequence[str]:
    return [one.text for one in answer.sentences] or [answer.text]
