"""`rag exam settle` and `delete`: what the owner of an exam that was made in a terminal does there."""

import json
from pathlib import Path

import pytest
from helpers.small import Terminal

from rag_core.sessions.exam.exam import Draft, Exam
from rag_core.sessions.exam.folder import FOLDERS, for_measuring
from rag_core.sessions.exam.store import Exams
from rag_core.sessions.panel.room import new_token
from rag_core.values.settings import Settings
from rag_core.values.types import Passage, text_key

CATS = Passage("a:0:1", "a", "Cats", "Cats purr when they are happy.")
DOGS = Passage("b:0:2", "b", "Dogs", "Dogs bark at strangers.")


@pytest.fixture
def exams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Exams:
    monkeypatch.setenv("RAG_HOME", str(tmp_path))
    return Exams.opened(Settings(home=tmp_path))


@pytest.fixture
def disputed(exams: Exams) -> Exam:
    """An exam with two passages, of which one says 2 and another 0."""
    made = exams.make("animals", [Draft("When do cats purr?")], title="Animals")
    exams.add_found(made.code, 1, [CATS, DOGS], {"bm25": "bm25"})
    for grade in (2, 0):
        token = new_token()
        for passage in (CATS, DOGS):
            exams.tick(made.code, token, 1, text_key(passage), grade)
    return made


def test_disagreements_are_settled_in_the_terminal(rag, exams, disputed, monkeypatch):
    monkeypatch.setattr("sys.stdin", Terminal("h2\n1\ns\n"))  # of the owner, nobody asks for harm
    ran = rag("exam", "settle", disputed.code.lower())
    assert ran.code == 0, ran.err
    assert "When do cats purr?" in ran.out
    assert "People said: 2, 0." in ran.out
    assert "Disagreements not settled: 1." in ran.out
    assert sorted(exams.judgements(disputed.code).qrels["q001"].values()) == [0, 1]
    shown = json.loads(rag("exam", "status", disputed.code, "--json").out)["exams"][disputed.code]
    assert (shown["disputed"], shown["judged"], shown["title"]) == (1, 2, "Animals")
    monkeypatch.setattr("sys.stdin", Terminal("q\n"))
    assert rag("exam", "settle", disputed.code).code != 0  # stopped, with nothing more settled
    assert len(exams.judgements(disputed.code).unsettled) == 1


def test_an_exam_is_deleted_once_it_is_agreed_to(rag, exams, disputed, tmp_path, monkeypatch):
    exams.settle(disputed.code, None, 1, text_key(CATS), 2)
    for_measuring(exams, disputed, {CATS.id: CATS, DOGS.id: DOGS}, tmp_path)
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    refused = rag("exam", "delete", disputed.code)
    assert (refused.code, exams.all() != []) == (1, True)
    assert "Nothing was deleted. Add --yes" in " ".join(refused.err.split())
    ran = rag("exam", "delete", disputed.code, "--yes")
    assert (ran.code, ran.out) == (0, f"Exam {disputed.code} is deleted.\n")
    assert exams.all() == []
    assert [*(tmp_path / FOLDERS).iterdir()] == []
    assert "no exam with this code" in rag("exam", "delete", disputed.code, "--yes").err
