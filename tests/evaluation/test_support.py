"""Counting the sentences and citations of an answer."""

import pytest
from helpers.answers import answered, passage

from rag_core.evaluation.answer_scores import AnswerCheck, check
from rag_core.values.answers import Grounded
from rag_core.values.trace import Step, Trace
from rag_core.values.types import State

CATS = passage("Cats purr when they are happy.")


def test_sentences_and_citations_are_counted():
    text = "Cats purr when they are happy [1]. Dogs bark at every stranger [1][2]. Cats purr."
    marked = [Grounded(0, 1, "", support) for support in ("supported", "unsupported", "supported", "weak")]
    found = check(answered(text, CATS, passage("Birds sing."), invalid=2, sentences=marked))
    assert found == AnswerCheck(supported=2, weak=1, unsupported=1, citations=5, valid_citations=3)
    assert found.sentences == 4


def test_an_abstention_says_nothing():
    assert check(answered("There is not enough evidence.", CATS, abstained=True)) == AnswerCheck()


def test_a_trace_without_an_answer_cannot_be_checked():
    trace = answered("Cats.", CATS)
    state = State(trace.final.question, (), trace.final.rankings)
    with pytest.raises(ValueError, match="no answer"):
        check(Trace("Why?", "s", {}, "f", (Step("Dense", "retrieve", {}, state, 0.0),)))
