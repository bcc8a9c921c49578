"""The demo story shows what it claims, on the shipped index at default settings, and its best answers are acceptable."""

import tomllib
from functools import cache

import pytest
from helpers.looping import for_each
from helpers.small import ROOT

from pages.shared.controls import DEFAULT_COLUMNS, SHOWN_COLUMNS
from rag_core.documents.answer_set import answer_file, read_answer_set
from rag_core.documents.benchmark import read_builtin
from rag_core.evaluation.verdicts import assess
from rag_core.explain import answer_differences
from rag_core.lab.lab import Lab
from rag_core.values.trace import Trace

DATA = ROOT / "data"
DEMO = tomllib.loads((DATA / "demo.toml").read_text(encoding="utf-8"))["question"]
COLUMNS = DEFAULT_COLUMNS[:SHOWN_COLUMNS]
SET = read_answer_set(answer_file(DATA, "dev"), read_builtin(DATA, "dev"))
JUDGED = SET.extend(read_builtin(DATA, "dev"))
ANSWERS = {one.question.text: one for one in SET.answers.values() if one.demo}
QUESTIONS = for_each("question", DEMO, ids=[one["label"] for one in DEMO])
CLAIMS = [(one, claim) for one in DEMO for claim in one["claims"]]
FINE = ("acceptable", "abstained_rightly")


@cache
def traces(lab: Lab, text: str) -> dict[str, Trace]:
    """What each default column finds and answers."""
    return dict(zip(COLUMNS, lab.compare(text, COLUMNS), strict=True))


def verdict(text: str, trace: Trace) -> str:
    """The verdict on the answer to a question of the story."""
    judged = ANSWERS[text]
    grades = JUDGED.qrels.get(judged.question.id, {})
    return assess(judged, trace, {document for document, grade in grades.items() if grade > 0}).verdict


def test_there_are_ten_questions_a_language_each_with_a_title_and_what_to_look_at():
    assert [one["language"] for one in DEMO] == ["en"] * 10 + ["es"] * 10
    assert all(one["look"] and one["label"] and one["label"] != one["text"] and one["claims"] for one in DEMO)
    assert len({one["label"] for one in DEMO}) == len({one["text"] for one in DEMO}) == 20


@for_each(
    ("question", "claim"),
    CLAIMS,
    ids=[f"{question['label']}-{'-'.join(map(str, claim))}" for question, claim in CLAIMS],
)
def test_a_claim_holds(lab, question, claim):
    found = traces(lab, question["text"])
    trace = found[claim.get("strategy", COLUMNS[0])]
    answer, documents = trace.answer, [hit.passage.doc_id for hit in trace.ranking]
    for kind, expected in claim.items():
        match kind:
            case "strategy":
                assert expected in COLUMNS
            case "level":
                assert {one.triage.level for one in found.values()} == {expected}
            case "read":
                assert expected in {read for step in trace.steps for read in step.readings.values()}
            case "finds":
                assert expected in documents
            case "begins":
                assert documents[0] == expected
            case "misses":
                assert expected in lab.index.manifest.documents
                assert expected not in documents
            case "abstains":
                assert answer.abstained is expected
            case "high":
                labels = [hit.relevance.label for hit in trace.ranking if hit.relevance]
                assert expected == ("High" in labels)
            case "says":
                assert [words for words in expected if words not in answer.text] == []
            case "omits":
                assert [words for words in expected if words in answer.text] == []
            case "same":
                pair = {COLUMNS.index(claim["strategy"]), COLUMNS.index(expected)}
                assert any(pair <= set(columns) for columns in answer_differences(list(found.values())).same)
            case "verdict":
                assert expected not in FINE
                assert verdict(question["text"], trace) == expected
            case _:
                pytest.fail(f"no such claim: {kind}")


def test_every_demo_question_has_a_judged_answer():
    assert sorted(ANSWERS) == sorted(one["text"] for one in DEMO)


@for_each("language", ["en", "es"])
def test_the_first_five_of_a_language_have_a_column_that_answers_and_one_that_does_not(lab: Lab, language: str) -> None:
    for question in [one for one in DEMO if one["language"] == language][:5]:
        found = {verdict(question["text"], trace) for trace in traces(lab, question["text"]).values()}
        assert "acceptable" in found
        assert found - {"acceptable"}


@QUESTIONS
def test_a_column_answers_acceptably_or_fails_as_scripted(lab, question):
    scripted = {one["strategy"] for one in question["claims"] if "verdict" in one or "abstains" in one}
    verdicts = {strategy: verdict(question["text"], trace) for strategy, trace in traces(lab, question["text"]).items()}
    assert {strategy for strategy, one in verdicts.items() if one not in FINE} <= scripted
    assert any(one in FINE for one in verdicts.values())
    assert "harmful" not in verdicts.values()


@QUESTIONS
def test_the_columns_differ_unless_all_decline(lab, question):
    found = answer_differences(list(traces(lab, question["text"]).values()))
    assert found.declined == (0, 1, 2) or max(map(len, found.same), default=0) < 3
