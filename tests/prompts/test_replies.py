"""SourceFiles a judge's reply: what is taken, what is refused and why. Nothing is ever made up."""

import json

import pytest
from helpers.looping import for_each
from hypothesis import given
from hypothesis import strategies as st

from rag_core.prompts.replies import read_object, read_score


@pytest.mark.parametrize(
    "reply",
    [
        '{"score": 70, "reason": "close"}',
        '\n  {"reason": "close", "score": 70}  \n',
        '```json\n{"score": 70, "reason": "close"}\n```',
        '```\n{"score": 70, "reason": "close"}\n```',
        'Here is my rating:\n```json\n{"score": 70, "reason": "close"}\n```\nIs that all?',
        'Rating: {"score": 70, "reason": "close"} — done.',
        '[{"score": 70, "reason": "close"}]',
        '{"score": 70, "reason": "close",\n}',
        'As [2] and {labour, birth} are met: {"score": 70, "reason": "close"} {as asked}',
        '```JSON\n{"score": 70, "reason": "close"}\n```\nI gave {70}.',
    ],
)
def test_the_object_is_found_with_or_without_words_around_it(reply):
    assert read_object(reply) == {"score": 70, "reason": "close"}


@for_each(
    ("reply", "reason"),
    [
        ("", "it holds no JSON object"),
        ("70", "it holds no JSON object"),
        ("I would say 70 of 100.", "it holds no JSON object"),
        ("[70, 80]", "it holds no JSON object"),
        ('{"score": 70', "its JSON is broken"),
        ("{score: 70}", "its JSON is broken"),
        ("{'score': 70}", "its JSON is broken"),
        ('{"score": 70, "score": 80}', "its JSON is broken"),
        ('{"score": 70 "reason": "close"}', "its JSON is broken"),
        ('{"a":' * 100_000, "its JSON is broken"),
        ('{"score": 70} or {"score": 80}', "it holds more than one JSON object"),
        ('[{"score": 70}, {"score": 80}]', "it holds more than one JSON object"),
    ],
    ids=lambda value: value[:20],
)
def test_a_reply_without_exactly_one_object_is_refused_with_the_reason(reply, reason):
    with pytest.raises(ValueError, match=reason):
        read_object(reply)


@pytest.mark.parametrize(
    ("value", "score"),
    [
        *(("0", 0.0), ("100", 100.0), ("62.5", 62.5), ("1e2", 100.0)),
        *(('"35"', 35.0), ('" 35 % "', 35.0), ('"35/100"', 35.0), ('"62,5"', 62.5)),
    ],
)
def test_a_score_is_a_number_from_0_to_100(value, score):
    assert read_score(read_object(f'{{"score": {value}}}'), "score") == score


@for_each(
    "value",
    [
        *("-0.1", "100.1", "1e999", "-1e999", "NaN", "Infinity", "null", "true", "false"),
        *('"170"', '"-7"', '"7/10"', '"70 or 80"', '"high"', "[70]", '{"value": 70}'),
    ],
)
def test_what_is_no_such_number_is_refused_and_named(value):
    values = read_object(f'{{"score": {value}}}')
    with pytest.raises(ValueError, match=r"score is .*, not a number from 0 to 100"):
        read_score(values, "score")


def test_a_missing_score_is_not_zero():
    with pytest.raises(ValueError, match="score is None, not a number"):
        read_score({"reason": "none given"}, "score")


@given(st.floats(0, 100), st.text(st.characters(exclude_characters="{}[]`", codec="utf-8")))
def test_any_score_comes_back_from_its_json(score, reason):
    said = json.dumps({"reason": reason, "score": score})
    assert read_score(read_object(said), "score") == score
    assert read_object(said)["reason"] == reason


@given(st.text())
def test_any_text_gives_an_object_or_a_reason(reply):
    try:
        told = read_object(reply)
    except ValueError as error:
        told = {str(error): "the reason"}
    assert isinstance(told, dict)


def test_a_comma_or_a_line_break_within_a_string_and_an_inner_object_stay():
    assert read_object('{"reason": "fits,] \\" ,}\n", "list": [1,],}') == {
        "reason": 'fits,] " ,}\n',
        "list": [1],
    }
    assert read_object('{"score": 1, "more": {"score": 2}}') == {"score": 1, "more": {"score": 2}}
