"""Judged answers are checked against the questions, judgements and passages they name."""

import json
from pathlib import Path

import pytest
from helpers.answers import passage

from rag_core.documents.benchmark import read_questions
from upkeep.answer_sets import check_answer_sets

PASSAGES = {
    "en-bleeding:0": passage("Bleeding is common. Go to the hospital now if:\n\n- it is heavy\n- you faint"),
    "en-bleeding:1": passage("Lie on your left side. Go to the hospital at once and wait there."),
}
STATEMENT = '{ says = "Go", any = ["hospital now|once"], passages = ["en-bleeding:1"] }'


def question(identity: str, *must: str, more: str = "") -> str:
    return f'[[question]]\nid = "{identity}"\nmust = [{", ".join(must)}]\n{more}\n'


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two English questions in dev, the second outside, one in test, and no Spanish ones."""
    for language in ("en", "es"):
        folder = tmp_path / "questions" / language
        (folder / "qrels").mkdir(parents=True)
        rows = {"en-1": "lay", "en-2": "outside", "en-3": "lay"} if language == "en" else {}
        lines = [
            {"_id": name, "text": "Why?", "metadata": {"language": "en", "kind": kind, "level": "routine"}}
            for name, kind in rows.items()
        ]
        (folder / "queries.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        header = "query-id\tcorpus-id\tscore\n"
        dev = "en-1\ten-bleeding\t2\nen-2\ten-bleeding\t0\n" if rows else ""
        (folder / "qrels" / "dev.tsv").write_text(header + dev)
        (folder / "qrels" / "test.tsv").write_text(header + ("en-3\ten-bleeding\t1\n" if rows else ""))
    (tmp_path / "answers").mkdir()
    return tmp_path


def checked(data: Path, text: str) -> tuple[dict[str, int], list[str]]:
    (data / "answers" / "dev.toml").write_text(text, encoding="utf-8")
    return check_answer_sets(data, read_questions(data / "questions" / "en"), PASSAGES)


def test_a_set_without_a_fault_is_counted(data):
    assert checked(data, question("en-1", STATEMENT) + question("en-2")) == ({"dev": 2}, [])


def test_without_a_set_there_is_nothing_to_count(data):
    assert check_answer_sets(data, (), PASSAGES) == ({}, [])


def test_a_list_item_says_a_statement_with_its_lead_in(data):
    item = '{ says = "Go", any = ["hospital now heavy"], passages = ["en-bleeding:0"] }'
    assert checked(data, question("en-1", item))[1] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (question("en-1", STATEMENT.replace(":1", ":7")), "there is no passage en-bleeding:7"),
        (
            question("en-1", STATEMENT.replace(":1", ":0").replace("now|once", "sofa")),
            "no sentence of the passages",
        ),
        (question("en-1", STATEMENT.replace("hospital now", "left hospital")), "no sentence of the passages"),
        (question("en-1"), "covers the question, but `must` is empty"),
        (question("en-2", STATEMENT), "does not cover the question, but `must` has statements"),
        (
            question("en-3", STATEMENT, more='text = "?"\nlanguage = "en"\nkind = "lay"'),
            "belongs to a question of the other split",
        ),
        (question("n", more='text = "?"\nlanguage = "en"\nkind = "lay"'), "but `must` is empty"),
        (question("n", STATEMENT, more='text = "?"\nlanguage = "en"\nkind = "outside"'), "does not cover"),
        (
            question(
                "en-1", STATEMENT, more='must_not = [{ says = "Wait", why = "harmful", any = ["wait"] }]'
            ),
            "every sentence that says 'Go' also says 'Wait'",
        ),
        ("[[question", "cannot be read"),
    ],
)
def test_a_fault_is_a_problem_that_names_file_and_question(data, text, problem):
    (found,) = checked(data, text)[1]
    assert problem in found
    assert "dev.toml" in found
