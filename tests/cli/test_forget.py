"""What is kept of questions and documents, listed, forgotten and deleted by `rag history` and `rag forget`."""

import io
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from helpers.processes import open_store, word_engines
from helpers.small import Terminal, WordEmbedder, python
from helpers.source_files import write

import rag_core
from rag_core import NOTICE
from rag_core.indexing import read_path
from rag_core.runtime.services import Services
from rag_core.sessions.history.record import Asked, AskedColumn
from rag_core.sessions.history.store import History
from rag_core.sessions.panel.room import Candidate, Pair, Question
from rag_core.sessions.panel.store import Rooms
from rag_core.testing import ScriptedLlm
from rag_core.values.errors import ConfigError, DataError, PanelError
from rag_core.values.labels import LabelRules
from rag_core.values.settings import Settings


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def ward(tmp_path: Path, home: Path, labels: LabelRules, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is indexed as the corpus "notes"."""
    files = {"a.txt": "Give anti-D within 72 hours.", "b.txt": "Wash your hands."}
    folder = write(tmp_path / "ward", files)
    open_store(home, "notes").update(read_path(folder))
    engines = word_engines(labels=labels)
    for module in ("lab.opening", "sessions.forgetting"):
        monkeypatch.setattr(f"rag_core.{module}.load_engines", lambda settings, tell=None: engines)
    return folder


def documents(home: Path) -> set[str]:
    index = open_store(home, "notes").open()
    return set(index.manifest.documents) if index else set()


@pytest.fixture
def history(ward: Path, home: Path, labels: LabelRules) -> History:
    """Two questions of "notes" whose results have a passage each, one of the same words asked of another corpus."""
    index = open_store(home, "notes").open()
    kept = History.opened(Settings(home=home))
    services = Services(index=index, embedder=WordEmbedder(), llms={"answer": ScriptedLlm("Yes [1].")}, labels=labels)
    for identity, words, corpus in (
        ("a", "anti-D", "notes"),
        ("b", "hands", "notes"),
        ("c", "anti-D", "other"),
    ):
        trace = rag_core.build("bm25", k_final=1).run(words, services)
        (hit,) = trace.ranking.hits
        assert hit.passage.doc_id == ("b.txt" if identity == "b" else "a.txt")
        column = AskedColumn("bm25", {}, trace.steps, trace=trace)
        kept.add(Asked(identity, datetime(2026, 5, 4, tzinfo=UTC), words, (column,), corpus=corpus))
    return kept


def asked(history: History) -> set[str]:
    return {one.id for one in history.search()}


def test_questions_with_the_text_of_a_forgotten_file_are_counted_and_deleted(ward, rag, history, monkeypatch):
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    ran = rag("forget", str(ward / "a.txt"))
    assert "history: 1 question with their text to delete." in ran.out
    assert asked(history) == {"a", "b", "c"}
    ran = rag("forget", str(ward / "a.txt"), "--yes")
    assert (ran.code, ran.err) == (0, "")
    assert "history: 1 question deleted." in ran.out
    assert asked(history) == {"b", "c"}


def test_rooms_with_the_text_of_a_forgotten_file_are_deleted_with_their_votes(ward, rag, history, home):
    rooms = Rooms.opened(Settings(home=home))
    opened = {}
    for identity in "ab":
        asked = history.find(identity)
        assert asked.columns[0].trace
        trace = replace(asked.columns[0].trace, engine={"index": "notes, 2 documents"})
        room = opened[identity] = rooms.open_room(identity)
        question = Question(asked.question, (Candidate("one", trace), Candidate("other", trace)))
        rooms.vote(rooms.ask(room.code, room.presenter_token, question), rooms.join(room.code), Pair(0, 1), "tie")
    ran = rag("forget", str(ward / "a.txt"), "--yes")
    assert "rooms deleted: 1." in ran.out
    assert len(rooms.votes(opened["b"].code)) == 1
    with pytest.raises(PanelError, match="no room"):
        rooms.votes(opened["a"].code)


def test_another_process_forgets_a_corpus_and_every_question_with_its_text(home, history):
    ran = python("-m", "rag_core", "forget", "notes", "--yes", RAG_HOME=str(home))
    assert (ran.code, ran.err) == (0, "")
    assert "history: 2 questions deleted." in ran.out
    assert asked(history) == {"c"}


@pytest.mark.parametrize(("typed", "left"), [("n\n", 2), ("\n", 2), ("", 2), ("y\n", 0)])
def test_at_a_terminal_it_asks_and_only_a_yes_removes(ward, home, rag, monkeypatch, typed, left):
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    ran = rag("forget", "notes")
    assert ran.out.startswith("notes: 2 documents to forget; the corpus goes with them.")
    assert "Remove them?" in ran.err
    assert len(documents(home)) == left
    assert (ran.code == 0) is (left == 0)
    assert ("forgotten" in ran.out) is (left == 0)
    assert len(list(ward.iterdir())) == 2, "the files stay"


def test_without_a_terminal_it_names_the_option_and_removes_nothing(ward, home, rag, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    ran = rag("forget", "notes")
    assert (ran.code, ran.err) == (1, "rag: Nothing was removed. Add --yes to remove them.\n")
    assert len(documents(home)) == 2


def test_yes_removes_without_a_question_what_was_named_and_keeps_the_rest(ward, home, rag):
    ran = rag("forget", str(ward / "a.txt"), "--yes")
    assert (ran.code, ran.err) == (0, "")
    assert "notes: 1 documents to forget; 1 stay." in ran.out
    assert documents(home) == {"b.txt"}
    assert rag("forget", "notes", "--yes").code == 0
    assert not (home / "corpora" / "notes").exists()


@pytest.mark.parametrize("options", [[], ["--yes"]])
def test_an_unknown_corpus_is_one_line_that_names_what_is_indexed(ward, home, rag, options):
    ran = rag("forget", "nots", *options)
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert "No corpus is named 'nots'" in ran.err
    assert f"notes, {ward}" in ran.err
    assert len(documents(home)) == 2


@pytest.fixture
def two(tmp_path: Path) -> History:
    """The history that the command opens, with two questions."""
    history = History.opened(Settings(home=tmp_path / "home"))
    for day, text in ((4, "Where do cats sleep?"), (5, "Do dogs\x1b[2J bark?")):
        column = AskedColumn("bm25", {})
        history.add(Asked(f"id{day}", datetime(2026, 5, day, 12, tzinfo=UTC), text, (column,)))
    return history


def test_it_lists_the_latest_first(rag, two):
    ran = rag("history")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith("2026-05-05 12:00 Do dogs␛[2J bark?")
    assert "bm25 · 0 of 1 finished · id5" in lines[1]
    assert lines[2] == "2026-05-04 12:00 Where do cats sleep?"


def test_json_and_filters(rag, two):
    assert rag("history", "--words", "CATS", "--json").json == {
        "notice": NOTICE,
        "questions": [
            {"id": "id4", "asked": "2026-05-04T12:00:00+00:00", "question": "Where do cats sleep?",
             "strategies": ["bm25"], "finished": 0}
        ],
    }  # fmt: skip
    assert [one["id"] for one in rag("history", "--since", "2026-05-05", "--json").json["questions"]] == ["id5"]
    assert rag("history", "--strategy", "hyde").out == "No question fits.\n"
    assert rag("history", "--until", "tomorrow").code == 2


def test_deleting(rag, two, monkeypatch):
    assert rag("history", "--delete", "nothing").code == 1
    assert rag("history", "--delete", "id4").out == "1 question deleted.\n"
    monkeypatch.setattr("rag_core.cli.kept.agreed", lambda asked: not asked.startswith("Delete 1 question from "))
    assert rag("history", "--delete", "all").code == 1
    assert two.count() == 1
    assert rag("history", "--delete", "all", "--yes").out == "1 question deleted.\n"
    assert rag("history").out == "No question is kept.\n"


def test_off_says_so(rag, monkeypatch):
    monkeypatch.setenv("RAG_HISTORY", "off")
    ran = rag("history")
    assert (ran.code, ran.err.count("\n")) == (1, 1)
    assert "RAG_HISTORY is off" in ran.err


def test_a_program_removes_by_id_document_or_path(ward, home, history):
    settings = Settings(home=home)
    for wrong in (["b.txt", "c.txt"], [], str(ward / "c.txt")):
        with pytest.raises(DataError, match=r"c\.txt|no such document"):
            rag_core.remove(wrong, "notes", settings=settings)
    assert documents(home) == {"a.txt", "b.txt"}
    with pytest.raises(ConfigError, match="built-in"):
        rag_core.remove(["a.txt"], "obstetrics", settings=settings)
    done = rag_core.remove([rag_core.Document("a.txt", "A", "en", "")], "notes", settings=settings)
    assert done == ["history: 1 question deleted.", "notes: forgotten."]
    assert documents(home) == {"b.txt"}
    assert {one.id for one in history.search()} == {"b", "c"}
    assert rag_core.remove(ward / "b.txt", "notes", settings=settings)[-1] == "notes: forgotten."
    assert not (home / "corpora" / "notes").exists()
