from typing import Any
from urllib.parse import parse_qs, urlencode

from helpers.looping import for_each
from hypothesis import given
from hypothesis import strategies as st

from rag_core import RECIPES, build, set_up
from rag_core.catalog import Choice, Control, Number, PromptText, Switch, Templates, Weights
from rag_core.catalog.address import LONGEST, from_address, to_address
from rag_core.values.errors import ConfigError

DEFAULTS = ("simple_semantic", "bm25", "hybrid_rrf", "multi_query")


def through_a_browser(parameters: dict[str, list[str]]) -> dict[str, list[str]]:
    return parse_qs(urlencode(parameters, doseq=True), keep_blank_values=True)


def values_of(control: Control) -> st.SearchStrategy[Any]:
    match control:
        case Number(whole=True):
            return st.integers(int(control.min), int(control.max))
        case Number():
            return st.floats(control.min, control.max)
        case Switch():
            return st.booleans()
        case Choice():
            return st.sampled_from(control.choices)
        case Weights():
            return st.lists(st.floats(0.001, control.max), min_size=1, max_size=4)
        case Templates():
            own = st.fixed_dictionaries({"name": st.just("own"), "text": st.just("Say {question} again: [é&=#]")})
            return st.lists(st.sampled_from(sorted(control.names)) | own, min_size=1, max_size=3, unique_by=str)
        case PromptText():
            text = " ".join(f"{{{name}}}" for name in control.fills.needed)
            return st.just(control.default.name) | st.text("é&=#z. {", max_size=400).map(
                lambda more: {
                    "system": f"{{about}}{more}".strip().rstrip("{"),
                    "text": f"{more[::-1]} {text}".strip(),
                }
            )
    raise TypeError(control)


@st.composite
def configurations(draw: st.DrawFn) -> Any:
    chosen = []
    for name in draw(st.lists(st.sampled_from(list(RECIPES)), min_size=2, max_size=4)):
        drawn = {one.name: draw(values_of(one)) for one in RECIPES[name].controls if draw(st.booleans())}
        try:
            chosen.append(build((name, drawn)))
        except ConfigError:  # values that do not go together
            chosen.append(build(name))
    return chosen, draw(st.sampled_from(["", "GB", "MX"]))


@given(configurations())
def test_what_is_written_comes_back_exactly(configuration):
    strategies, country = configuration
    found = from_address(through_a_browser(to_address(strategies, country)), DEFAULTS)
    assert (found.country, found.problems) == (country, ())
    assert [one.strategy for one in found.columns] == strategies
    assert [one.strategy.controls for one in found.columns] == [one.controls for one in strategies]


def test_models_and_corpora_of_columns_come_back():
    columns = [
        set_up("bm25", model="gpt-4o-mini", judge_model="vicuña/7b:q4"),
        set_up("bm25", k1=1.2, corpus="ward"),
        set_up("bm25", rewriter_model="offline"),
    ]
    written = to_address(columns, corpus="leaflets")
    assert (written["1.model"], written["2.corpus"], written["corpus"]) == (
        ["gpt-4o-mini"],
        ["ward"],
        ["leaflets"],
    )
    found = from_address(through_a_browser(written), DEFAULTS)
    assert (list(found.columns), found.corpus, found.problems) == (columns, "leaflets", ())


def test_only_what_differs_is_written():
    strategies = [build("bm25"), build(("hybrid_rrf", {"mmr_lambda": 0.3, "rrf_k": 60}))]
    assert to_address(strategies) == {"s": ["bm25", "hybrid_rrf"], "2.mmr_lambda": ["0.3"]}


def test_an_address_without_a_configuration_has_none():
    assert from_address({}, DEFAULTS) is None
    assert from_address({"utm_source": ["x"], "document": ["a"], "q": ["When?"]}, DEFAULTS) is None


@for_each(
    ("parameters", "names", "problem"),
    [
        ({"s": ["magic", "bm25"]}, ["simple_semantic", "bm25"], "no strategy 'magic'; Simple semantic is used"),
        ({"s": ["bm25"]}, ["bm25", "bm25"], None),
        ({"s": ["bm25"] * 6}, ["bm25"] * 4, "6 strategies are named; only the first 4"),
        ({"s": ["bm25", "hyde"], "1.k1": ["99"]}, ["bm25", "hyde"], "k1 must be a number from"),
        ({"s": ["bm25", "hyde"], "1.k1": ["nan"]}, ["bm25", "hyde"], "k1 must be a number from"),
        ({"s": ["bm25", "hyde"], "1.colour": ["red"]}, ["bm25", "hyde"], "has no control 'colour'"),
        ({"s": ["bm25", "hyde"], "7.k1": ["1"]}, ["bm25", "hyde"], "7.k1 is for a strategy that is not there"),
        ({"s": ["bm25", "hyde"], "0.k1": ["1"]}, ["bm25", "hyde"], "0.k1 is for a strategy that is not there"),
        ({"s": ["bm25", "hyde"], "2.model": ["x" * 300]}, ["bm25", "hyde"], "model must be the name of a model"),
        ({"country": ["XX"]}, ["simple_semantic", "bm25"], "no country 'XX'; none is chosen"),
        ({"s": ["multi_query", "bm25"], "1.templates": ["[" * 7000]}, ["multi_query", "bm25"], "not readable JSON"),
    ],
)  # fmt: skip
def test_what_is_not_valid_is_named_and_replaced_by_the_default(parameters, names, problem):
    found = from_address(parameters, DEFAULTS)
    assert found
    assert [one.strategy.name for one in found.columns] == names
    assert [one.strategy for one in found.columns] == list(map(build, names))
    assert len(found.problems) == (problem is not None)
    assert problem is None or problem in found.problems[0]
    assert all(len(one) < 500 for one in found.problems)


@given(st.dictionaries(st.text(max_size=12) | st.sampled_from(["s", "1.k1", "2.mmr_lambda", "country"]),
                       st.lists(st.text(max_size=30), max_size=5), max_size=5))  # fmt: skip
def test_no_address_is_an_error(parameters):
    found = from_address(parameters, DEFAULTS)
    assert found is None or 2 <= len(found.columns) <= 4


def test_an_address_stays_short_enough_for_servers():
    own = [{"name": f"own {number}", "text": "{question} " + "é" * 1500} for number in range(3)]
    strategies = [build(("multi_query", {"templates": own, "k_final": 3}))] * 2
    written = to_address(strategies)
    assert len(urlencode(written, doseq=True)) <= LONGEST
    assert written["s"] == ["multi_query", "multi_query"]
    assert written["1.k_final"] == ["3"]


def test_a_model_that_is_not_offered_is_refused_and_named():
    given = {"s": ["bm25", "hyde"], "1.model": ["o1-pro"], "2.judge_model": ["gpt-4o"]}
    found = from_address(given, ("bm25", "hyde"), models=("gpt-4o", "offline"))
    assert [one.models.named for one in found.columns] == [{}, {"judge_model": "gpt-4o"}]
    (problem,) = found.problems
    assert "'o1-pro' is not offered here" in problem
    assert "RAG_MODELS" in problem
