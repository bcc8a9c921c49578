import dataclasses
import json
from collections.abc import Callable

from helpers.controls import every_control, every_recipe
from helpers.fakes import rewritten, talker
from helpers.looping import for_each

from rag_core import evaluation as ev
from rag_core.catalog import (
    RECIPES,
    Choice,
    Control,
    Number,
    PromptText,
    Switch,
    Templates,
    Weights,
    format_value,
)
from rag_core.documents.benchmark import Benchmark, Question
from rag_core.runtime.services import Services
from rag_core.values.settings import read_settings

NDCG = ev.parse_metric("ndcg@10")
OWN = {"name": "plainly", "text": "Say it plainly, please: {question}"}
QUESTIONS = tuple(
    Question(f"q{place}", text, "en", "", "")
    for place, text in enumerate(("Do cats sleep?", "What do ducks eat in winter?"))
)
GRADES = {"q0": {"cats-0": 2, "kittens-0": 1}, "q1": {"ducks-2": 2, "hens-5": 1}}
DEV = Benchmark("farm", "dev", QUESTIONS, GRADES, "0123456789abcdef")
TEST = dataclasses.replace(DEV, split="test", questions=QUESTIONS[1:])


def values_of(control: Control) -> list[object]:
    """Two or three values of any control, its default among them."""
    match control:
        case Number():
            return [control.min, control.default, control.max]
        case Switch():
            return [True, False]
        case Choice():
            return list(control.choices[:3])
        case Weights():
            return [control.default, [0.1, 1.0, 0.5]]
        case Templates():
            return [control.default, control.names[:1], [control.names[1], OWN]]
        case PromptText():
            return [control.default, {"text": f"{control.default.text} Briefly."}]
    raise TypeError(type(control))


def fresh(services: Services) -> Callable[[], Services]:
    llm = talker(plainly=rewritten)
    roles = {"answer": llm, "rewrite": llm, "judge": llm}
    return lambda: dataclasses.replace(services, llms=roles)


@every_control
def test_every_control_of_every_strategy_sweeps(recipe, control, full):
    if not control.changes_passages:
        return
    base = {other: acting[0] for other, acting in control.needs}
    settings = ev.grid({control.name: values_of(control)})
    result = ev.tune(recipe, settings, NDCG, DEV, TEST, fresh(full), base=base)
    assert result.varied == (control.name,), "what was varied is what differs"
    assert json.loads(json.dumps(result.as_json())) == result.as_json(), "its JSON form is JSON as it is"
    plain = {format_value(control.plain(control.parse(value))) for value in values_of(control)}
    assert {format_value(row.controls[control.name]) for row in result.settings} <= plain
    assert all(row.same for row in result.finalists), "the sweep's scores are those of the setting alone"


@every_recipe
def test_a_sweep_of_several_controls_is_kept_and_read_back(recipe, full, tmp_path):
    axes = {control.name: values_of(control)[:2] for control in recipe.controls}
    settings = read_settings(home=tmp_path)
    result = ev.tune(recipe, ev.sample(axes, 6), NDCG, DEV, TEST, fresh(full))
    assert ev.SweepResult.read(ev.save_sweep(result, settings)) == result
    assert recipe.build(**result.best.controls).controls == result.best.controls


@for_each(
    ("text", "values"),
    [
        ("templates=standalone;synonyms,expanded", [["standalone"], ["synonyms", "expanded"]]),
        (f"templates={json.dumps(['standalone', OWN])}; {json.dumps([OWN])}", [["standalone", OWN], [OWN]]),
        ("query_weights=1,0.5;1", [[1.0, 0.5], [1.0]]),
        ("merge=max,first", ["max", "first"]),
    ],
)
def test_axes_of_any_kind_as_they_are_typed(text, values):
    recipe = RECIPES["multi_query"]
    name, parsed = ev.parse_axis(recipe, text)
    control = next(one for one in recipe.controls if one.name == name)
    assert [control.plain(value) for value in parsed] == values
