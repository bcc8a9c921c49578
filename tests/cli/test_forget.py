"""`rag forget` as a command: it asks first, removes nothing on a no, and what it names can be indexed again."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from helpers.fakes import Unfitted, WordReranker
from helpers.processes import open_store
from helpers.small import Rag, ScriptedLlm, WordEmbedder

from rag_core.indexing import read_path
from rag_core.lab.engines import Engines
from rag_core.language.thesaurus import Thesaurus
from rag_core.values.labels import LabelRules
from rag_core.values.pricing import PriceList


class Terminal(io.StringIO):
    """What somebody types at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def ward(tmp_path: Path, home: Path, labels: LabelRules, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is indexed as the corpus "notes"."""
    folder = tmp_path / "ward"
    folder.mkdir()
    (folder / "a.txt").write_text("Give anti-D within 72 hours.")
    (folder / "b.txt").write_text("Wash your hands.")
    open_store(home, "notes").update(read_path(folder))
    engines = Engines(
        PriceList({}),
        labels,
        WordEmbedder(),
        Unfitted(),
        WordReranker(),
        Thesaurus(()),
        {"answer": ScriptedLlm()},
    )
    for module in ("engines", "opening"):
        monkeypatch.setattr(f"rag_core.lab.{module}.load_engines", lambda settings, tell=None: engines)
    return folder


def documents(home: Path) -> set[str]:
    index = open_store(home, "notes").open()
    return set(index.manifest.documents) if index else set()


@pytest.mark.parametrize(("typed", "left"), [("n\n", 2), ("\n", 2), ("", 2), ("y\n", 0)])
def test_at_a_terminal_it_asks_and_only_a_yes_removes(
    ward: Path, home: Path, rag: Rag, monkeypatch: pytest.MonkeyPatch, typed: str, left: int
) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(typed))
    ran = rag("forget", "notes")
    assert ran.out.startswith("notes: 2 documents to forget; the corpus goes with them.")
    assert "Remove them?" in ran.err
    assert len(documents(home)) == left
    assert (ran.code == 0) is (left == 0)
    assert ("forgotten" in ran.out) is (left == 0)
    assert len(list(ward.iterdir())) == 2, "the files stay"


def test_without_a_terminal_it_names_the_option_and_removes_nothing(
    ward: Path, home: Path, rag: Rag, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    ran = rag("forget", "notes")
    assert (ran.code, ran.err) == (1, "rag: Nothing was removed. Add --yes to remove them.\n")
    assert len(documents(home)) == 2


def test_yes_removes_without_a_question_what_was_named_and_keeps_the_rest(
    ward: Path, home: Path, rag: Rag
) -> None:
    ran = rag("forget", str(ward / "a.txt"), "--yes")
    assert (ran.code, ran.err) == (0, "")
    assert "notes: 1 documents to forget; 1 stay." in ran.out
    assert documents(home) == {"b.txt"}
    assert rag("forget", "notes", "--yes").code == 0
    assert not (home / "corpora" / "notes").exists()


@pytest.mark.parametrize("options", [[], ["--yes"]])
def test_an_unknown_corpus_is_one_line_that_names_what_is_indexed(
    ward: Path, home: Path, rag: Rag, options: list[str]
) -> None:
    ran = rag("forget", "nots", *options)
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert "No corpus is named 'nots'" in ran.err
    assert f"notes, {ward}" in ran.err
    assert len(documents(home)) == 2


def test_a_folder_that_moved_is_indexed_again_after_the_command_that_the_error_names(
    ward: Path, home: Path, rag: Rag
) -> None:
    moved = ward.rename(ward.with_name("moved"))
    refused = rag("index", str(moved), "--corpus", "notes")
    assert (refused.code, refused.err.count("\n")) == (1, 1)
    assert f"`rag forget {ward}`" in refused.err
    assert rag("forget", str(ward), "--yes").code == 0
    assert rag("index", str(moved), "--corpus", "notes").code == 0
    assert documents(home) == {"a.txt", "b.txt"}
