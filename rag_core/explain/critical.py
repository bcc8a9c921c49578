"""Where a setting can change which passages are used, in closed form: the only values worth trying.

Between two neighbouring critical values no comparison that decides about a passage changes its outcome:

- θ: at the scores it is compared with.
- α: S_final is a line in α for each passage; where a line of a used passage crosses one of another, or θ.
- weights: fused scores are lines in a weight, or the highest or the sum of lines; where two of them cross.
- λ: MMR's value is a line in λ as long as the picks before it stay; where the line of a pick is crossed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..stages import (
    Blend,
    FusionStage,
    Mmr,
    ReciprocalRankFusion,
    Stage,
    Threshold,
    Top,
    WeightedFusion,
)
from ..stages.select import similarities
from ..values.types import Hit, Ranking
from .without_models import Replay, Values

Line: TypeAlias = tuple[float, float]  # intercept and slope
Assign: TypeAlias = Callable[[float], Values]  # a number -> control values
NUDGE = 1e-9  # to the other side of a critical value; above rounding, below any step


def critical_values(replay: Replay, assign: Assign, value: float, bound: float) -> Iterator[float] | None:
    """Critical values from the current one to a bound, nearest first; None if no closed form is known."""
    low, high = sorted((value, bound))
    try:
        changed = _changed(replay, assign, low, high)
    except LookupError:
        return None
    position, stage, other = changed
    after = replay.strategy(assign(value)).stages[position + 1 :]
    if not all(isinstance(one, Top | Threshold) for one in after):
        return None
    before = replay.run(assign(value)).steps[position - 1].after
    match stage, other:
        case Threshold(), Threshold():
            found = [hit.score for hit in before.ranking]
        case Blend(), Blend():
            found = _of_lines(_blended(replay, assign, value, position), replay.used(assign(value)), after)
        case ((ReciprocalRankFusion() | WeightedFusion()), (ReciprocalRankFusion() | WeightedFusion())):
            used = replay.used(assign(value))
            found = []
            for start, end in itertools.pairwise(_bends(before.rankings, stage, other, low, high)):
                lines = _fused(replay, assign, position, before.rankings, start, end)
                found += [*_of_lines(lines, used, after), end]
        case Mmr(), Mmr() if len(before.rankings) == 1:
            return _of_mmr(replay, assign, before.ranking.hits, stage.k, value, bound)
        case _:
            return None
    between = {one for one in found if low <= one <= high}
    return iter(sorted(between, key=lambda one: abs(one - value)))


def _changed(replay: Replay, assign: Assign, low: float, high: float) -> tuple[int, Stage, Stage]:
    """Position of the one stage that differs between two inner values, and the stage at both."""
    third = (high - low) / 3
    first, second = (replay.strategy(assign(one)).stages for one in (low + third, high - third))
    different = [place for place, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1]]
    if len(different) != 1 or len(first) != len(second) or len(first) != len(replay.strategy({}).stages):
        raise LookupError
    (place,) = different
    return place, first[place], second[place]


def _of_lines(lines: dict[str, list[Line]], used: frozenset[str], after: Sequence[Stage]) -> list[float]:
    """Where a line of a used passage crosses one of another, and where any crosses a threshold."""
    mine = np.array([line for name, own in lines.items() if name in used for line in own]).reshape(-1, 2)
    others = np.array([line for name, own in lines.items() if name not in used for line in own]).reshape(
        -1, 2
    )
    found = _crossings(mine, others)
    for stage in after:
        if isinstance(stage, Threshold):
            found += _crossings(np.vstack([mine, others]), np.array([(stage.theta, 0.0)]))
    return found


def _crossings(some: NDArray[np.float64], others: NDArray[np.float64]) -> list[float]:
    """Abscissae at which any line of one group crosses any of the other."""
    rise = others[None, :, 0] - some[:, None, 0]
    run = some[:, None, 1] - others[None, :, 1]
    crossing = run != 0
    return (rise[crossing] / run[crossing]).tolist()  # type: ignore[no-any-return]


def _blended(replay: Replay, assign: Assign, value: float, position: int) -> dict[str, list[Line]]:
    """S_final of each passage as a line in α: judge + α · (cosine − judge)."""
    hits = replay.run(assign(value)).steps[position].after.ranking
    terms = {hit.id: [term.value for term in hit.terms] for hit in hits}
    return {name: [(judge, cosine - judge)] for name, (cosine, judge) in terms.items()}


def _bends(
    rankings: Sequence[Ranking], stage: FusionStage, other: FusionStage, low: float, high: float
) -> list[float]:
    """The bounds, and the steps between them at which a linear weight reaches 0."""
    bends: list[float] = []
    if isinstance(stage, WeightedFusion) and isinstance(other, WeightedFusion) and stage.step != other.step:
        places = [ranking.query.template_index for ranking in rankings]
        bends = [1 / place for place in places if place and low < 1 / place < high]
    return sorted({low, *bends, high})


def _fused(
    replay: Replay, assign: Assign, position: int, rankings: Sequence[Ranking], start: float, end: float
) -> dict[str, list[Line]]:
    """Lines of each passage between two bends; several where the best one counts."""
    third = (end - start) / 3
    at = (start + third, end - third)
    first, second = (replay.strategy(assign(one)).stages[position] for one in at)
    parts: dict[str, list[Line]] = {}
    for ranking in rankings:
        weights = [_weight(stage, ranking) for stage in (first, second)]
        slope = (weights[1] - weights[0]) / (at[1] - at[0])
        base = weights[0] - slope * at[0]
        for rank, hit in enumerate(ranking, start=1):
            factor = 1 / (first.k + rank) if isinstance(first, ReciprocalRankFusion) else max(0.0, hit.score)
            parts.setdefault(hit.id, []).append((base * factor, slope * factor))
    match getattr(first, "combine", "sum"):
        case "max":
            return parts
        case "first":
            return {name: own[:1] for name, own in parts.items()}
        case _:
            return {name: [(sum(a for a, _ in own), sum(b for _, b in own))] for name, own in parts.items()}


def _weight(stage: Stage, ranking: Ranking) -> float:
    if isinstance(stage, WeightedFusion):
        return stage.weight(ranking.query.template_index)
    assert isinstance(stage, ReciprocalRankFusion)
    return stage.weight(ranking)


def _of_mmr(
    replay: Replay, assign: Assign, hits: Sequence[Hit], k: int, value: float, bound: float
) -> Iterator[float]:
    """The values of λ at which the sequence of picks changes, one after the other."""
    pool = sorted(hits, key=lambda hit: hit.id)
    ctx = replay.context()
    question = ctx.embed((replay.trace.question,))[0]
    wanted, between = similarities(question, ctx.passage_vectors(pool))
    row = {hit.id: place for place, hit in enumerate(pool)}
    sign = 1 if bound > value else -1
    at = value
    while sign * (bound - at) > 0:
        picks = [row[hit.id] for hit in replay.run(assign(at)).ranking if hit.id in row][:k]
        ahead = [one for one in _overtaken(wanted, between, picks) if sign * (one - at) > 0]
        if not ahead or sign * (min(ahead, key=lambda one: abs(one - at)) - bound) > 0:
            return
        critical = min(ahead, key=lambda one: abs(one - at))
        yield critical
        at = critical + sign * NUDGE


def _overtaken(
    wanted: NDArray[np.float64], between: NDArray[np.float64], picks: Sequence[int]
) -> Iterator[float]:
    """The λ at which some other row reaches the value of a pick, given the picks before it."""
    left = [row for row in range(len(wanted)) if row not in picks]
    for place in range(1, len(picks)):
        pick, rest = picks[place], [*picks[place + 1 :], *left]
        nearest = between[:, picks[:place]].max(axis=1)
        slope, slopes = wanted[pick] + nearest[pick], wanted[rest] + nearest[rest]
        crossing = slopes != slope
        yield from ((nearest[pick] - nearest[rest]) / (slope - slopes))[crossing].tolist()
