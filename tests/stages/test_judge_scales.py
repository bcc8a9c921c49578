"""On which scale a judge's scores are read, and that it is never chosen in silence."""

import json
from dataclasses import replace

import pytest
from helpers import fuzzing_text
from helpers.fuzzing_text import judged
from helpers.looping import for_each, fuzzed
from hypothesis import given

from rag_core.evaluation.answer_scores import parse_judgement
from rag_core.prompts.prompt import JUDGE_PASSAGE


@for_each(
    ("scores", "read", "remark"),
    [
        ([90, 40, 0], [0.9, 0.4, 0.0], ""),
        ([100, 1, 0], [1.0, 0.01, 0.0], ""),
        ([0, 0], [0.0, 0.0], ""),
        ([0.9, 0.4, 0], [0.9, 0.4, 0.0], "from 0 to 1 instead of 0 to 100"),
        ([0.95], [0.95], "from 0 to 1 instead of 0 to 100"),
        ([1, 0.5], [1.0, 0.5], "from 0 to 1 instead of 0 to 100"),
        (
            [1, 1, 0],
            [0.01, 0.01, 0.0],
            "only the scores 0 and 1; they were read on the prompt's scale, 0 to 100",
        ),
        ([0.8, 85, 0], [0.008, 0.85, 0.0], "1 of 3 of the judge's scores are 1 or less and others are not"),
    ],
)
def test_the_scale_is_that_of_all_replies_together_and_named_when_it_is_not_the_prompts(scores, read, remark):
    found, warnings = judged(scores)
    assert found == pytest.approx(read)
    assert [remark in warning for warning in warnings] == ([True] if remark else [])


def test_a_prompt_that_asks_for_0_or_1_gets_them_read_so():
    ask = replace(JUDGE_PASSAGE, system="Reply with JSON: reason, and score: 1 if it answers, otherwise 0.")
    found, (warning,) = judged([1, 0], ask)
    assert found == [1.0, 0.0]
    assert warning.endswith("prompt's scale, 0 to 1.")


@pytest.mark.parametrize("reply", ['{"faithfulness": 0.9, "relevance": 1}', '{"faithfulness": 1, "relevance": 1}'])
def test_a_judged_answer_on_0_to_1_is_asked_for_again(reply):
    with pytest.raises(ValueError, match="give them from 0 to 100"):
        parse_judgement(reply)


@pytest.mark.parametrize(("faithfulness", "relevance"), [(0, 0), (1, 80), (0, 100)])
def test_a_judged_answer_on_0_to_100_is_taken(faithfulness, relevance):
    found = parse_judgement(json.dumps({"faithfulness": faithfulness, "relevance": relevance}))
    assert (found.faithfulness, found.relevance) == (faithfulness, relevance)


@fuzzed(150)
@given(fuzzing_text.scores)
def test_any_scores_give_values_from_0_to_1_in_the_same_order_or_a_failure(scores):
    fuzzing_text.check_scores(scores)
