"""What each stage added or lost, and what each rewrite brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .metrics import Metric
from .records import Lane, Record, RunFolder
from .statistics import Interval, interval, randomisation_p

Values = Mapping[str, float]  # question id -> score


@dataclass(frozen=True, slots=True)
class StageEffect:
    """The ranking after one stage, and how it differs from the best one before it.

    Args:
        position: of the stage, from 0.
        lane: the rewrite and retriever, where a stage leaves several rankings; empty where it leaves one.
        score: mean of the metric over the questions that have this ranking.
        before: the ranking it is compared with; empty for the first ones.
        change: mean difference to it, paired over the questions that have both; None for the first ones.
        p: of the change, by a paired randomisation test; not corrected: it points, it does not prove.
    """

    position: int
    stage: str
    lane: str
    score: Interval
    before: str = ""
    change: Interval | None = None
    p: float | None = None


@dataclass(frozen=True, slots=True)
class RewriteEffect:
    """What one kind of rewrite brought, over all questions.

    Args:
        origin: the rewrite; "question" for the user's own words.
        retrieved: documents its searches returned, summed over the questions.
        error_rate: share of them not judged relevant (seed 004: the share of irrelevant documents a
            reformulation brings); unjudged documents count as irrelevant.
        unique_relevant: relevant documents that no other query of the question found.
    """

    origin: str
    questions: int
    retrieved: int
    error_rate: float
    unique_relevant: int


def stage_effects(run: RunFolder, label: str, metric: Metric) -> list[StageEffect]:
    """Before → after of each stage that leaves rankings, in their order.

    A ranking is compared with that of the same query before it or, when several were fused, with the
    best of those.
    """
    records = _ran(run, label)
    effects: list[StageEffect] = []
    previous: Mapping[str, Values] = {}
    before_stage = ""
    for position in range(max((len(record.stages) for record in records), default=0)):
        lanes = _lanes(records, position, run.judged.qrels, metric)
        stage = next(record.stages[position].stage for record in records if position < len(record.stages))
        for lane, values in lanes.items():
            score = interval(np.array(list(values.values())))
            before = (
                lane
                if lane in previous
                else max(previous, key=lambda one: _mean(previous[one]), default=None)
            )
            paired = [question for question in values if question in previous.get(before or "", {})]
            if before is None or not paired:
                effects.append(StageEffect(position, stage, lane, score))
                continue
            gaps = np.array([values[question] - previous[before][question] for question in paired])
            name = f"{before_stage} {before}".strip()
            effects.append(
                StageEffect(position, stage, lane, score, name, interval(gaps), randomisation_p(gaps))
            )
        if lanes:
            previous, before_stage = lanes, stage
    return effects


def rewrite_effects(run: RunFolder, label: str) -> list[RewriteEffect]:
    """Error rate and unique finds of each kind of query; empty for a strategy that searches with one."""
    found: dict[str, list[tuple[Record, Lane]]] = {}
    for record in _ran(run, label):
        searched = next((stage for stage in record.stages if stage.kind == "retrieve"), None)
        if searched and len({lane.origin for lane in searched.lanes}) > 1:
            for lane in searched.lanes:
                found.setdefault(lane.origin, []).append((record, lane))
    effects = []
    for origin, pairs in found.items():
        retrieved = relevant = unique = 0
        for record, lane in pairs:
            good = {one for one in lane.documents if run.judged.qrels[record.question].get(one, 0) > 0}
            retrieved += len(lane.documents)
            relevant += len(good)
            unique += len(good - _found_by_others(record, origin))
        rate = 1 - relevant / retrieved if retrieved else 0.0
        effects.append(RewriteEffect(origin, len({r.question for r, _ in pairs}), retrieved, rate, unique))
    return effects


def _found_by_others(record: Record, origin: str) -> set[str]:
    searched = next(stage for stage in record.stages if stage.kind == "retrieve")
    return {one for lane in searched.lanes if lane.origin != origin for one in lane.documents}


def _ran(run: RunFolder, label: str) -> list[Record]:
    return [record for record in run.records[label].values() if not record.error]


def _lanes(
    records: Sequence[Record], position: int, qrels: Mapping[str, Mapping[str, int]], metric: Metric
) -> dict[str, dict[str, float]]:
    """Ranking -> question -> score, after the stage at a position."""
    found: dict[str, dict[str, float]] = {}
    for record in records:
        if position < len(record.stages):
            lanes = record.stages[position].lanes
            for lane in lanes:
                name = _name(lane) if len(lanes) > 1 else ""
                found.setdefault(name, {})[record.question] = metric(lane.documents, qrels[record.question])
    return found


def _name(lane: Lane) -> str:
    return lane.retriever if lane.origin == "question" else f"{lane.origin} {lane.retriever}".strip()


def _mean(values: Values) -> float:
    return float(np.mean(list(values.values())))
