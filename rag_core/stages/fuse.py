"""Making one ranking of several."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ..context import Context
from ..errors import ConfigError
from ..types import Hit, Query, Ranking, Scale, State
from .base import Fuse

Weighting = Literal["linear", "exponential", "equal", "custom"]
Combine = Literal["max", "first", "sum"]
DECAY = 0.9  # of the exponential weights, seed 001


@dataclass(frozen=True)
class Rrf(Fuse):
    """Reciprocal rank fusion: score(d) = Σ over rankings of weight / (k + rank), rank from 1.

    Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods", SIGIR 2009, who use k = 60. Seed 003 writes weight / (k + rank + 1) with ranks
    from 0, which is the same number.

    Args:
        k: >= 0; the larger, the less the first ranks stand out.
        weights: one per retriever, >= 0, in their order, times the weight of the query; none for 1 each.
            A retriever of weight 0 is left out as if it had not searched.
    """

    k: int = 60
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.k < 0:
            raise ConfigError(f"Rrf: k must be at least 0, not {self.k}.")
        if self.weights and (min(self.weights) < 0 or not any(self.weights)):
            raise ConfigError(
                "Rrf: the weights must not be negative, and one must be above 0.", "Raise one of them."
            )

    def scale_of(self, hit: Hit) -> Scale:
        """A sum of reciprocal ranks."""
        return "rrf"

    def fuse(self, rankings: Sequence[Ranking]) -> dict[str, float]:
        """Passage id -> Σ weight / (k + rank)."""
        shares: dict[str, list[float]] = defaultdict(list)
        own = self.weights or (1.0,)
        for position, ranking in enumerate(rankings):
            weight = own[position % len(own)] * ranking.query.weight  # queries × retrievers, in this order
            if weight > 0:
                for rank, hit in enumerate(ranking, start=1):
                    shares[hit.id].append(weight / (self.k + rank))
        # fsum rounds once, so that equal ranks in another order of the lists are a tie
        return {identity: math.fsum(parts) for identity, parts in shares.items()}


@dataclass(frozen=True)
class Merge(Fuse):
    """Weighted merge of the rewrites' cosines: score(d) = combine over queries of weight · max(0, cos).

    Seed 001: later, more speculative rewrites weigh less. The weight goes by the place of the rewrite's
    template, from 0: linear 1 − step · place; exponential 0.9^place; equal 1; custom as given. A rewrite
    keeps its weight when another one failed. Seed 001 keeps the score of the first query that found a
    passage (`first`), which lets a weak early match hide a strong later one; `max` is the default here.

    Args:
        step: of the linear weights, >= 0.
        weights: the custom ones, in the order of the templates, >= 0; those that are missing are 1.
        combine: max, first, or sum over the queries that found the passage.
    """

    weighting: Weighting = "linear"
    step: float = 0.05
    weights: tuple[float, ...] = ()
    combine: Combine = "max"

    def __call__(self, state: State, ctx: Context) -> State:
        """The queries get their weights, then their rankings are merged."""

        def weighted(query: Query) -> Query:
            return replace(query, weight=self.weight(query.place))

        rankings = tuple(Ranking(weighted(ranking.query), ranking.hits) for ranking in state.rankings)
        queries = tuple(weighted(query) for query in state.queries)
        return super().__call__(replace(state, queries=queries, rankings=rankings), ctx)

    def weight(self, place: int) -> float:
        """The weight of the rewrite at a place, from 0."""
        match self.weighting:
            case "linear":
                return max(0.0, round(1 - self.step * place, 12))
            case "exponential":
                return round(DECAY**place, 12)
            case "equal":
                return 1.0
            case "custom":
                return self.weights[place] if place < len(self.weights) else 1.0

    def scale_of(self, hit: Hit) -> Scale:
        """Weighted cosines; a sum of them may exceed 1."""
        return "weighted_cosine"

    def fuse(self, rankings: Sequence[Ranking]) -> dict[str, float]:
        """Passage id -> combined weight · max(0, cos)."""
        found: dict[str, list[float]] = defaultdict(list)
        for ranking in rankings:
            for hit in ranking:
                found[hit.id].append(ranking.query.weight * max(0.0, hit.score))
        combine: dict[Combine, Callable[[list[float]], float]] = {
            "max": max,
            "first": lambda scores: scores[0],
            "sum": math.fsum,
        }
        return {identity: combine[self.combine](scores) for identity, scores in found.items()}


@dataclass(frozen=True)
class Best(Fuse):
    """score(d) = the best score of d in any ranking; all rankings must be on one scale (seed 004's merge)."""

    def scale_of(self, hit: Hit) -> Scale:
        """As it came."""
        return hit.scale

    def fuse(self, rankings: Sequence[Ranking]) -> dict[str, float]:
        """Passage id -> max score."""
        scales = {hit.scale for ranking in rankings for hit in ranking}
        if len(scales) > 1:
            raise ConfigError(
                f"Best: scores of different scales cannot be compared ({', '.join(sorted(scales))})."
            )
        best: dict[str, float] = {}
        for ranking in rankings:
            for hit in ranking:
                best[hit.id] = max(hit.score, best.get(hit.id, hit.score))
        return best
