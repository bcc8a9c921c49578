"""Shares of declined questions, by hand, and over the real lab."""

from dataclasses import replace

import pytest

from rag_core.documents.benchmark import Benchmark, Question
from rag_core.evaluation.answer_scores import AbstentionFigures
from rag_core.evaluation.statistics import wilson
from rag_core.evaluation.trust import measure_abstention, outside_of
from rag_core.values.errors import ConfigError


def test_the_shares_are_those_of_the_counts():
    found = AbstentionFigures({(True, True): 8, (True, False): 2, (False, True): 1, (False, False): 39})
    shares = [found.precision, found.recall, found.wrongly_declined]
    assert [(one.mean, one.n) for one in shares if one] == [(8 / 9, 9), (0.8, 10), (0.025, 40)]
    assert found.recall == wilson(8, 10)


def test_a_share_of_nothing_is_none():
    none = AbstentionFigures({})
    assert (none.precision, none.recall, none.wrongly_declined) == (None, None, None)


INSIDE = Question("i", "When is anti-D given in pregnancy?", "en", "clear", "routine")
OUTSIDE = Question("o", "¿Cuál es la capital de Australia?", "es", "outside", "routine")


@pytest.mark.parametrize("writer", ["offline", "model"])
def test_questions_are_counted_by_language(lab, writer):
    found = measure_abstention(lab, "simple_semantic", {INSIDE: False, OUTSIDE: True}, writer)
    assert {group: dict(one.counts) for group, one in found.items()} == {
        "all": {(False, False): 1, (True, True): 1},
        "en": {(False, False): 1},
        "es": {(True, True): 1},
    }


def test_a_lab_that_never_declines_cannot_be_measured(lab):
    for thresholds in (None, {}):
        never = lab.with_engines(replace(lab.engines, thresholds=thresholds))
        with pytest.raises(ConfigError, match="declines no question"):
            measure_abstention(never, "simple_semantic", {INSIDE: False})


def test_questions_without_a_relevant_document_are_outside():
    judged = Benchmark("b", "dev", (INSIDE, OUTSIDE), {"i": {"d": 1}, "o": {"d": 0}}, "")
    assert outside_of(judged) == {INSIDE: False, OUTSIDE: True}
