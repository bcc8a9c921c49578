"""Many settings of a strategy on one question at once: rows are settings, columns are passages.

`Strategy.run` keeps every state of one setting; a sweep needs only the last ranking of thousands. Settings that
differ in depths of search, rank fusion, cuts and MMR alone get it here from one search, by arithmetic on arrays.
The tests compare the rankings with those of `Strategy.run`.
"""

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ..runtime.context import Context
from ..runtime.run import Run
from ..runtime.services import Services
from ..stages import Bm25, Dense, Mmr, ReciprocalRankFusion, Retrieve, Stage, Top
from ..stages.base import TransformStage
from ..stages.select import similarities
from ..values.types import Hit, ModelCall, Passage, Query, Ranking
from .strategy import Strategy

MOST = 1000  # settings in one array

Rows: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The distinct final rankings on one question, each setting's place among them, and their calls."""

    rankings: tuple[tuple[Passage, ...], ...]
    which: tuple[int, ...]
    calls: tuple[ModelCall, ...]


@dataclass(frozen=True, slots=True)
class _Level:
    """The stages of all settings at one position: a row for each different one, and its parent row."""

    stages: tuple[Stage, ...]
    parents: Rows


@dataclass(frozen=True, slots=True)
class _Order:
    """Rankings as rows: columns best first, of which the first `counts` are in the ranking."""

    columns: Rows  # (rows, n)
    counts: Rows  # (rows,)

    def of(self, parents: Rows) -> Self:
        return replace(self, columns=self.columns[parents], counts=self.counts[parents])


@dataclass(frozen=True, slots=True)
class Together:
    """Settings that can be computed together; `gather` makes them.

    Args:
        places: of the settings, in the order given to `gather`.
        search: their stages up to retrieval, as deep as the deepest of them.
        depths: (searches, retrievers) hits of each.
        levels: the stages after it.
        last: the row of each setting at the last level.
    """

    places: tuple[int, ...]
    search: Strategy
    depths: Rows
    levels: tuple[_Level, ...]
    last: Rows

    def run(self, question: str, services: Services, run: Run) -> Outcome:
        """The ranking that each setting ends with; raises StageError or Stopped."""
        trace = self.search.run(question, services, run)
        rankings = trace.final.rankings
        first = {hit.id: hit for ranking in rankings for hit in ranking}
        hits = [first[identity] for identity in sorted(first)]  # of equals the first column wins: ties by id
        ranks = np.full((len(rankings), len(hits)), np.inf)
        column = {hit.id: place for place, hit in enumerate(hits)}
        for row, ranking in zip(ranks, rankings, strict=True):
            row[[column[hit.id] for hit in ranking]] = np.arange(1, len(ranking) + 1)
        ctx = Context(services, run)
        # the first ranking at every depth; with several, fusion comes next and reads them all
        columns = np.tile(np.argsort(ranks[0]), (len(self.depths), 1))
        order = _Order(columns, np.minimum(self.depths[:, 0], np.isfinite(ranks[0]).sum()))
        for level in self.levels:
            match level.stages[0]:
                case ReciprocalRankFusion():
                    order = _fused(level, ranks, self.depths, rankings)
                case Top():
                    ks = [stage.k for stage in cast(Sequence[Top], level.stages)]
                    order = order.of(level.parents)
                    order = _Order(order.columns, np.minimum(order.counts, ks))
                case Mmr():
                    order = _diverse(level, order.of(level.parents), hits, trace.final.question, ctx)
        calls = tuple(dict.fromkeys([*trace.calls, *ctx.meter.calls]))
        return _outcome(order, self.last, [hit.passage for hit in hits], calls)


def gather(strategies: Sequence[Strategy]) -> tuple[list[Together], list[int]]:
    """Settings that can be computed together, and the places of those that must run one by one."""
    groups: dict[Hashable, list[int]] = defaultdict(list)
    alone = []
    for place, strategy in enumerate(strategies):
        key = _group(strategy)
        if key is None:
            alone.append(place)
        else:
            groups[key].append(place)
    return [
        _together(strategies, places[start : start + MOST])
        for places in groups.values()
        for start in range(0, len(places), MOST)
    ], alone


def _group(strategy: Strategy) -> Hashable | None:
    """What settings computed together share: all up to retrieval but its depth, and the kinds of stages after it.

    None for other stages, and for more than two rankings: the exact sum of their shares is no array's.
    """
    position = _search(strategy)
    if position is None:
        return None
    before, found, after = (
        strategy.stages[:position],
        strategy.stages[position],
        strategy.stages[position + 1 :],
    )
    retrievers = cast("tuple[Bm25 | Dense, ...]", cast(Retrieve, found).retrievers)
    kinds = tuple(type(stage) for stage in after)
    fused = kinds[:1] == (ReciprocalRankFusion,)
    if (
        any(isinstance(stage, TransformStage) and stage.fans_out for stage in before)
        or not all(type(one) in (Bm25, Dense) for one in retrievers)
        or len(retrievers) != 1 + fused
        or not set(kinds[fused:]) <= {Top, Mmr}
        or kinds.count(Mmr) > 1
    ):
        return None
    return before, tuple(replace(one, k=1) for one in retrievers), kinds


def _search(strategy: Strategy) -> int | None:
    return next((place for place, stage in enumerate(strategy.stages) if type(stage) is Retrieve), None)


def _together(strategies: Sequence[Strategy], places: Sequence[int]) -> Together:
    model = strategies[places[0]]
    position = _search(model)
    assert position is not None
    levels, rows = [], [0] * len(places)
    for depth in range(position, len(model.stages)):
        distinct: dict[Hashable, int] = {}
        keys = [(parent, strategies[place].stages[depth]) for parent, place in zip(rows, places, strict=True)]
        rows = [distinct.setdefault(key, len(distinct)) for key in keys]
        parents, stages = zip(*distinct, strict=True)
        levels.append(_Level(stages, np.array(parents, np.intp)))
    searches = [cast("tuple[Bm25 | Dense, ...]", cast(Retrieve, stage).retrievers) for stage in levels[0].stages]
    depths = np.array([[one.k for one in retrievers] for retrievers in searches], np.intp)
    deepest = tuple(replace(one, k=int(k)) for one, k in zip(searches[0], depths.max(axis=0), strict=True))
    search = Strategy(model.name, (*model.stages[:position], Retrieve(deepest)))
    return Together(tuple(places), search, depths, tuple(levels[1:]), np.array(rows, np.intp))


def _fused(level: _Level, ranks: NDArray[np.float64], depths: Rows, rankings: Sequence[Ranking]) -> _Order:
    """`ReciprocalRankFusion.fuse` at every depth, best first; the sum of two shares is that of `math.fsum`."""
    stages = cast(Sequence[ReciprocalRankFusion], level.stages)
    k = np.array([[stage.k] for stage in stages])
    scores = np.zeros((len(stages), ranks.shape[1]))
    for place, ranking in enumerate(rankings):
        weights = np.array([[stage.weight(ranking)] for stage in stages])
        reached = ranks[place] <= depths[level.parents, place, None]
        scores += np.where(reached, weights / (k + ranks[place]), 0.0)
    return _Order(np.argsort(-scores, axis=1, kind="stable"), np.count_nonzero(scores, axis=1))


def _diverse(level: _Level, order: _Order, hits: Sequence[Hit], question: Query, ctx: Context) -> _Order:
    """The picks of `mmr_split` for every row."""
    stages = cast(Sequence[Mmr], level.stages)
    counts = np.minimum(order.counts, [stage.k for stage in stages])
    picks = np.zeros((len(stages), counts.max(initial=0)), np.intp)
    if not picks.size:
        return _Order(picks, counts)
    wanted, likeness = similarities(ctx.embed((question.text,))[0], ctx.passage_vectors(hits))
    lambdas = np.array([[stage.lambda_] for stage in stages])
    pool = np.zeros(order.columns.shape, np.bool_)
    within = np.arange(order.columns.shape[1]) < order.counts[:, None]
    np.put_along_axis(pool, order.columns, within, axis=1)
    values = np.where(pool, wanted, -np.inf)
    relevance = np.where(pool, lambdas * wanted, -np.inf)
    rows = np.arange(len(stages))
    nearest = np.full(pool.shape, -np.inf)
    for place in range(picks.shape[1]):
        if place:
            np.maximum(nearest, likeness[picks[:, place - 1]], out=nearest)
            values = relevance - (1 - lambdas) * nearest
        picks[:, place] = values.argmax(axis=1)
        relevance[rows, picks[:, place]] = -np.inf  # taken
    return _Order(picks, counts)


def _outcome(order: _Order, last: Rows, passages: Sequence[Passage], calls: tuple[ModelCall, ...]) -> Outcome:
    distinct: dict[tuple[int, ...], int] = {}
    places = [
        distinct.setdefault(tuple(columns[:count]), len(distinct))
        for columns, count in zip(order.columns.tolist(), order.counts.tolist(), strict=True)
    ]
    rankings = tuple(tuple(passages[column] for column in columns) for columns in distinct)
    return Outcome(rankings, tuple(places[row] for row in last), calls)
