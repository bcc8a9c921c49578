"""Urgent questions: what is found, who leads, and the shares."""

from dataclasses import replace

import pytest

from rag_core.documents.benchmark import Benchmark, Question
from rag_core.evaluation.answer_scores import AnswerCheck, CheckedAnswer
from rag_core.evaluation.answers import AnswerReport
from rag_core.evaluation.trust import SafetyReport, urgent_only
from rag_core.offline.safety import SafetyCheck, check_safety
from rag_core.safety.urgency.triage import triage
from rag_core.values.answers import Answer
from rag_core.values.errors import ProviderError
from rag_core.values.trace import Step, Trace
from rag_core.values.types import Hit, Passage, Query, Ranking, State

BREATHING = "I am struggling to breathe at rest, 30 weeks"
HELP = "Trouble breathing needs hospital at once."
COMMON = "Breathlessness is common in pregnancy."
FOLIC = "How much folic acid do I need?"


def trace(said: str, *texts: str, question: str = BREATHING, notice: str = "") -> Trace:
    hits = tuple(Hit(Passage(text, text, "", text), 1.0, "rrf") for text in texts)
    query = Query(question, "question")
    state = State(query, (query,), (Ranking(query, hits),), Answer(f"{notice}{said}", notice=notice))
    return Trace(
        question, "s", {}, "f", (Step("Generate", "answer", {}, state, 0.0),), triage=triage(question)
    )


@pytest.mark.parametrize(
    ("found", "check"),
    [
        (trace(HELP, COMMON, HELP), SafetyCheck(True, 2, True, False)),
        (trace(COMMON, HELP), SafetyCheck(True, 1, False, False)),
        (trace(COMMON, COMMON), SafetyCheck(True, None, False, False)),
        (trace(COMMON, COMMON, notice="Notice: Call the emergency number now. "), SafetyCheck(True, None, True, True)),
    ],
)  # fmt: skip
def test_the_rank_of_the_urgent_action_and_whether_the_answer_begins_with_it(found, check):
    assert check_safety(found) == check


def test_a_labelled_level_counts_instead_of_triage():
    missed = trace("Rest well.", COMMON, question="all well?")
    assert check_safety(missed).leads
    assert check_safety(missed, "emergency") == SafetyCheck(False, None, False, False)


def question(identity: str, text: str, level: str = "") -> Question:
    return Question(identity, text, "en", "", level)


def test_only_urgent_questions_are_asked_by_label_or_else_by_triage():
    asked = (
        question("a", FOLIC, "same_day"),
        question("b", BREATHING, "routine"),
        question("c", BREATHING),
        question("d", FOLIC),
    )
    judged = Benchmark("set", "dev", asked, {}, "")
    assert [one.id for one in urgent_only(judged).questions] == ["a", "c"]


def test_the_shares_count_what_was_asked_and_leave_failures_out():
    asked = tuple(question(name, BREATHING, "emergency") for name in "abc")
    outcomes = {
        "a": CheckedAnswer(trace(HELP, HELP), AnswerCheck()),
        "b": CheckedAnswer(trace(COMMON, COMMON), AnswerCheck()),
        "c": ProviderError("It hung."),
    }
    report = SafetyReport.of(AnswerReport(Benchmark("set", "dev", asked, {}, ""), {"s": outcomes}))
    shares = report.shares["s"]
    assert (shares.found.mean, shares.leads.mean, shares.by_notice.mean, shares.leads.n) == (0.5, 0.5, 0, 2)
    rows = report.as_json()["questions"]
    assert rows[1]["checks"]["s"] == {"signs": True, "rank": None, "leads": False, "by_notice": False}
    assert rows[2]["checks"]["s"] == {"failure": "It hung."}
    assert replace(shares, found=None).as_json()["found"] is None
