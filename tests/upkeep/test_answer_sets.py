import json
from pathlib import Path

import pytest
from helpers.answers import passage

from rag_core.documents.benchmark import read_questions
from upkeep.answer_sets import check_answer_sets
from upkeep.asked import asked_problems

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
            question("en-1", STATEMENT, more='must_not = [{ says = "Wait", why = "harmful", any = ["wait"] }]'),
            "every sentence that says 'Go' also says 'Wait'",
        ),
        ("[[question", "cannot be read"),
    ],
)
def test_a_fault_is_a_problem_that_names_file_and_question(data, text, problem):
    (found,) = checked(data, text)[1]
    assert problem in found
    assert "dev.toml" in found


ONE, OTHER = "en-one:0:aaaaaaaa", "en-other:0:bbbbbbbb"


def problems(data: Path, rows: list[tuple[str, str, str]], passages: list[str]) -> list[str]:
    folder = data / "asked"
    folder.mkdir()
    text = "".join("\t".join(row) + "\n" for row in [("passage", "language", "question"), *rows])
    (folder / "all.tsv").write_text(text, encoding="utf-8")
    return asked_problems(data, passages)[1]


def enough(passage: str) -> list[tuple[str, str, str]]:
    return [(passage, "en", f"{passage} {n}?") for n in range(6)] + [(passage, "es", f"¿{passage}?")]


def test_six_questions_and_one_in_the_other_language_are_enough(tmp_path):
    assert problems(tmp_path, enough(ONE), [ONE]) == []


def test_too_few_in_a_language_are_counted(tmp_path):
    assert problems(tmp_path, enough(ONE)[:5], [ONE]) == [
        f"asked: {ONE}: 5 questions in en; it needs 6",
        f"asked: {ONE}: 0 questions in es; it needs 1",
    ]


def test_a_changed_section_and_a_lost_one_are_named(tmp_path):
    now = "en-one:0:cccccccc"
    found = problems(tmp_path, [*enough(ONE), *enough("en-gone:0:dddddddd")], [now])
    assert found == [
        f"asked: {now}: the text has changed; read its questions again",
        "asked: en-gone:0:dddddddd: there is no such section",
    ]


def test_one_question_of_two_sections_in_a_language_is_named(tmp_path):
    twin = "es-one:0:eeeeeeee"
    shared = [(one, "en", "Shared?") for one in (ONE, OTHER)]
    spanish = [(twin, "es", f"¿{n}?") for n in range(6)] + [
        (twin, "en", f"{ONE} 0?")
    ]  # the twin's question may be the same
    assert problems(tmp_path, [*enough(ONE), *enough(OTHER), *shared, *spanish], [ONE, OTHER, twin]) == [
        f"asked: 'Shared?' is a question of {ONE} and {OTHER}"
    ]
