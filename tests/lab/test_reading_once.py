"""The built-in documents are read again only where something changed since the index was made from them."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.processes import word_engines

from rag_core.indexing import read_before
from rag_core.lab import opening
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.values.settings import Settings

LEAFLET = "---\nid: {id}\ntitle: Visits\nlanguage: en\n---\n\nVisiting hours on the ward are from {hours}.\n"


class Ward:
    """Built-in documents of one leaflet, and how often they are read."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.settings = Settings(home=folder / "home", data=folder / "data")
        self.corpus = folder / "data" / "corpus"
        self.corpus.mkdir(parents=True)
        self.times = 0
        read = opening.builtin_files

        def reading(*given, **more):
            self.times += 1
            return read(*given, **more)

        monkeypatch.setattr(opening, "OUR_DATA", self.settings.data)
        monkeypatch.setattr(opening, "builtin_files", reading)

    def write(self, name: str, hours: str) -> None:
        (self.corpus / f"{name}.md").write_text(LEAFLET.format(id=name, hours=hours))

    def open(self) -> Lab:
        return open_lab(settings=self.settings, engines=word_engines())


@pytest.fixture
def ward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ward:
    ward = Ward(tmp_path, monkeypatch)
    ward.write("visits", "2 to 8")
    ward.open()
    return ward


def texts(lab: Lab) -> str:
    return " ".join(passage.text for passage in lab.passages.values())


def test_unchanged_documents_are_read_once(ward: Ward) -> None:
    assert "2 to 8" in texts(ward.open())
    assert ward.times == 1


def test_a_changed_a_new_and_a_removed_document_is_read(ward: Ward) -> None:
    ward.write("visits", "3 to 7")  # as long as before
    assert "3 to 7" in texts(ward.open())
    ward.write("fathers", "1 to 9")
    assert {"3 to 7", "1 to 9"} == {
        text for text in ("2 to 8", "3 to 7", "1 to 9") if text in texts(ward.open())
    }
    (ward.corpus / "visits.md").unlink()
    assert "3 to 7" not in texts(ward.open())
    assert ward.times == 4


def test_a_file_that_cannot_be_read_is_told_of_each_time(ward: Ward) -> None:
    (ward.corpus / "empty.md").write_text("\n")
    warned = ward.open().warnings
    assert "empty.md" in str(warned)
    assert ward.open().warnings == warned


def test_an_index_that_another_command_wrote_or_that_is_damaged_is_made_from_them_again(ward: Ward) -> None:
    lab = ward.open()
    lab._store.forget(["visits.md"])
    assert "2 to 8" in texts(ward.open())
    (ward.open().index.generation / "passages.json").write_text("[]")
    lab = ward.open()
    assert "2 to 8" in texts(lab)
    assert "rebuilt" in str(lab.warnings)


def test_changed_code_reads_them_again(ward: Ward, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = tmp_path / "code" / "parser.py"
    code.parent.mkdir()
    code.write_text("text = text")
    monkeypatch.setattr(read_before, "OUR_CODE", code.parent)
    ward.open()
    code.write_text("text = text.strip()")
    ward.open()
    ward.open()
    assert ward.times == 3
