import os
import random
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from helpers.controls import every_recipe, retrieve
from helpers.questions import random_questions, random_values
from helpers.silenced import silenced

from rag_core.catalog import RECIPES, Choice, Control, Number, Switch, Weights
from rag_core.explain import ControlTips, Tuner, tipping_points
from rag_core.explain.tipping import ANSWER_ONLY, CALLS
from rag_core.runtime.services import Services
from rag_core.values.errors import ConfigError
from rag_core.values.trace import Trace

# Settings in which every control that can act does.
SETTINGS: list[tuple[str, dict[str, object]]] = [
    *((name, {}) for name in RECIPES),
    ("hybrid_rrf", {"mmr_lambda": 0.4, "k_rrf_pool": 20}),
    ("multi_query", {"weighting": "custom", "k_per_query": 12}),
    ("multi_query", {"merge": "sum", "k_per_query": 20, "weight_step": 0.3}),
    ("multi_query", {"merge": "first", "k_per_query": 20}),
    ("contextual", {"search_type": "bm25"}),
    ("contextual", {"search_type": "vector"}),
    ("contextual", {"rerank": True, "k_candidates": 12}),
    ("contextual", {"transform": True}),
    ("hybrid_rrf", {"mmr": False, "k_rrf_pool": 20}),
    ("hyde", {"hypotheses": 3}),
    ("rag_msr", {"rerank": False, "k_per_query": 8, "theta": 0.6}),
    ("rag_msr", {"alpha": 1.0}),
    ("rag_msr", {"prompt_set": "improved", "k_per_query": 8, "theta": 0.6}),
    ("ensemble", {"rerank": False, "k_candidates": 20}),
]
# The controls of the defaults that stand after everything a model does.
FREE = {
    "simple_semantic": {"k_final", "deduplicate"},
    "bm25": {"k_final", "k1", "b", "deduplicate"},
    "hyde": {"k_final", "deduplicate"},
    "question_index": {"k_final", "deduplicate"},
    "hybrid_rrf": {
        "k_bm25_candidates", "k_semantic_candidates", "rrf_k", "k_rrf_pool", "mmr", "mmr_lambda", "k_final", "deduplicate",
    },
    "multi_query": {
        "k_per_query", "weighting", "weight_step", "query_weights[1]", "query_weights[2]", "query_weights[3]", "merge", "k_final",
        "deduplicate",
    },
    "contextual": {
        "search_type", "enriched", "k_candidates", "vector_weight", "bm25_weight", "rrf_k", "k_final", "deduplicate",
    },
    "rag_msr": {"judge", "alpha", "theta", "k_final"},
    "ensemble": {"rerank", "asked_weight", "k_final"},
}  # fmt: skip
# The controls that stand before what a model does, or change the answer alone, in all of SETTINGS.
BEFORE_A_MODEL = {
    "simple_semantic": {"answer_prompt"},
    "bm25": {"answer_prompt"},
    "hyde": {"include_question", "hypotheses", "rewriter_temperature", "hyde_prompt", "answer_prompt"},
    "question_index": {"answer_prompt"},
    "hybrid_rrf": {"answer_prompt"},
    "multi_query": {"templates", "rewriter_temperature", "answer_prompt"},
    "contextual": {"transform", "transform_prompt", "answer_prompt"},
    "rag_msr": {
        "prompt_set", "dynamic_analysis", "rewriter_temperature", "k_per_query", "deduplicate", "original_templates",
        "improved_templates", "analysis_prompt", "judge_prompt", "answer_prompt",
    },
    "ensemble": {"templates", "rewriter_temperature", "k_rerank", "answer_prompt"},
}  # fmt: skip
EACH = int(os.environ.get("TIPPING_QUESTIONS", "2"))  # questions of each strategy
DRAWN = 8  # values of each control
settings = pytest.mark.parametrize(("name", "values"), SETTINGS, ids=lambda given: str(given))
Tipped = tuple[Trace, Sequence[ControlTips]]


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(scope="module")
def found() -> dict[str, Tipped]:
    """What `tip` has found: a search for every tipping point takes far longer than what is asked about it."""
    return {}


@pytest.fixture
def tip(full: Services, no_network: None, found: dict[str, Tipped]) -> Callable[..., Tipped]:
    """A result of these settings and its tipping points, found without a model or the network."""

    def of(name: str, values: dict[str, object]) -> Tipped:
        key = f"{name} {values}"
        if key not in found:
            trace = retrieve(full, name, **values)
            found[key] = trace, tipping_points(trace, silenced(full))
        return found[key]

    return of


def used(full: Services, trace: Trace, **values: object) -> set[str]:
    """The passages of a run from scratch."""
    return {hit.id for hit in retrieve(full, trace.strategy, trace.question, **{**trace.controls, **values}).ranking}  # fmt: skip


def moved(tips: ControlTips, value: object, trace: Trace) -> dict[str, object]:
    """The control values in which one control, or one of its weights, has another value."""
    name, bracket, place = tips.control.partition("[")
    if not bracket:
        return {name: value}
    recipe = RECIPES[trace.strategy]
    (control,) = (one for one in recipe.controls if one.name == name)
    wanted = recipe.wanted(control, trace.controls)
    weights = list(control.in_force(trace.controls) if wanted else trace.controls[name])
    weights[int(place.rstrip("]")) - 1] = value
    return {**wanted, name: weights}


@settings
def test_the_passages_change_at_the_value_and_not_before(full, tip, name, values):
    trace, found = tip(name, values)
    now = {hit.id for hit in trace.ranking}
    for tips in found:
        for point in tips.points:
            then = used(full, trace, **moved(tips, point.value, trace))
            assert then != now
            assert {passage.id for _, passage in point.gained} == then - now
            assert {passage.id for _, passage in point.lost} == now - then
            assert used(full, trace, **moved(tips, point.beside, trace)) == now
            if isinstance(point.value, float):
                between = np.linspace(tips.current, point.beside, 5)[1:-1]
                assert all(used(full, trace, **moved(tips, float(one), trace)) == now for one in between)
            elif isinstance(point.value, int) and not isinstance(point.value, bool):
                assert abs(point.value - point.beside) == 1


@settings
def test_a_side_without_a_point_has_no_effect(full, tip, name, values):
    trace, found = tip(name, values)
    now = {hit.id for hit in trace.ranking}
    controls = {control.name: control for control in RECIPES[name].controls}
    for tips in found:
        control = controls[tips.control.partition("[")[0]]
        if tips.why_not or not isinstance(control, Number):
            continue
        for bound, word in ((control.min, "own to"), (control.max, "p to")):
            if f"{word} {bound:g}" in tips.unmoved:
                inner = np.linspace(tips.current, bound, 6)[1:]
                tried = np.unique(inner.round()).astype(int).tolist() if control.whole else inner.tolist()
                for one in tried:
                    assert used(full, trace, **{control.name: one}) == now


@every_recipe
def test_which_controls_move_without_a_model(tip, recipe):
    _, tips = tip(recipe.name, {})
    assert {one.control for one in tips if not one.why_not} == FREE[recipe.name]
    assert {one.why_not for one in tips if one.control not in FREE[recipe.name]} <= {
        CALLS, ANSWER_ONLY, *(recipe.idle(control, recipe.parse_values({})) for control in recipe.controls),
    }  # fmt: skip
    assert {one.control for one in tips if one.why_not == ANSWER_ONLY} == {"answer_prompt"}


@every_recipe
def test_on_random_questions_and_settings_each_point_tips_at_its_value_and_not_beside_it(full, recipe):
    """TIPPING_QUESTIONS=100 asks a hundred questions of each strategy."""
    chosen = random.Random(recipe.name)
    tipped = 0
    for question in random_questions(EACH):
        try:
            trace = retrieve(full, recipe.name, question, **random_values(recipe, chosen))
        except ConfigError:  # values that do not go together
            continue
        now = {hit.id for hit in trace.ranking}
        for tips in tipping_points(trace, silenced(full)):
            for point in tips.points:
                assert used(full, trace, **moved(tips, point.value, trace)) != now
                assert used(full, trace, **moved(tips, point.beside, trace)) == now
                tipped += 1
    assert tipped >= EACH


def test_every_control_moves_without_a_model_in_some_setting_or_stands_before_one(tip):
    for recipe in RECIPES.values():
        free = set()
        for name, values in SETTINGS:
            if name == recipe.name:
                _, tips = tip(name, values)
                free |= {one.control.partition("[")[0] for one in tips if not one.why_not}
        assert {control.name for control in recipe.controls} - free == BEFORE_A_MODEL[recipe.name]


def drawn_values(control: Control, chosen: random.Random) -> list[object]:
    match control:
        case Number():
            drawn = [chosen.uniform(control.min, control.max) for _ in range(DRAWN - 2)]
            inner = [round(one) if control.whole else one for one in drawn]
            return [type(inner[0])(control.min), *inner, type(inner[0])(control.max)]
        case Weights():
            return [[round(chosen.uniform(0.01, control.max), 3) for _ in range(3)] for _ in range(DRAWN)]
        case Switch():
            return [True, False]
        case Choice():
            return list(control.choices)
    return []


@settings
def test_values_of_every_free_control_call_nothing_and_equal_a_run_from_scratch(full, tip, name, values):
    trace, found = tip(name, values)
    chosen = random.Random(name)
    free = {tips.control.partition("[")[0] for tips in found if not tips.why_not}
    assert "k_final" in free
    tuner = Tuner(trace, silenced(full), full)
    for control in RECIPES[name].controls:
        if control.name not in free:
            continue
        told = 0
        for value in drawn_values(control, chosen):
            move = tuner.move({control.name: value})
            assert move.calls == 0
            if move.trace is None:  # such as α below 1 where nothing was judged
                assert move.needs
                continue
            told += 1
            scratch = retrieve(full, name, **{**trace.controls, control.name: value})
            assert move.trace.ranking == scratch.ranking, (control.name, value)
            assert [hit.score for hit in move.trace.ranking] == [hit.score for hit in scratch.ranking]
            assert move.trace.controls == scratch.controls
        assert told >= (1 if isinstance(control, Choice | Switch) else DRAWN)


def test_theta_tips_at_a_score_and_admits_its_passage(full):
    trace = retrieve(full, "rag_msr", theta=0.6, k_final=9)
    scores = {hit.id: hit.score for step in trace.steps if step.stage == "Blend" for hit in step.after.ranking}
    best = max((name for name, value in scores.items() if value < 0.6), key=lambda name: scores[name])
    (theta,) = [tips for tips in tipping_points(trace, full) if tips.control == "theta"]
    below = theta.points[0]
    assert 0 <= scores[best] - below.value < 0.01
    ((rank, passage),) = below.gained
    assert passage.id == best
    assert below.text == f"θ 0.6 → {below.value:g} admits “{passage.full_title}” (rank {rank})"
    assert below.beside > scores[best]


def test_a_k_admits_and_drops_one_passage(full):
    trace = retrieve(full, "bm25")
    (k, *_) = tipping_points(trace, full)
    assert [(point.value, len(point.gained), len(point.lost)) for point in k.points] == [(4, 0, 1), (6, 1, 0)]
    assert k.points[0].text == f"passages used 5 → 4 drops “{trace.ranking.hits[4].passage.full_title}” (rank 5)"


def test_a_result_of_other_models_cannot_be_replayed(full):
    trace = retrieve(full, "bm25")
    with pytest.raises(ConfigError, match="have changed"):
        tipping_points(trace, replace(full, engine={"llm": "another"}))
