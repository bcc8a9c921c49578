"""The simple answers that whatever chooses what to quote must beat."""

from dataclasses import replace

import pytest
from helpers.answers import answered, passage

from rag_core.evaluation.verdicts import BASELINES, answer_by
from rag_core.values.trace import Trace
from rag_core.values.types import Passage

SPANISH = passage("Los gatos duermen de día y cazan por la noche.", "es", name="es")
FIRST = passage("Cats sleep by day. They hunt at night.", name="first")
SECOND = passage("Cats eat mice in the house.", name="second")


def quoted(baseline: str, *passages: Passage) -> str:
    trace = answered("They sleep [1].", *passages)
    asked = replace(trace, question="When do cats sleep and what do they eat?")
    found = answer_by(BASELINES[baseline], asked).answer
    return found.text


def test_the_top_section_is_the_first_passage_in_whatever_language():
    assert quoted("top section", SPANISH, FIRST) == f"{SPANISH.text} [1]"


def test_two_sections_are_the_first_two_in_the_askers_language():
    both = f"{FIRST.text} [2]\n\n{SECOND.text} [3]"
    assert quoted("two sections", SPANISH, FIRST, SECOND) == both
    assert quoted("two sections", SPANISH) == f"{SPANISH.text} [1]"


@pytest.mark.parametrize("baseline", BASELINES)
def test_an_abstention_stays_one(baseline):
    trace: Trace = answered("Nothing found.", FIRST, abstained=True)
    assert answer_by(BASELINES[baseline], trace) == trace


def test_the_notice_stays_in_front():
    trace = answered("Call now. They sleep [1].", FIRST)
    assert trace.answer is not None
    led = replace(trace.final, answer=replace(trace.answer, notice="Call now."))
    trace = replace(trace, steps=(*trace.steps[:-1], replace(trace.steps[-1], after=led)))
    found = answer_by(BASELINES["top section"], trace).answer
    assert (found.text, found.written) == (f"Call now. {FIRST.text} [1]", f"{FIRST.text} [1]")
