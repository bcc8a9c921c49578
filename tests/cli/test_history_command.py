from datetime import UTC, datetime
from pathlib import Path

import pytest

from rag_core import NOTICE
from rag_core.sessions.history import Asked, AskedColumn, History
from rag_core.values.settings import Settings


@pytest.fixture
def kept(tmp_path: Path) -> History:
    """The history that the command opens, with two questions."""
    history = History.opened(Settings(home=tmp_path / "home"))
    assert history
    for day, text in ((4, "Where do cats sleep?"), (5, "Do dogs\x1b[2J bark?")):
        column = AskedColumn("bm25", {})
        history.add(Asked(f"id{day}", datetime(2026, 5, day, 12, tzinfo=UTC), text, (column,)))
    return history


def test_it_lists_the_latest_first(rag, kept):
    ran = rag("history")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith("2026-05-05 12:00 Do dogs␛[2J bark?")
    assert "bm25 · 0 of 1 finished · id5" in lines[1]
    assert lines[2] == "2026-05-04 12:00 Where do cats sleep?"


def test_json_and_filters(rag, kept):
    assert rag("history", "--words", "CATS", "--json").json == {
        "notice": NOTICE,
        "questions": [
            {"id": "id4", "asked": "2026-05-04T12:00:00+00:00", "question": "Where do cats sleep?",
             "strategies": ["bm25"], "finished": 0}
        ],
    }  # fmt: skip
    assert [one["id"] for one in rag("history", "--since", "2026-05-05", "--json").json["questions"]] == [
        "id5"
    ]
    assert rag("history", "--strategy", "hyde").out == "No question fits.\n"
    assert rag("history", "--until", "tomorrow").code == 2


def test_deleting(rag, kept, monkeypatch):
    assert rag("history", "--delete", "nothing").code == 1
    assert rag("history", "--delete", "id4").out == "1 question deleted.\n"
    monkeypatch.setattr(
        "rag_core.cli.kept.agreed", lambda asked: not asked.startswith("Delete 1 question from ")
    )
    assert rag("history", "--delete", "all").code == 1
    assert kept.count() == 1
    assert rag("history", "--delete", "all", "--yes").out == "1 question deleted.\n"
    assert rag("history").out == "No question is kept.\n"


def test_off_says_so(rag, monkeypatch):
    monkeypatch.setenv("RAG_HISTORY", "off")
    ran = rag("history")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "RAG_HISTORY is off" in ran.err
