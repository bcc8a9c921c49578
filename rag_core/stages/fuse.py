"""Fusion of several rankings into one."""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from ..runtime.context import Context
from ..values.errors import ConfigError
from ..values.message import Message
from ..values.types import Query, Ranking, Scale, State
from .base import Flow, FusionStage

Weighting = Literal["linear", "exponential", "equal", "custom"]
Combine = Literal["max", "first", "sum"]
DECAY = 0.9  # of the exponential weights: Multi-Query Rewriter RAG, Query Weighting Strategy


@dataclass(frozen=True)
class ReciprocalRankFusion(FusionStage):
    """Reciprocal rank fusion: score(d) = Σ over rankings of weight / (k + rank), with ranks from 1.

    Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods", SIGIR 2009, who use k = 60. Query System with Contextual Retrieval, Rank Fusion, writes
    weight / (k + rank + 1) with ranks from 0, which is the same number.

    Args:
        k: >= 0; a larger k favours the top ranks less.
        weights: (retriever, weight >= 0) pairs; the default weight is 1. A ranking's weight is its retriever's
            times its query's. Rankings of weight 0 are ignored.
        rewrites: weight >= 0 of rewritten queries, relative to the question's own words.

    >>> from rag_core.testing import ranking_of
    >>> bm25, dense = ranking_of({"a": 9.0, "b": 4.0}), ranking_of({"b": 0.8, "c": 0.7})
    >>> fused = ReciprocalRankFusion(k=60).fuse([bm25, dense])
    >>> {name: round(score, 5) for name, score in fused.items()}  # b: 1/62 + 1/61
    {'a': 0.01639, 'b': 0.03252, 'c': 0.01613}
    """

    scale: ClassVar[Scale] = "rrf"
    k: int = 60
    weights: tuple[tuple[str, float], ...] = ()
    rewrites: float = 1.0

    def __post_init__(self) -> None:
        if self.k < 0:
            raise ConfigError(f"ReciprocalRankFusion: k must be at least 0, not {self.k}.")
        if self.rewrites < 0 or any(weight < 0 for _, weight in self.weights):
            raise ConfigError("ReciprocalRankFusion: weights must not be negative.", "Use 0 or more.")

    def flow(self, before: Flow) -> Flow:
        """Raises ConfigError if a weight names no retriever before this stage, or all weights are 0."""
        weights, searched = dict(self.weights), ", ".join(before.scales)
        for name in weights:
            if name not in before.scales:
                raise ConfigError(
                    f"ReciprocalRankFusion has a weight for {name}, but the retrievers before it are {searched}.",
                    "Use one of these names.",
                )
        if not any(weights.get(name, 1.0) for name in before.scales):
            raise ConfigError(
                Message("ReciprocalRankFusion: the weights of {searched} are all 0.", searched=searched),
                Message("Set at least one above 0."),
            )
        return super().flow(before)

    def weight(self, ranking: Ranking) -> float:
        """A ranking's weight: its retriever's times its query's, times `rewrites` unless it is the question's."""
        weight = dict(self.weights).get(ranking.retriever, 1.0) * ranking.query.weight
        return weight * (1.0 if ranking.query.origin == "question" else self.rewrites)

    def fuse(self, rankings: Sequence[Ranking]) -> dict[str, float]:
        shares: dict[str, list[float]] = defaultdict(list)
        for ranking in rankings:
            weight = self.weight(ranking)
            if weight > 0:
                for rank, hit in enumerate(ranking, start=1):
                    shares[hit.passage.id].append(weight / (self.k + rank))
        # fsum rounds once, so passages with the same ranks tie whatever the order of the lists
        return {identity: math.fsum(parts) for identity, parts in shares.items()}


@dataclass(frozen=True)
class WeightedFusion(FusionStage):
    """Weighted fusion of cosine scores: score(d) = the queries' weight · max(0, cos), combined by max, first or sum.

    Multi-Query Rewriter RAG, Core Processing Function: later, more speculative rewrites weigh less. The weight depends
    on the position of the rewrite's template, from 0: linear 1 − step · position; exponential 0.9^position; equal 1;
    custom as given. A failed rewrite does not change the weights of the rest. That function keeps the score of the
    first query to find a passage (`first`), so a weak early match can hide a strong later one; ours is `max`.

    Args:
        step: decrease of the linear weights per position, >= 0.
        weights: custom weights >= 0 in the order of the templates; missing ones are 1.
        combine: max, first or sum over the queries that found the passage.

    >>> from rag_core.testing import ranking_of
    >>> [WeightedFusion(step=0.05).weight(position) for position in range(3)]
    [1.0, 0.95, 0.9]
    >>> found = [ranking_of({"a": 0.8}), ranking_of({"a": 0.9, "b": 0.6}, weight=0.95)]
    >>> fused = WeightedFusion(combine="max").fuse(found)
    >>> {name: round(score, 3) for name, score in fused.items()}  # a: max(1 · 0.8, 0.95 · 0.9)
    {'a': 0.855, 'b': 0.57}
    """

    scale: ClassVar[Scale] = "weighted_cosine"  # sums can exceed 1
    weighting: Weighting = "linear"
    step: float = 0.05
    weights: tuple[float, ...] = ()
    combine: Combine = "max"

    def flow(self, before: Flow) -> Flow:
        """Raises ConfigError if the scores are not cosines."""
        if set(before.scales.values()) != {"cosine"}:
            raise ConfigError(
                f"WeightedFusion needs cosine scores, but {before.scores}.",
                "Fuse by rank instead, with ReciprocalRankFusion.",
            )
        return super().flow(before)

    def __call__(self, state: State, ctx: Context) -> State:
        def weighted(query: Query) -> Query:
            return replace(query, weight=self.weight(query.template_index))

        rankings = tuple(replace(ranking, query=weighted(ranking.query)) for ranking in state.rankings)
        queries = tuple(weighted(query) for query in state.queries)
        return super().__call__(replace(state, queries=queries, rankings=rankings), ctx)

    def weight(self, position: int) -> float:
        match self.weighting:
            case "linear":
                return max(0.0, round(1 - self.step * position, 12))
            case "exponential":
                return round(DECAY**position, 12)
            case "equal":
                return 1.0
            case "custom":
                return self.weights[position] if position < len(self.weights) else 1.0

    def fuse(self, rankings: Sequence[Ranking]) -> dict[str, float]:
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
class MaxFusion(FusionStage):
    """Each passage keeps its best score in any ranking; all rankings must be on one scale.

    RAG-MSR's README names no fusion rule.

    >>> from rag_core.testing import ranking_of
    >>> MaxFusion().fuse([ranking_of({"a": 0.8, "b": 0.5}), ranking_of({"b": 0.7})])
    {'a': 0.8, 'b': 0.7}
    """

    def flow(self, before: Flow) -> Flow:
        """Raises ConfigError if the inputs are on different scales."""
        if len(set(before.scales.values())) > 1:
            raise ConfigError(
                f"MaxFusion needs scores on one scale, but {before.scores}.",
                "Fuse by rank instead, with ReciprocalRankFusion.",
            )
        return super().flow(before)

    def fuse(self, rankings: Sequence[Ranking]) -> dict[str, float]:
        best: dict[str, float] = {}
        for ranking in rankings:
            for hit in ranking:
                best[hit.id] = max(hit.score, best.get(hit.id, hit.score))
        return best
