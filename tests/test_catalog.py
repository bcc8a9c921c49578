"""Every recipe and every control of it: declared fully, bounded, and able to change a result."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pytest

from rag_core.catalog import MAX_PASSAGES, RECIPES, Control, Recipe, build, build_all
from rag_core.context import Context, Once
from rag_core.errors import ConfigError
from rag_core.strategy import Strategy
from rag_core.trace import Trace

# Design 2.3: control -> default.
DEFAULTS: Mapping[str, Mapping[str, float]] = {
    "simple_semantic": {"k_final": 5},
    "bm25": {"k_final": 5, "k1": 1.5, "b": 0.75},
    "hybrid_rrf": {
        "k_bm25_candidates": 15,
        "k_semantic_candidates": 15,
        "rrf_k": 60,
        "k_rrf_pool": 10,
        "mmr_lambda": 0.7,
        "k_final": 5,
    },
}
# Design 2.3: dense → answer; lexical → answer; lexical ∥ dense → RRF → pool → MMR → answer.
STAGES = {
    "simple_semantic": [("Dense", "retrieve"), ("Write", "answer")],
    "bm25": [("Bm25", "retrieve"), ("Write", "answer")],
    "hybrid_rrf": [
        ("Bm25 ∥ Dense", "retrieve"),
        ("Rrf", "fuse"),
        ("Top", "select"),
        ("Mmr", "select"),
        ("Write", "answer"),
    ],
}


@dataclass(frozen=True)
class Move:
    """A control's other value, a question, and what of the result must then differ."""

    value: float
    differs: str
    question: str = "Do cats sleep in the house with dogs?"


MOVES: Mapping[tuple[str, str], Move] = {
    ("simple_semantic", "k_final"): Move(2, "membership"),
    ("bm25", "k_final"): Move(2, "membership"),
    ("bm25", "k1"): Move(0.0, "scores"),
    ("bm25", "b"): Move(0.0, "scores"),
    ("hybrid_rrf", "k_bm25_candidates"): Move(1, "votes"),
    ("hybrid_rrf", "k_semantic_candidates"): Move(1, "scores"),
    ("hybrid_rrf", "rrf_k"): Move(0, "scores"),
    ("hybrid_rrf", "k_rrf_pool"): Move(2, "membership"),
    ("hybrid_rrf", "mmr_lambda"): Move(0.0, "order"),
    ("hybrid_rrf", "k_final"): Move(2, "membership"),
}
SEEN: Mapping[str, Callable[[Trace], object]] = {
    "membership": lambda trace: {hit.id for hit in trace.ranking},
    "order": lambda trace: [hit.id for hit in trace.ranking],
    "scores": lambda trace: {hit.id: hit.score for hit in trace.ranking},
    "votes": lambda trace: {hit.id: hit.votes for hit in trace.ranking},
}

CONTROLS = [(recipe, control) for recipe in RECIPES.values() for control in recipe.controls]
every_recipe = pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
every_control = pytest.mark.parametrize(
    ("recipe", "control"), CONTROLS, ids=[f"{recipe.name}.{control.name}" for recipe, control in CONTROLS]
)


def test_the_three_strategies_are_there_under_their_own_names():
    assert set(DEFAULTS) <= set(RECIPES)
    assert [recipe.name for recipe in RECIPES.values()] == list(RECIPES)


@every_recipe
def test_a_recipe_says_what_it_is_and_where_it_comes_from(recipe: Recipe):
    for line in (recipe.title, recipe.summary, recipe.source):
        assert line.strip() == line != ""
        assert "\n" not in line
    assert len({other.title for other in RECIPES.values()}) == len(RECIPES)


@every_recipe
def test_controls_and_defaults_are_those_of_the_design(recipe: Recipe):
    assert recipe.name in DEFAULTS, f"write the controls and defaults of {recipe.name} into DEFAULTS"
    assert {control.name: control.default for control in recipe.controls} == DEFAULTS[recipe.name]
    assert recipe.build().controls == DEFAULTS[recipe.name]


@every_recipe
def test_the_stages_are_those_of_the_design(recipe: Recipe):
    assert recipe.name in STAGES, f"write the stages of {recipe.name} into STAGES"
    assert [(stage.name, stage.kind) for stage in recipe.build().stages] == STAGES[recipe.name]


@every_recipe
def test_the_defaults_reach_the_stages(recipe: Recipe):
    # Design 2.3's numbers, written out per stage.
    expected = {
        "simple_semantic": [{"retrievers": [{"retriever": "Dense", "k": 5}]}, {}],
        "bm25": [{"retrievers": [{"retriever": "Bm25", "k": 5, "k1": 1.5, "b": 0.75}]}, {}],
        "hybrid_rrf": [
            {
                "retrievers": [
                    {"retriever": "Bm25", "k": 15, "k1": 1.5, "b": 0.75},
                    {"retriever": "Dense", "k": 15},
                ]
            },
            {"k": 60},
            {"k": 10},
            {"k": 5, "relevance": 0.7},
            {},
        ],
    }
    assert [stage.params for stage in recipe.build().stages] == expected[recipe.name]


@every_control
def test_a_control_is_declared_so_that_a_slider_can_be_drawn(recipe: Recipe, control: Control):
    assert control.min <= control.default <= control.max
    assert control.min < control.max
    assert control.step > 0
    for reached in (control.default, control.max):
        steps = (reached - control.min) / control.step
        assert steps == pytest.approx(round(steps), abs=1e-9)
    assert control.help.strip() != ""
    assert "\n" not in control.help
    assert control.type in {"int", "float"}
    if control.type == "int":
        assert all(float(x).is_integer() for x in (control.min, control.max, control.step, control.default))
    assert control.unit == ("passages" if control.name.startswith("k_") else "")


@every_control
def test_both_ends_of_a_control_are_allowed_and_reach_the_strategy(recipe: Recipe, control: Control):
    for value in (control.min, control.max):
        assert recipe.build(**{control.name: value}).controls[control.name] == value
        assert recipe.build(**{control.name: f"{value:g}"}).controls[control.name] == value


OUTSIDE = {
    "below": lambda control: control.min - control.step,
    "above": lambda control: control.max + control.step,
    "infinite": lambda control: math.inf,
    "not a number": lambda control: math.nan,
    "text": lambda control: "many",
    "empty": lambda control: "",
    "None": lambda control: None,
    "True": lambda control: True,
    "a list": lambda control: [5],
}


@pytest.mark.parametrize("outside", OUTSIDE.values(), ids=OUTSIDE)
@every_control
def test_a_value_out_of_bounds_is_refused_with_the_bounds(recipe: Recipe, control: Control, outside):
    value = outside(control)
    with pytest.raises(ConfigError) as refused:
        recipe.build(**{control.name: value})
    kind = "a whole number" if control.type == "int" else "a number"
    bounds = f"from {control.min:g} to {control.max:g}"
    assert refused.value.message == f"{control.name} must be {kind} {bounds}, not {value!r}."
    assert refused.value.next_step == f"Its default is {control.default:g}."


def test_the_message_reads_as_a_sentence():
    with pytest.raises(ConfigError) as refused:
        build(("hybrid_rrf", {"k_final": 0}))
    assert str(refused.value) == "k_final must be a whole number from 1 to 100, not 0. Its default is 5."
    assert MAX_PASSAGES == 100


@every_control
def test_a_fraction_is_refused_where_a_whole_number_is_asked(recipe: Recipe, control: Control):
    value = control.default + 0.5 * control.step
    if control.type == "float":
        assert recipe.build(**{control.name: value}).controls[control.name] == value
    else:
        with pytest.raises(ConfigError, match="must be a whole number"):
            recipe.build(**{control.name: value})


@every_control
def test_values_have_the_controls_type(recipe: Recipe, control: Control):
    value = recipe.build(**{control.name: f"{control.default:g}"}).controls[control.name]
    assert type(value) is {"int": int, "float": float}[control.type]


@every_control
def test_moving_a_control_changes_the_result(ctx: Context, recipe: Recipe, control: Control):
    case = (recipe.name, control.name)
    assert case in MOVES, (
        f"add to MOVES a value of {'.'.join(case)} that changes a result, and what it changes"
    )
    move = MOVES[case]
    before, after = (
        recipe.build(**values).run(move.question, replace(ctx, shared=Once()))
        for values in ({}, {control.name: move.value})
    )
    seen = SEEN[move.differs]
    assert move.value != control.default
    assert seen(before) != seen(after)
    again = recipe.build().run(move.question, replace(ctx, shared=Once()))
    assert seen(before) == seen(again)


def test_no_case_stands_for_a_control_that_is_gone():
    assert set(MOVES) == {(recipe.name, control.name) for recipe, control in CONTROLS}


@every_control
def test_moving_a_control_changes_the_fingerprint_and_setting_its_default_does_not(
    recipe: Recipe, control: Control
):
    other = control.max if control.default != control.max else control.min
    plain = recipe.build().fingerprint
    assert recipe.build(**{control.name: other}).fingerprint != plain
    assert recipe.build(**{control.name: control.default}).fingerprint == plain
    assert recipe.build(**{control.name: str(control.default)}).fingerprint == plain


def test_all_strategies_have_different_fingerprints():
    assert len({recipe.build().fingerprint for recipe in RECIPES.values()}) == len(RECIPES)


@every_recipe
def test_an_unknown_control_is_refused_with_those_there_are(recipe: Recipe):
    with pytest.raises(ConfigError) as refused:
        recipe.build(k_finale=3)
    assert refused.value.message == f"{recipe.name} has no control 'k_finale'."
    assert refused.value.next_step == f"Its controls: {', '.join(DEFAULTS[recipe.name])}."


@pytest.mark.parametrize("name", ["", "hybrid", "HYBRID_RRF", "no such"])
def test_an_unknown_strategy_is_refused_with_those_there_are(name: str):
    with pytest.raises(ConfigError) as refused:
        build(name)
    assert refused.value.message == f"There is no strategy {name!r}."
    assert refused.value.next_step == f"Strategies: {', '.join(RECIPES)}."


def test_choosing_nothing_is_refused():
    with pytest.raises(ConfigError, match="No strategy was chosen"):
        build_all([])


def test_a_strategy_can_be_chosen_by_name_with_values_or_built():
    built = build("bm25")
    strategies = build_all(["bm25", ("bm25", {"k1": "0.5"}), built])
    assert [strategy.controls["k1"] for strategy in strategies] == [1.5, 0.5, 1.5]
    assert strategies[2] is built
    assert isinstance(built, Strategy)


@every_recipe
def test_a_recipe_as_json_has_the_fields_of_the_design(recipe: Recipe):
    shown = json.loads(json.dumps(recipe.as_json()))
    assert {"name", "title", "source", "stages", "controls"} <= set(shown)
    assert [(stage["stage"], stage["kind"]) for stage in shown["stages"]] == STAGES[recipe.name]
    for control, declared in zip(shown["controls"], recipe.controls, strict=True):
        assert {"name", "type", "default", "min", "max", "step", "help"} <= set(control)
        assert {name: control[name] for name in control} == {
            name: getattr(declared, name) for name in control
        }
