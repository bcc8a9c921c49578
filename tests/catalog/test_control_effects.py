"""What each scoring control does, to the digit: scores worked out again from what the stages before it left."""

import itertools
import math
from collections.abc import Mapping

import pytest
from helpers.fakes import QUESTION
from helpers.looping import for_each
from rank_bm25 import BM25Okapi

from rag_core.catalog import build
from rag_core.language.analysis import query_tokens, tokens
from rag_core.runtime.context import Context
from rag_core.runtime.services import Services
from rag_core.stages import Stage
from rag_core.values.trace import Step, Trace
from rag_core.values.types import Ranking

K1_B = [(0.5, 0.75), (1.5, 0.75), (3.0, 0.75), (1.5, 0.0), (1.5, 1.0)]


def run(full: Services, name: str, **values: object) -> Trace:
    return build((name, values)).without_answer().run(QUESTION, full)


def step(trace: Trace, stage: type[Stage] | str) -> Step:
    name = stage if isinstance(stage, str) else stage.__name__
    return next(step for step in trace.steps if step.stage == name)


def scores(ranking: Ranking) -> dict[str, float]:
    return {hit.id: hit.score for hit in ranking}


def reciprocal(rankings: tuple[Ranking, ...], k: int, weights: Mapping[str, float]) -> dict[str, float]:
    """Σ weight / (k + rank), rank from 1, worked out from the rankings and who made them."""
    found: dict[str, float] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            found[hit.id] = found.get(hit.id, 0.0) + weights[ranking.retriever] / (k + rank)
    return found


@for_each(("k1", "b"), K1_B)
def test_k1_and_b_are_those_of_rank_bm25(full, k1, b):
    trace = run(full, "bm25", k1=k1, b=b, k_final=42)
    passages = [hit.passage for hit in full.index.lexical("cats dogs question", 100, 1.5, 0.75)]
    assert len(passages) == 42, "the whole collection"
    reference = BM25Okapi([tokens(one.indexed_text, one.language) for one in passages], k1=k1, b=b)
    asked = query_tokens(QUESTION, ["en", "es"])
    expected = dict(zip((p.id for p in passages), reference.get_scores(asked), strict=True))
    assert scores(trace.ranking) == pytest.approx({hit.id: expected[hit.id] for hit in trace.ranking})


@for_each(("name", "k"), itertools.product(["hybrid_rrf", "contextual"], [0, 7, 60, 200]))
def test_rrf_k_is_added_to_every_rank(full, name, k):
    trace = run(full, name, rrf_k=k)
    weights = {"bm25": 0.4, "dense": 0.6} if name == "contextual" else {"bm25": 1.0, "dense": 1.0}
    expected = reciprocal(trace.steps[0].after.rankings, k, weights)
    assert scores(step(trace, "ReciprocalRankFusion").after.ranking) == pytest.approx(expected, abs=1e-15)


WEIGHTINGS: list[tuple[dict[str, object], tuple[float, float, float]]] = [
    ({"weighting": "linear"}, (1.0, 0.95, 0.9)),
    ({"weighting": "linear", "weight_step": 0.3}, (1.0, 0.7, 0.4)),
    ({"weighting": "exponential"}, (1.0, 0.9, 0.81)),
    ({"weighting": "equal"}, (1.0, 1.0, 1.0)),
    ({"weighting": "custom", "query_weights": [0.2, 1.5, 0.7]}, (0.2, 1.5, 0.7)),
]


@for_each(
    ("values", "weights", "merge"), [(*one, merge) for one in WEIGHTINGS for merge in ("max", "first", "sum")]
)
def test_each_weight_of_multi_query_is_its_own_rewrites(full, values, weights, merge):
    trace = run(full, "multi_query", merge=merge, k_per_query=15, **values)
    parts: dict[str, list[float]] = {}
    for weight, ranking in zip(weights, step(trace, "Dense").after.rankings, strict=True):
        for hit in ranking:
            parts.setdefault(hit.id, []).append(weight * max(0.0, hit.score))
    assert any(len(part) > 1 for part in parts.values())
    combine = {"max": max, "first": lambda part: part[0], "sum": math.fsum}[merge]
    expected = {name: combine(part) for name, part in parts.items()}
    assert scores(step(trace, "WeightedFusion").after.ranking) == pytest.approx(expected, abs=1e-12)


@for_each("alpha", [0.0, 0.25, 0.4, 0.9, 1.0])
def test_alpha_is_the_share_of_the_cosine_and_the_rest_the_judges(full, alpha):
    trace = run(full, "rag_msr", alpha=alpha, theta=0, k_final=9)
    (question,) = Context(full).embed((QUESTION,))
    judged = step(trace, "LlmRerank").after.ranking if alpha < 1 else None
    judge = scores(judged) if judged else {}
    for hit in trace.ranking:
        cosine = float(full.index.vectors([hit.id])[0] @ question)
        expected = alpha * cosine + (1 - alpha) * judge.get(hit.id, 0.0)
        assert hit.score == pytest.approx(expected, abs=1e-6)
