"""Ablation from stored rankings: the effect of each stage and of each rewrite."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from ..language.questions import form_of
from .metrics import Metric
from .records import Record
from .run_folder import RunFolder
from .statistics import Interval, interval, randomisation_p

Documents = tuple[str, ...]
Lists = Mapping[str, Documents]  # question id -> ranked documents
Effect = Literal["", "cut", "order", "more"]
FORMS = ("keywords", "sentence")  # of questions


@dataclass(frozen=True, slots=True)
class StageEffect:
    """One effect of a stage on a ranking; a stage with several effects has a row for each.

    A stage that shortens and reorders has two: the previous ranking cut to the new length, then the new order at that
    length. So has one that lengthens, such as a fusion: the new order at the old length, then the additional documents.

    Args:
        position: of the stage, from 0.
        lane: the rewrite and retriever, for a stage with several rankings; empty for one.
        effect: "cut", "order" or "more"; empty for the first rankings.
        score: mean of the metric after this effect, over the questions with this ranking.
        documents: mean number of documents after this effect.
        change: mean paired difference, over the questions with both rankings; None for the first rankings.
        p: of the change, from a paired randomisation test; exploratory, uncorrected.
    """

    position: int
    stage: str
    lane: str
    effect: Effect
    score: Interval
    documents: float
    before: str = ""
    change: Interval | None = None
    p: float | None = None


@dataclass(frozen=True, slots=True)
class FormErrors:
    """The error rate of a rewrite on the questions of one form."""

    questions: int
    error_rate: float


@dataclass(frozen=True, slots=True)
class RewriteEffect:
    """What one kind of rewrite retrieved, over all questions.

    Args:
        error_rate: share of them not judged relevant (RAG-MSR README, Reformulation Error Analysis: the share of
            irrelevant documents a reformulation brings); unjudged documents count as irrelevant.
        unique_relevant: relevant documents that no other query of the question found.
        forms: "keywords" and "sentence" (`questions.form_of`), where there are such questions -> their error rate: by
            the README, failures are frequent in keyword questions.
    """

    origin: str
    questions: int
    retrieved: int
    error_rate: float
    unique_relevant: int
    forms: Mapping[str, FormErrors]


def stage_effects(run: RunFolder, label: str, metric: Metric) -> list[StageEffect]:
    """The effects of each stage with rankings, each against the query's previous ranking, or the best of those it fused."""
    records = _successful(run, label)

    def scores(lists: Lists) -> dict[str, float]:
        return {one: metric(documents, run.judged.qrels[one]) for one, documents in lists.items()}

    def mean(lists: Lists) -> Interval:
        return interval(list(scores(lists).values()))

    def best(lanes: Mapping[str, Lists]) -> str | None:
        return max(lanes, key=lambda lane: np.mean(list(scores(lanes[lane]).values())), default=None)

    effects: list[StageEffect] = []
    previous: Mapping[str, Lists] = {}
    before_stage = ""
    for position in range(max((len(record.stages) for record in records), default=0)):
        lanes = _lanes(records, position)
        stage = next(record.stages[position].stage for record in records if position < len(record.stages))
        for lane, after in lanes.items():
            source = lane if lane in previous else best(previous)
            before = previous[source] if source is not None else {}
            if not before.keys() & after.keys():
                effects.append(StageEffect(position, stage, lane, "", mean(after), _length(after)))
                continue
            name = f"{before_stage} {source}".strip()
            for effect, old, new in _steps(before, after):
                earlier, later = scores(old), scores(new)
                gaps = [later[one] - earlier[one] for one in later if one in earlier]
                effects.append(
                    StageEffect(
                        position, stage, lane, effect, mean(new), _length(new), name,
                        interval(gaps), randomisation_p(gaps),
                    )
                )  # fmt: skip
        if lanes:
            previous, before_stage = lanes, stage
    return effects


def _steps(before: Lists, after: Lists) -> Iterator[tuple[Effect, Lists, Lists]]:
    """Split a change of rankings into a cut, a new order at equal length, and additional documents."""
    shared = {one: min(len(before[one]), len(after[one])) for one in before.keys() & after.keys()}
    cut = {one: before[one][:length] for one, length in shared.items()}
    ordered = {one: documents[: shared.get(one, len(documents))] for one, documents in after.items()}
    is_cut = any(len(before[one]) > length for one, length in shared.items())
    is_more = any(len(after[one]) > length for one, length in shared.items())
    if is_cut:
        yield "cut", before, cut
    if any(cut[one] != ordered[one] for one in shared) or not (is_cut or is_more):
        yield "order", cut, ordered
    if is_more:
        yield "more", ordered, after


def _length(lists: Lists) -> float:
    return float(np.mean([len(documents) for documents in lists.values()]))


def rewrite_effects(run: RunFolder, label: str) -> list[RewriteEffect]:
    """Error rates and unique relevant documents of each kind of query; empty for single-query strategies."""
    rows: dict[str, list[_Retrieved]] = {}
    for record in _successful(run, label):
        searched = next((stage for stage in record.stages if stage.kind == "retrieve"), None)
        if searched and len({lane.origin for lane in searched.lanes}) > 1:
            grades = run.judged.qrels[record.question]
            for lane in searched.lanes:
                relevant = {document for document in lane.documents if grades.get(document, 0) > 0}
                others = (other.documents for other in searched.lanes if other.origin != lane.origin)
                unique = relevant.difference(*others)
                rows.setdefault(lane.origin, []).append(
                    _Retrieved(record.question, len(lane.documents), len(relevant), len(unique))
                )
    forms = {question.id: form_of(question.text)[0] for question in run.judged.questions}
    effects = []
    for origin, found in rows.items():
        of_form = {form: [row for row in found if forms[row.question] == form] for form in FORMS}
        errors = {form: _errors(some) for form, some in of_form.items() if some}
        overall, retrieved = _errors(found), sum(row.documents for row in found)
        alone = sum(row.unique for row in found)
        effects.append(RewriteEffect(origin, overall.questions, retrieved, overall.error_rate, alone, errors))
    return effects


class _Retrieved(NamedTuple):
    """Numbers of documents that one search retrieved: all, the relevant, and those of them that no other query found."""

    question: str
    documents: int
    relevant: int
    unique: int


def _errors(found: Sequence[_Retrieved]) -> FormErrors:
    retrieved = sum(row.documents for row in found)
    rate = 1 - sum(row.relevant for row in found) / retrieved if retrieved else 0.0
    return FormErrors(len({row.question for row in found}), rate)


def _successful(run: RunFolder, label: str) -> list[Record]:
    return [record for record in run.records[label].values() if not record.error]


def _lanes(records: Sequence[Record], position: int) -> dict[str, dict[str, Documents]]:
    """Lane -> question id -> documents, after the stage at a position."""
    found: dict[str, dict[str, Documents]] = {}
    for record in records:
        if position < len(record.stages):
            lanes = record.stages[position].lanes
            for lane in lanes:
                written_by = "" if lane.origin == "question" else lane.origin
                name = f"{written_by} {lane.retriever}".strip() if len(lanes) > 1 else ""
                found.setdefault(name, {})[record.question] = lane.documents
    return found
