"""Making one ranking of several."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from ..runtime.context import Context
from ..values.errors import ConfigError
from ..values.types import Query, Ranking, Scale, State
from .base import Flow, FusionStage

Weighting = Literal["linear", "exponential", "equal", "custom"]
Combine = Literal["max", "first", "sum"]
DECAY = 0.9  # of the exponential weights: Multi-Query Rewriter RAG, Query Weighting Strategy


@dataclass(frozen=True)
class ReciprocalRankFusion(FusionStage):
    """Reciprocal rank fusion: score(d) = Σ over rankings of weight / (k + rank), rank from 1.

    Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods", SIGIR 2009, who use k = 60. Query System with Contextual Retrieval, Rank Fusion, writes
    weight / (k + rank + 1) with ranks from 0, which is the same number.

    Args:
        k: >= 0; the larger, the less the first ranks stand out.
        weights: (retriever, weight >= 0) pairs; a retriever that is not named has weight 1. A ranking counts
            with its retriever's weight times its query's. A retriever of weight 0 is left out as if it had
            not searched.

    Example:
        >>> from rag_core.testing import ranking_of
        >>> bm25, dense = ranking_of({"a": 9.0, "b": 4.0}), ranking_of({"b": 0.8, "c": 0.7})
        >>> fused = ReciprocalRankFusion(k=60).fuse([bm25, dense])
        >>> {name: round(score, 5) for name, score in fused.items()}  # b: 1/62 + 1/61
        {'a': 0.01639, 'b': 0.03252, 'c': 0.01613}
    """

    scale: ClassVar[Scale] = "rrf"
    k: int = 60
    weights: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        if self.k < 0:
            raise ConfigError(f"ReciprocalRankFusion: k must be at least 0, not {self.k}.")
        if any(weight < 0 for _, weight in self.weights):
            raise ConfigError(
                "ReciprocalRankFusion: a weight must not be negative.", "Raise it to 0 or more."
            )

    def flow(self, before: Flow) -> Flow:
        """One ranking of reciprocal ranks.

        Raises:
            ConfigError: a weight belongs to no retriever before it, or every weight is 0.
        """
        weights, searched = dict(self.weights), ", ".join(before.scales)
        for name in weights:
            if name not in before.scales:
                raise ConfigError(
                    f"ReciprocalRankFusion has a weight for {name}, but the retrievers before it are {searched}.",
                    "Name one of them.",
                )
        if not any(weights.get(name, 1.0) for name in before.scales):
            raise ConfigError(
                f"ReciprocalRankFusion: of the weights of {searched}, one must be above 0.",
                "Raise one of them.",
            )
        return super().flow(before)

    def fuse(self, rankings: Sequence[Ranking]) -> dict[str, float]:
        """Passage id -> Σ weight / (k + rank)."""
        shares: dict[str, list[float]] = defaultdict(list)
        weights = dict(self.weights)
        for ranking in rankings:
            weight = weights.get(ranking.retriever, 1.0) * ranking.query.weight
            if weight > 0:
                for rank, hit in enumerate(ranking, start=1):
                    shares[hit.id].append(weight / (self.k + rank))
        # fsum rounds once, so that equal ranks in another order of the lists are a tie
        return {identity: math.fsum(parts) for identity, parts in shares.items()}


@dataclass(frozen=True)
class WeightedFusion(FusionStage):
    """Weighted merge of the rewrites' cosines: score(d) = combine over queries of weight · max(0, cos).

    Multi-Query Rewriter RAG, Core Processing Function: later, more speculative rewrites weigh less. The weight goes by the place of the rewrite's
    template, from 0: linear 1 − step · place; exponential 0.9^place; equal 1; custom as given. A rewrite
    keeps its weight when another one failed. That function keeps the score of the first query that found a
    passage (`first`), which lets a weak early match hide a strong later one; `max` is the default here.

    Args:
        step: of the linear weights, >= 0.
        weights: the custom ones, in the order of the templates, >= 0; those that are missing are 1.
        combine: max, first, or sum over the queries that found the passage.

    Example:
        >>> from rag_core.testing import ranking_of
        >>> [WeightedFusion(step=0.05).weight(place) for place in range(3)]
        [1.0, 0.95, 0.9]
        >>> found = [ranking_of({"a": 0.8}), ranking_of({"a": 0.9, "b": 0.6}, weight=0.95)]
        >>> fused = WeightedFusion(combine="max").fuse(found)
        >>> {name: round(score, 3) for name, score in fused.items()}  # a: max(1 · 0.8, 0.95 · 0.9)
        {'a': 0.855, 'b': 0.57}
    """

    scale: ClassVar[Scale] = "weighted_cosine"  # a sum of them may exceed 1
    weighting: Weighting = "linear"
    step: float = 0.05
    weights: tuple[float, ...] = ()
    combine: Combine = "max"

    def flow(self, before: Flow) -> Flow:
        """One ranking of weighted cosines.

        Raises:
            ConfigError: something else than cosines would be weighted.
        """
        if set(before.scales.values()) != {"cosine"}:
            raise ConfigError(
                f"WeightedFusion weighs cosines, but {before.scores}.",
                "Fuse them by rank, with ReciprocalRankFusion.",
            )
        return super().flow(before)

    def __call__(self, state: State, ctx: Context) -> State:
        """The queries get their weights, then their rankings are merged."""

        def weighted(query: Query) -> Query:
            return replace(query, weight=self.weight(query.template_index))

        rankings = tuple(replace(ranking, query=weighted(ranking.query)) for ranking in state.rankings)
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
class MaxFusion(FusionStage):
    """score(d) = the best score of d in any ranking; all rankings must be on one scale. RAG-MSR's README names no rule.

    Example:
        >>> from rag_core.testing import ranking_of
        >>> MaxFusion().fuse([ranking_of({"a": 0.8, "b": 0.5}), ranking_of({"b": 0.7})])
        {'a': 0.8, 'b': 0.7}
    """

    def flow(self, before: Flow) -> Flow:
        """One ranking on the scale of those before it.

        Raises:
            ConfigError: they are on different scales.
        """
        if len(set(before.scales.values())) > 1:
            raise ConfigError(
                f"MaxFusion compares scores of one scale, but {before.scores}.",
                "Fuse them by rank, with ReciprocalRankFusion.",
            )
        return super().flow(before)

    def fuse(self, rankings: Sequence[Ranking]) -> dict[str, float]:
        """Passage id -> max score."""
        best: dict[str, float] = {}
        for ranking in rankings:
            for hit in ranking:
                best[hit.id] = max(hit.score, best.get(hit.id, hit.score))
        return best
