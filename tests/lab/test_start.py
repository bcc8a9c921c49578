"""What a start does without: parsing the built-in files when none of them changed."""

from pathlib import Path

import pytest
from helpers.processes import word_engines
from helpers.source_files import write

from rag_core.documents.documents import BUILTIN
from rag_core.indexing import find_documents, forget_documents
from rag_core.lab import opening
from rag_core.lab.lab import Lab
from rag_core.values.settings import Settings

LEAFLET = "---\nid: {name}\ntitle: Visits\nlanguage: en\n---\n\nVisiting hours on the ward are from {hour} to 8.\n"


@pytest.fixture
def leaflets(tmp_path: Path) -> Path:
    files = {f"{name}.md": LEAFLET.format(name=name, hour=2) for name in ("visits", "nights")}
    return write(tmp_path / "data" / "corpus", files)


@pytest.fixture
def opened(tmp_path: Path, leaflets: Path, monkeypatch):
    """Opens the built-in corpus, and says whether its files were read."""
    read, reads = opening.read_path, []
    monkeypatch.setattr(opening, "read_path", lambda *given, **more: reads.append(1) or read(*given, **more))

    def open_it() -> tuple[Lab, bool]:
        reads.clear()
        settings = Settings(home=tmp_path / "home", data=tmp_path / "data")
        return opening.open_lab(settings=settings, engines=word_engines()), bool(reads)

    return open_it


def test_the_built_in_files_are_read_when_they_are_new_or_changed_and_else_not(opened, leaflets):
    assert [opened()[1] for _ in range(3)] == [True, False, False]
    (leaflets / "visits.md").write_text(LEAFLET.format(name="visits", hour=3))
    lab, read = opened()
    assert read
    assert any("from 3 to 8" in one.text for one in lab.passages.values())
    assert not opened()[1]
    (leaflets / "nights.md").unlink()
    lab, read = opened()
    assert read
    assert len(lab.passages) == 1


def test_they_are_read_when_the_index_is_not_the_one_that_was_made_of_them(opened, tmp_path):
    lab, _ = opened()
    (name, *_) = lab.index.manifest.documents
    gone = find_documents(tmp_path / "home", BUILTIN, [name])
    engines = lab.engines
    del lab
    forget_documents(tmp_path / "home", gone, engines.embedder, engines.enricher)
    lab, read = opened()
    assert read
    assert len(lab.passages) == 2


def test_a_damaged_index_is_rebuilt_though_the_files_are_the_same(opened):
    lab, _ = opened()
    (lab.index.generation / "passages" / "ids.npy").write_bytes(b"")
    del lab
    lab, read = opened()
    assert read
    assert len(lab.passages) == 2
