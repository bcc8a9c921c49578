"""Every recipe and every control of it: declared fully, bounded, and able to change a result."""

import itertools
import json
from collections import Counter

import pytest
from helpers.controls import (
    DEFAULTS,
    STAGES,
    every_control,
    every_number,
    every_preset,
    every_recipe,
    run,
    shown,
)
from helpers.fakes import QUESTION
from helpers.looping import for_each

from rag_core.catalog import (
    MAX_PASSAGES,
    RECIPES,
    Choice,
    Number,
    PromptText,
    Switch,
    Templates,
    Weights,
    build,
    describe,
    describe_changes,
)
from rag_core.catalog.setup import set_up_all
from rag_core.pipeline.strategy import Strategy
from rag_core.runtime.context import Context
from rag_core.values.errors import ConfigError


def test_the_seven_strategies_are_there_under_their_own_names():
    assert list(RECIPES) == list(DEFAULTS)
    assert [recipe.name for recipe in RECIPES.values()] == list(RECIPES)


@every_recipe
def test_controls_and_defaults_are_those_of_the_design(recipe):
    assert recipe.name in DEFAULTS, f"write the controls and defaults of {recipe.name} into DEFAULTS"
    declared = {control.name: control.plain(control.parse(control.default)) for control in recipe.controls}
    assert declared == recipe.build().controls == DEFAULTS[recipe.name]
    assert json.loads(json.dumps(recipe.build().controls)) == DEFAULTS[recipe.name]


@every_recipe
def test_the_stages_are_those_of_the_design_with_its_numbers(recipe):
    stages = recipe.build().stages
    assert [(stage.name, stage.kind, shown(stage.params)) for stage in stages] == [
        (stage, kind, {**params, "deduplicate": True} if kind == "retrieve" else params)
        for stage, kind, params in STAGES[recipe.name]
    ]


@every_number
def test_a_number_is_declared_so_that_a_slider_can_be_drawn(recipe, control):
    for reached in (control.default, control.max):
        steps = (reached - control.min) / control.step
        assert steps == pytest.approx(round(steps), abs=1e-9)
    assert control.type == ("int" if control.whole else "float")
    if control.whole:
        assert all(float(x).is_integer() for x in (control.min, control.max, control.step, control.default))
    counts = control.name.startswith("k_") or control.name == "m_per_query"
    assert control.unit == ("passages" if counts else "")
    assert (control.max == MAX_PASSAGES) == counts


@pytest.mark.parametrize("search_type", ["bm25", "vector", "hybrid"])
def test_two_weights_of_nothing_are_refused_where_they_act(search_type):
    values = {"search_type": search_type, "vector_weight": 0, "bm25_weight": 0}
    if search_type == "hybrid":
        with pytest.raises(ConfigError, match="Set at least one above 0"):
            build(("contextual", values))
    else:
        assert build(("contextual", values)).controls["vector_weight"] == 0


@pytest.mark.parametrize(
    ("control", "value", "gone"),
    [
        ("alpha", 1, "LlmRerank"),
        ("theta", 0, "Threshold"),
        ("judge", False, "Blend"),
        ("rerank", False, "Rerank"),
    ],
)
def test_an_end_of_a_control_takes_its_stage_out(control, value, gone):
    assert gone in [stage.name for stage in build("rag_msr").stages]
    assert gone not in [stage.name for stage in build(("rag_msr", {control: value})).stages]


def test_lambda_one_orders_the_pool_by_the_cosine_to_the_question(full):
    """Seed 002: 1.0 is pure relevance; RRF's order is another."""
    trace = run(full, RECIPES["hybrid_rrf"], mmr_lambda=1, k_final=10)
    pool = trace.steps[2].after.ranking
    (question,) = Context(full).embed((QUESTION,))
    cosines = dict(zip([hit.id for hit in pool], full.index.vectors([hit.id for hit in pool]) @ question, strict=True))
    assert [hit.id for hit in trace.ranking] == sorted(cosines, key=lambda one: -cosines[one])
    assert [hit.id for hit in trace.ranking] != [hit.id for hit in pool]


def test_without_mmr_the_order_of_rrf_stands(full):
    trace = run(full, RECIPES["hybrid_rrf"], mmr=False, k_final=10)
    assert [step.stage for step in trace.steps] == [
        "Bm25 ∥ Dense",
        "ReciprocalRankFusion",
        "Top",
        "Top",
        "Generate",
    ]
    assert [hit.id for hit in trace.ranking] == [hit.id for hit in trace.steps[2].after.ranking]
    assert {hit.scale for hit in trace.ranking} == {"rrf"}


@every_preset
def test_a_preset_is_a_setting_that_answers(full, recipe, preset):
    trace = run(full, recipe, **preset.values)
    assert {name: trace.controls[name] for name in preset.values} == preset.values
    assert len(trace.ranking) > 0
    assert not trace.answer.abstained


@pytest.mark.parametrize(
    ("preset", "stages"),
    [
        ("raw", ["Dense", "Top", "Generate"]),
        ("reformulation only", ["AnalyseQuery", "Rewrite", "Dense", "MaxFusion", "Top", "Generate"]),
        ("reranking only", ["Dense", "Rerank", "Top", "Top", "Generate"]),
        ("origin", ["AnalyseQuery", "Rewrite", "Dense", "Rerank", "Top", "MaxFusion", "Top", "Generate"]),
        ("full", [stage for stage, _, _ in STAGES["rag_msr"]]),
    ],
)
def test_the_ablations_of_rag_msr_leave_out_what_they_say(preset, stages):
    (values,) = [each.values for each in RECIPES["rag_msr"].presets if each.name == preset]
    assert [stage.name for stage in build(("rag_msr", values)).stages] == stages


@every_recipe
def test_the_declared_calls_are_those_that_are_made(full, recipe):
    trace = run(full, recipe)
    made = [call.purpose for call in trace.calls if call.of_language_model]
    counted = {purpose: made.count(purpose) for purpose in dict.fromkeys(made)}
    assert counted == dict(recipe.calls)


@every_recipe
def test_no_switch_or_choice_makes_more_calls_than_are_declared(full, recipe):
    settings = {
        control.name: control.choices if isinstance(control, Choice) else (False, True)
        for control in recipe.controls
        if isinstance(control, Choice | Switch)
    }
    most: Counter[str] = Counter()
    for values in itertools.product(*settings.values()):
        trace = run(full, recipe, **dict(zip(settings, values, strict=True)))
        most |= Counter(call.purpose for call in trace.calls if call.of_language_model)
    assert most == (recipe.most_calls or recipe.calls)


def test_no_two_strategies_have_one_title_or_fingerprint():
    assert len({recipe.title for recipe in RECIPES.values()}) == len(RECIPES)
    assert len({recipe.build().fingerprint for recipe in RECIPES.values()}) == len(RECIPES)


@every_recipe
def test_an_unknown_control_is_refused_with_those_there_are(recipe):
    with pytest.raises(ConfigError) as refused:
        recipe.build(k_finale=3)
    assert refused.value.message == f"{recipe.name} has no control 'k_finale'."
    assert refused.value.next_step == f"Its controls: {', '.join(DEFAULTS[recipe.name])}."


@pytest.mark.parametrize("name", ["", "hybrid", "HYBRID_RRF", "no such"])
def test_an_unknown_strategy_is_refused_with_those_there_are(name):
    with pytest.raises(ConfigError) as refused:
        build(name)
    assert refused.value.message == f"There is no strategy {name!r}."
    assert refused.value.next_step == f"Strategies: {', '.join(RECIPES)}."


def test_choosing_nothing_is_refused():
    with pytest.raises(ConfigError, match="No strategy was chosen"):
        set_up_all([])


def test_control_values_can_be_added_but_not_to_a_built_strategy():
    assert build("bm25", k1=1.2) == build(("bm25", {"k1": 1.2}))
    assert build(("bm25", {"k1": 1.2, "b": 0.5}), k1=2) == build(("bm25", {"k1": 2, "b": 0.5}))
    with pytest.raises(ConfigError, match="bm25 is already built, so its controls cannot be set"):
        build(build("bm25"), k1=1.2)


def test_a_strategy_can_be_chosen_by_name_with_values_or_built():
    built = build("bm25")
    strategies = [one.strategy for one in set_up_all(["bm25", ("bm25", {"k1": "0.5"}), built])]
    assert [strategy.controls["k1"] for strategy in strategies] == [1.5, 0.5, 1.5]
    assert strategies[2] is built
    assert isinstance(built, Strategy)


@every_recipe
def test_a_recipe_as_json_has_the_fields_of_the_design(recipe):
    told = json.loads(json.dumps(recipe.as_json()))
    assert {"name", "title", "source", "stages", "controls"} <= set(told)
    assert [(stage["stage"], stage["kind"]) for stage in told["stages"]] == [
        (stage, kind) for stage, kind, _ in STAGES[recipe.name]
    ]
    assert {control["name"]: control["default"] for control in told["controls"]} == DEFAULTS[recipe.name]
    assert [preset["values"] for preset in told["presets"]] == [preset.values for preset in recipe.presets]
    assert (told["helps"], told["hurts"], told["calls"]) == (recipe.helps, recipe.hurts, recipe.calls)


FIELDS = ["name", "label", "type", "default", "min", "max", "step", "unit", "choices", "help"]


@every_control
def test_a_control_as_json_has_every_field_and_null_where_it_does_not_apply(recipe, control):
    told = json.loads(json.dumps(control.as_json()))
    assert list(told) == FIELDS
    assert (told["name"], told["type"], told["help"]) == (control.name, control.type, control.help)
    assert told["label"] == control.title
    assert control.label, "every built-in control has a name that people know"
    span = (told["min"], told["max"], told["step"])
    match control:
        case Number():
            assert (*span, told["unit"]) == (control.min, control.max, control.step, control.unit)
            assert told["choices"] is None
        case Switch():
            assert (*span, told["choices"]) == (None,) * 4
        case Choice():
            assert (*span, told["choices"]) == (None, None, None, list(control.choices))
        case Weights():
            assert (*span, told["choices"]) == (0.0, control.max, 0.05, None)
        case Templates():
            assert (*span, told["choices"]) == (None, None, None, [one.name for one in control.ready])
        case PromptText():
            assert (*span, told["choices"]) == (None,) * 4
        case _:
            pytest.fail(f"write what a {type(control).__name__} prints")


@for_each(
    ("chosen", "changes"),
    [
        ("hybrid_rrf", ""),
        (("hybrid_rrf", {"mmr_lambda": 0.3, "k_final": "8"}), "λ 0.3, passages used 8"),
        (build("hybrid_rrf"), ""),
        (build(("hybrid_rrf", {"mmr_lambda": 0.3})), "λ 0.3"),
        (("contextual", {"rerank": True, "enriched": False}), "passages with context off, reranking on"),
        (("contextual", {"search_type": "bm25", "rrf_k": 5}), "search by bm25"),  # rrf_k does nothing there
        ("rag_msr@raw", "reformulations none, reranking off, relevance judge off"),
        (
            ("multi_query", {"templates": ["standalone", {"name": "mine", "text": "{question}?"}]}),
            "rewriting templates standalone + mine (custom text)",
        ),
        (("multi_query", {"weighting": "custom", "query_weights": [1, 0.5]}),
         "weights of the rewrites custom, custom weights 1 / 0.5"),
        (("hybrid_rrf", {"gone": 3, "rrf_k": 9999}), "RRF k 9999, gone 3"),  # stored by an older version
        (Strategy("mine", build("bm25").stages, {"k": 1}), ""),
    ],
)  # fmt: skip
def test_what_differs_from_the_defaults_in_a_few_words(chosen, changes):
    assert describe_changes(chosen) == changes
    name = chosen.name if isinstance(chosen, Strategy) else chosen if isinstance(chosen, str) else chosen[0]
    name = name.partition("@")[0]
    title = RECIPES[name].title if name in RECIPES else name
    assert describe(chosen) == (f"{title} · {changes}" if changes else title)
