import json
from dataclasses import replace

import pytest
from helpers.looping import for_each
from hypothesis import given
from hypothesis import strategies as st

from rag_core.catalog import RECIPES, Choice, Number, Switch, Templates, Weights, format_value
from rag_core.prompts.templates import COMPLICATIONS, EXPANDED, MAX_TEMPLATES, STANDALONE, SYNONYMS
from rag_core.values.errors import ConfigError

NUMBER = Number("share", 0.25, "A share.", min=-1, max=1, step=0.25)
WHOLE = Number("count", 3, "A count.", min=1, max=9, step=1, whole=True)
SWITCH = Switch("on", True, "On or off.")
CHOICE = Choice("way", "left", "Which way.", choices=("left", "right"))
WEIGHTS = Weights("weights", (1.0, 0.95), "Weights.")
TEMPLATES = Templates("templates", ("standalone", "synonyms"), "Templates.")
MINE = {"name": "mine", "text": "Ask it in my words: {question}"}


@for_each(
    ("control", "given_", "read"),
    [
        (NUMBER, 1, 1.0),
        (NUMBER, " -0.5 ", -0.5),
        (NUMBER, "1e-1", 0.1),
        (WHOLE, 4.0, 4),
        (WHOLE, "9", 9),
        *[(SWITCH, yes, True) for yes in (True, 1, "true", "TRUE", " yes ", "on", "1")],
        *[(SWITCH, no, False) for no in (False, 0, "false", "No", "off ", "0")],
        (CHOICE, "right", "right"),
        (WEIGHTS, "1, 0.5,0", (1.0, 0.5, 0.0)),
        (WEIGHTS, [2], (2.0,)),
        (WEIGHTS, ("1", "0.25"), (1.0, 0.25)),
        (TEMPLATES, "expanded, standalone", (EXPANDED, STANDALONE)),
        (TEMPLATES, ["complications"], (COMPLICATIONS,)),
        (TEMPLATES, '["standalone", "synonyms"]', (STANDALONE, SYNONYMS)),
        (TEMPLATES, (EXPANDED, "synonyms"), (EXPANDED, SYNONYMS)),
    ],
)
def test_a_value_is_read_from_itself_or_its_text(control, given_, read):
    value = control.parse(given_)
    assert (value, type(value)) == (read, type(read))


def test_minus_zero_is_zero():
    """Equal settings have one fingerprint."""
    assert str(NUMBER.parse("-0.0")) == "0.0"
    assert str(WEIGHTS.parse("1,-0.0")) == "(1.0, 0.0)"


EIGHT = f"1 to {MAX_TEMPLATES} numbers from 0 to 2, separated by commas, not all 0"
SOME = f"1 to {MAX_TEMPLATES} templates: standalone, synonyms, expanded, complications, or your own"
ONE = "one of standalone, synonyms, expanded, complications, or a name with a text"


@for_each(
    ("control", "value", "wanted", "default"),
    [
        (NUMBER, 1.01, "a number from -1 to 1", "0.25"),
        (NUMBER, "half", "a number from -1 to 1", "0.25"),
        (NUMBER, True, "a number from -1 to 1", "0.25"),
        (NUMBER, "nan", "a number from -1 to 1", "0.25"),
        *[(NUMBER, value, "a number from -1 to 1", "0.25") for value in (-1.01, "", None, [0.5], float("inf"))],
        (WHOLE, 2.5, "a whole number from 1 to 9", "3"),
        (WHOLE, 0, "a whole number from 1 to 9", "3"),
        (WHOLE, "inf", "a whole number from 1 to 9", "3"),
        (SWITCH, "maybe", "true or false", "true"),
        (SWITCH, 2, "true or false", "true"),
        (SWITCH, None, "true or false", "true"),
        (CHOICE, "LEFT", "one of left, right", "left"),
        (CHOICE, "", "one of left, right", "left"),
        (CHOICE, ["left"], "one of left, right", "left"),
        (WEIGHTS, "", EIGHT, "1,0.95"),
        (WEIGHTS, "1,,1", EIGHT, "1,0.95"),
        (WEIGHTS, "0,0", EIGHT, "1,0.95"),
        (WEIGHTS, "-1,1", EIGHT, "1,0.95"),
        (WEIGHTS, "2.01", EIGHT, "1,0.95"),
        (WEIGHTS, [1, float("nan")], EIGHT, "1,0.95"),
        (WEIGHTS, 1, EIGHT, "1,0.95"),
        (WEIGHTS, None, EIGHT, "1,0.95"),
        (WEIGHTS, [1] * (MAX_TEMPLATES + 1), EIGHT, "1,0.95"),
    ],
)
def test_what_cannot_be_a_value_is_refused_with_what_can(control, value, wanted, default):
    with pytest.raises(ConfigError) as refused:
        control.parse(value)
    assert refused.value.message == f"{control.name} must be {wanted}, not {value!r}."
    assert refused.value.next_step == f"Its default is {default}."


@for_each(
    ("value", "wanted", "part"),
    [
        ("magic", ONE, "magic"),
        ("", ONE, ""),
        ("standalone,,synonyms", ONE, ""),
        ([], SOME, []),
        (3, SOME, 3),
        (MINE, SOME, MINE),
        (["standalone", {"name": "mine"}], "a name, or a name with a text", {"name": "mine"}),
        ([7], "a name, or a name with a text", 7),
    ],
)
def test_what_cannot_be_a_template_is_refused_by_itself(value, wanted, part):
    with pytest.raises(ConfigError) as refused:
        TEMPLATES.parse(value)
    assert refused.value.message == f"templates must be {wanted}, not {part!r}."
    assert refused.value.next_step == "Its default is standalone,synonyms."


def test_too_many_templates_are_refused():
    own = [{"name": f"n{i}", "text": "{question}"} for i in range(MAX_TEMPLATES + 1)]
    with pytest.raises(ConfigError, match="templates must be 1 to 8 templates"):
        TEMPLATES.parse(own)
    assert len(TEMPLATES.parse(own[:-1])) == MAX_TEMPLATES


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("standalone,standalone", "two templates have the same name"),
        (["synonyms", {"name": "synonyms", "text": "As: {question}"}], "two templates have the same name"),
        ("[standalone]", r"templates is not readable JSON: .*char 1"),
    ],
)
def test_two_templates_of_one_name_and_broken_json_are_refused(value, says):
    with pytest.raises(ConfigError, match=says):
        TEMPLATES.parse(value)


def test_a_template_of_ones_own_is_read_and_written_back_whole():
    templates = TEMPLATES.parse(["standalone", MINE])
    assert templates[0] is STANDALONE
    assert (templates[1].name, templates[1].text) == (MINE["name"], MINE["text"])
    assert (templates[1].purpose, templates[1].system) == ("rewrite", STANDALONE.system)
    plain = TEMPLATES.plain(templates)
    assert plain == ["standalone", MINE]
    assert TEMPLATES.parse(format_value(plain)) == templates
    assert json.loads(format_value(plain)) == plain


def test_an_edited_ready_template_is_ones_own_and_an_unchanged_one_the_ready_one():
    edited = {"name": "standalone", "text": "Say it so that it stands alone: {question}"}
    assert TEMPLATES.plain(TEMPLATES.parse([edited])) == [edited]
    assert TEMPLATES.parse([{"name": "standalone", "text": STANDALONE.text}]) == (STANDALONE,)


@for_each(
    ("value", "text"),
    [
        (True, "true"), (False, "false"), (5, "5"), (0.7, "0.7"), (60.0, "60"), ("linear", "linear"),
        ((1.0, 0.95), "1,0.95"), (["standalone", "expanded"], "standalone,expanded"),
        (["a", {"name": "ñ", "text": "¿{question}?"}], '["a", {"name": "ñ", "text": "¿{question}?"}]'),
    ],
)  # fmt: skip
def test_values_are_written_as_the_command_line_takes_them(value, text):
    assert format_value(value) == text


@given(st.lists(st.floats(0, 2), min_size=1, max_size=MAX_TEMPLATES).filter(any))
def test_weights_come_back_from_json(weights):
    parsed = WEIGHTS.parse(weights)
    assert WEIGHTS.parse(json.loads(json.dumps(WEIGHTS.plain(parsed)))) == parsed


def test_a_control_that_needs_others_names_the_first_that_is_missing():
    needs = (("way", ("left",)), ("on", (True,)))
    control = Number("share", 0.5, "A share.", needs=needs)
    way, on = Choice("way", "left", "Where.", ("left", "right")), Switch("on", True, "Whether.", symbol="MMR")
    recipe = replace(RECIPES["bm25"], controls=(way, on, control))
    assert recipe.idle(control, {"way": "left", "on": True}) == ""
    assert recipe.idle(control, {"way": "right", "on": False}) == "Acts only while “Way” is set to left."
    assert recipe.idle(control, {"way": "left", "on": False}) == "Acts only while MMR is on."
    assert recipe.idle(control, {}) == "Acts only while “Way” is set to left."
    assert recipe.idle(way, {}) == ""
    assert recipe.wanted(control, {}) == {}
    setting = replace(control, sets_needs=True)
    assert recipe.wanted(setting, {"way": "right", "on": True}) == {"way": "left"}
    assert recipe.wanted(setting, {"way": "left", "on": True}) == {}


@pytest.mark.parametrize(
    ("values", "weights"),
    [
        ({"weight_step": 0.3}, (1.0, 0.7, 0.4)),  # 1 - 0.3 · place
        ({"weighting": "exponential"}, (1.0, 0.9, 0.81)),  # 0.9 ^ place
        ({"weighting": "equal"}, (1.0, 1.0, 1.0)),
        ({"weighting": "custom", "query_weights": (0.2, 1.5)}, (0.2, 1.5, 1.0)),  # a missing one is 1
    ],
)
def test_the_weights_in_force_are_those_that_a_run_fuses_with(values, weights):
    recipe = RECIPES["multi_query"]
    (control,) = (one for one in recipe.controls if isinstance(one, Weights))
    assert control.in_force(recipe.parse_values(values)) == weights


def test_a_limit_is_said_in_the_words_of_its_control_or_with_its_title():
    assert Number("pool", 10, "Size.", limit="the pool of {value}").as_limit(10) == "the pool of 10"
    assert Number("pool", 10, "Size.", label="kept").as_limit(3) == "“Kept” of 3"
