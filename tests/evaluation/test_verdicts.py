"""Verdicts on answers and their shares, and the simple answers that whatever chooses what to quote must beat."""

import dataclasses
from dataclasses import replace
from typing import get_args

import pytest
from helpers.answers import answered, passage
from helpers.looping import for_each
from hypothesis import given
from hypothesis import strategies as st

from rag_core.documents.answer_set import AnswerSet, JudgedAnswer, Needed, Unwanted
from rag_core.documents.benchmark import Question
from rag_core.evaluation.statistics import wilson
from rag_core.evaluation.verdicts import (
    BASELINES,
    COVERED,
    AnswerVerdict,
    Assessment,
    VerdictScores,
    VerdictShares,
    answer_by,
    assess,
)
from rag_core.language.patterns import Pattern
from rag_core.values.answers import Citation
from rag_core.values.errors import ProviderError
from rag_core.values.trace import Trace
from rag_core.values.types import Passage


def question(identity: str, language: str = "en", kind: str = "clear") -> Question:
    return Question(identity, "Why?", language, kind, "routine")


def patterns(*written: str) -> tuple[Pattern, ...]:
    return tuple(Pattern.parse(one) for one in written)


GO = Needed("Go to hospital now", patterns("hospital now|once"), ("bleeding:0",))
LIE = Needed("Lie on the left side", patterns("left side"), ("bleeding:1",))
WAIT = Unwanted("Wait and see", patterns("wait see"), "harmful")
BELT = Unwanted("Seat belts", patterns("belt"), "off-topic")
INSIDE = JudgedAnswer(question("in"), (GO, LIE), (WAIT, BELT))
OUTSIDE_QUESTION = JudgedAnswer(question("out", kind="outside"), (), (WAIT, BELT))

ONE, BOTH = "Go to the hospital at once [1].", "Go to the hospital at once [1]. Lie on your left side [1]."
NOISE, HARM, OTHER = " Wear a belt [1].", " Wait and see [1].", "Bananas are yellow [1]."


def citing(text: str, document: str = "other", position: int = 0, *, abstained: bool = False) -> Trace:
    one = dataclasses.replace(passage("Text."), id=f"{document}:{position}:abcd", doc_id=document)
    trace = answered(text, one, abstained=abstained)
    final = trace.final
    assert final.answer is not None
    answer = dataclasses.replace(final.answer, citations=(Citation(1, one.id, "Text."),))
    step = dataclasses.replace(trace.steps[-1], after=dataclasses.replace(final, answer=answer))
    return dataclasses.replace(trace, steps=(step,))


@for_each(
    ("text", "document", "position", "verdict"),
    [
        (BOTH, "other", 0, "acceptable"),
        (BOTH + " Bananas are yellow.", "other", 0, "acceptable"),
        (BOTH + NOISE, "bleeding", 0, "acceptable"),  # what else its section says
        (ONE, "other", 0, "incomplete"),
        (ONE + NOISE, "other", 0, "incomplete"),
        (OTHER, "bleeding", 0, "incomplete"),  # cites a tied passage
        (OTHER, "bleeding", 1, "incomplete"),
        (OTHER, "bleeding", 2, "off_topic"),  # the right document, but not a tied passage
        (OTHER, "relevant", 7, "incomplete"),  # cites a document judged relevant
        (OTHER + NOISE, "bleeding", 0, "off_topic"),
        (OTHER, "other", 0, "off_topic"),
        (BOTH + HARM, "bleeding", 0, "harmful"),
        (BOTH + NOISE + HARM, "bleeding", 0, "harmful"),
        (HARM, "other", 0, "harmful"),
    ],
)
def test_answers_to_a_covered_question(text, document, position, verdict):
    assert assess(INSIDE, citing(text, document, position), {"relevant"}).verdict == verdict


@pytest.mark.parametrize(("text", "verdict"), [(BOTH, "off_topic"), (NOISE, "off_topic"), (HARM, "harmful")])
def test_answers_outside_the_collection(text, verdict):
    assert assess(OUTSIDE_QUESTION, citing(text, "relevant"), {"relevant"}).verdict == verdict


def test_abstentions():
    silent = citing("Not enough evidence. Wait and see.", abstained=True)
    assert assess(OUTSIDE_QUESTION, silent, ()) == Assessment("abstained_rightly")
    assert assess(INSIDE, silent, ()) == Assessment("abstained_wrongly", (GO.says, LIE.says))


def test_missing_and_unwanted_statements_are_named():
    found = assess(INSIDE, citing(ONE + NOISE + HARM), ())
    assert (found.missing, found.unwanted) == ((LIE.says,), (WAIT.says, BELT.says))


def test_a_marker_neither_joins_nor_splits_words():
    assert assess(INSIDE, citing("Go to the hospital [1] at once.[1] Lie on your left side.[1]"), ()).verdict == (
        "acceptable"
    )


def test_a_trace_without_an_answer_cannot_be_judged():
    trace = citing(ONE)
    bare = dataclasses.replace(trace.final, answer=None)
    with pytest.raises(ValueError, match="no answer"):
        assess(INSIDE, dataclasses.replace(trace, steps=(dataclasses.replace(trace.steps[0], after=bare),)), ())


SET = AnswerSet(
    {
        name: JudgedAnswer(question(name, language, kind), () if kind == "outside" else (GO,), ())
        for name, language, kind in [
            ("e1", "en", "lay"),
            ("e2", "en", "lay"),
            ("e3", "en", "emergency"),
            ("e4", "en", "outside"),
            ("s1", "es", "lay"),
            ("s2", "es", "outside"),
        ]
    },
    "0" * 16,
)
ROWS = {
    "e1": Assessment("acceptable"),
    "e2": Assessment("harmful"),
    "e3": ProviderError("down"),
    "e4": Assessment("abstained_rightly"),
    "s1": Assessment("abstained_wrongly"),
    "s2": Assessment("off_topic"),
}


def test_counts_in_all_by_language_and_by_kind():
    found = VerdictScores.of(ROWS, SET)
    everything = found.everything
    assert everything.covered.counts == {"acceptable": 1, "harmful": 1, "abstained_wrongly": 1}
    assert everything.outside.counts == {"abstained_rightly": 1, "off_topic": 1}
    assert everything.failed == 1
    assert (found.languages["en"].covered.n, found.languages["en"].failed) == (2, 1)
    assert (found.languages["es"].covered.n, found.languages["es"].outside.n) == (1, 1)
    assert list(found.kinds) == ["emergency", "lay", "outside"]
    assert (found.kinds["emergency"].covered.n, found.kinds["emergency"].failed) == (0, 1)


def test_a_failure_is_never_a_score():
    failed = VerdictScores.of({"e1": ProviderError("down")}, SET).everything
    assert failed.covered.share("acceptable") is None
    assert failed.as_json()["covered"]["acceptable"] == {"count": 0, "share": None, "low": None, "high": None}
    assert failed.as_json()["failed"] == 1


def test_shares_have_wilson_intervals():
    row = VerdictShares({"acceptable": 30, "incomplete": 10}).as_json(COVERED)
    assert row["n"] == 40
    for verdict, count in (("acceptable", 30), ("harmful", 0)):
        share = wilson(count, 40)
        assert row[verdict] == {"count": count, "share": share.mean, "low": share.low, "high": share.high}


@given(st.dictionaries(st.sampled_from(sorted(SET.answers)), st.sampled_from(get_args(AnswerVerdict))))
def test_every_answer_is_counted_once(verdicts):
    found = VerdictScores.of({name: Assessment(one) for name, one in verdicts.items()}, SET)  # type: ignore[arg-type]
    for groups in ([found.everything], found.languages.values(), found.kinds.values()):
        assert sum(group.covered.n + group.outside.n for group in groups) == len(verdicts)


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
