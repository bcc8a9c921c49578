"""Settings computed together end with the rankings that each has alone."""

import dataclasses
import itertools
import random

import pytest

from rag_core.catalog import RECIPES
from rag_core.pipeline import together
from rag_core.pipeline.strategy import Strategy
from rag_core.pipeline.together import gather
from rag_core.runtime.run import Run
from rag_core.runtime.services import Services
from rag_core.stages import (
    Bm25,
    Dense,
    MaxFusion,
    Mmr,
    ReciprocalRankFusion,
    Rerank,
    Retrieve,
    Spread,
    Stage,
    Threshold,
    Top,
    WeightedFusion,
)

QUESTIONS = ("Do cats sleep?", "cats dogs ducks hens horses in winter", "Where do dogs rest?", "xylophone")


def differing(strategies: list[Strategy], services: Services) -> int:
    """How many of the strategies were computed together; every ranking is compared."""
    gathered, alone = gather(strategies)
    places = [place for settings in gathered for place in settings.places]
    assert sorted([*places, *alone]) == list(range(len(strategies))), "each setting once"
    for question in QUESTIONS:
        for settings in gathered:
            outcome = settings.run(question, services, Run())
            assert len(set(outcome.rankings)) == len(outcome.rankings)
            for place, which in zip(settings.places, outcome.which, strict=True):
                trace = strategies[place].run(question, services)
                expected = [hit.passage.id for hit in trace.ranking]
                assert [passage.id for passage in outcome.rankings[which]] == expected
                assert len(outcome.calls) == len(trace.calls)
    return len(places)


def hybrid(bm25: int, dense: int, *after: Stage, enriched: bool = False) -> Strategy:
    return Strategy("x", (Retrieve((Bm25(k=bm25, enriched=enriched), Dense(k=dense, enriched=enriched))), *after))


@pytest.mark.parametrize("enriched", [False, True])
def test_fusion_cuts_and_mmr(full, enriched):
    """Word counts as vectors: many passages tie, in their scores and in their likeness."""
    draw = random.Random(7)
    depths, weights = (1, 2, 3, 5, 9, 40), (0.0, 0.3, 1.0)
    built = []
    for _ in range(120):
        weighed = draw.choice([(("bm25", draw.choice(weights)), ("dense", draw.choice(weights[1:]))), ()])
        fuse = ReciprocalRankFusion(draw.choice((0, 1, 60)), weighed)
        mmr = Mmr(draw.choice(depths), draw.choice((0.0, 0.1, 0.5, 0.7, 1.0)))
        tails = [(), (Top(draw.choice(depths)),), (mmr,), (Top(draw.choice(depths)), mmr), (mmr, Top(2))]
        built.append(hybrid(draw.choice(depths), draw.choice(depths), fuse, *draw.choice(tails), enriched=enriched))
    assert differing(list(dict.fromkeys(built)), full) == len(dict.fromkeys(built))


@pytest.mark.parametrize("name", ["simple_semantic", "bm25", "hyde", "contextual", "hybrid_rrf", "rag_msr"])
def test_the_strategies_of_the_catalogue(name, full):
    ks = {"k_final": (1, 2, 7)}
    if name == "contextual":
        ks |= {"search_type": ("bm25", "vector", "hybrid"), "rerank": (True, False)}  # type: ignore[dict-item]
    built = [
        RECIPES[name].build(**dict(zip(ks, values, strict=True))).without_answer()
        for values in itertools.product(*ks.values())
    ]
    built = list(dict.fromkeys(built))
    gathered = {"contextual": len(built) // 2, "rag_msr": 0}.get(name, len(built))
    assert differing(built, full) == gathered


@pytest.mark.parametrize(
    "stages",
    [
        (Retrieve((Dense(k=5),)), Threshold(0.1)),
        (Retrieve((Dense(k=5),)), Spread()),
        (Retrieve((Dense(k=5),)), Mmr(4), Mmr(2)),
        (Retrieve((Dense(k=5), Bm25(k=5))), ReciprocalRankFusion(), Rerank()),
        (Retrieve((Dense(k=5), Dense(k=5, enriched=True))), MaxFusion()),
        (Retrieve((Dense(k=5), Dense(k=5, enriched=True))), WeightedFusion()),
        (Retrieve((Dense(k=5), Dense(k=5, enriched=True), Bm25(k=5))), ReciprocalRankFusion()),
    ],
)
def test_other_stages_run_alone(stages):
    assert gather([Strategy("x", stages)]) == ([], [0])


def test_a_stage_that_overrides_one_runs_alone():
    @dataclasses.dataclass(frozen=True)
    class Reversed(Top):
        """The first k, last first."""

    assert gather([Strategy("x", (Retrieve((Dense(k=5),)), Reversed(3)))]) == ([], [0])


def test_fewer_hits_than_wanted(full):
    built = [Strategy("x", (Retrieve((Bm25(k=40),)), Mmr(k, 0.5))) for k in (1, 40)]
    assert differing(built, full) == 2


def test_many_settings_are_divided(full, monkeypatch):
    monkeypatch.setattr(together, "MOST", 4)
    built = [hybrid(9, 9, ReciprocalRankFusion(k)) for k in range(10)]
    gathered, _ = gather(built)
    assert [len(settings.places) for settings in gathered] == [4, 4, 2]
    assert differing(built, full) == 10


def test_settings_search_once(full):
    built = [hybrid(bm25, dense, ReciprocalRankFusion()) for bm25 in (1, 4) for dense in (2, 3)]
    ((settings,), _) = gather(built)
    (search,) = settings.search.stages
    assert search == Retrieve((Bm25(k=4), Dense(k=3)))
