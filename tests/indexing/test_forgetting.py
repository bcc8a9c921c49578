"""`rag forget`: documents leave every index with their text, also those of a folder that no longer exists."""

import shutil
from pathlib import Path

import pytest
from helpers.processes import Writer, held_by_each_part, open_store
from helpers.small import DOCUMENTS, WordEmbedder

from rag_core.documents.documents import Document
from rag_core.indexing import (
    CorpusStore,
    LlmEnricher,
    OfflineEnricher,
    SourceFiles,
    find_forgettable,
    forget_corpus,
    forget_documents,
)
from rag_core.language.thesaurus import Thesaurus
from rag_core.testing import ScriptedLlm
from rag_core.values.errors import DataError, IndexBusy
from rag_core.values.pricing import PriceList

SECRET = "xyloquine"
OFFLINE = OfflineEnricher(Thesaurus(()))


class OtherModel(WordEmbedder):
    weights = key = "words-2"


def files_with(home: Path, text: str = SECRET) -> list[str]:
    found = [path for path in home.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]
    return sorted(str(path.relative_to(home)) for path in found)


def reading(root: Path, *documents: tuple[str, str]) -> SourceFiles:
    made = [Document(name, name, "en", text) for name, text in documents]
    return SourceFiles(str(root), made, {name: name for name, _ in documents})


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    return tmp_path / "ward"


@pytest.fixture
def store(tmp_path: Path, ward: Path) -> CorpusStore:
    """A corpus of two folders: `ward`, which never existed, and the small collection."""
    store = open_store(tmp_path / "home")
    store.update(SourceFiles("/farm", list(DOCUMENTS)))
    store.update(reading(ward, ("a.md", f"Give {SECRET} daily."), ("sub/b.md", "Wash your hands.")))
    return store


def enrich(store: CorpusStore, home: Path, *replies: str) -> None:
    plain = store.open()
    llm = ScriptedLlm(*replies)
    writer = LlmEnricher(llm, PriceList({}), home / "vectors" / "contexts.sqlite")
    store.enriched.follow(plain, writer)


def test_the_documents_of_a_moved_folder_go_with_their_text_and_the_others_stay(store, tmp_path, ward):
    home = tmp_path / "home"
    plain = store.open()
    store.enriched.follow(plain, OFFLINE)
    assert files_with(home)
    (found,) = find_forgettable(home, str(ward))
    assert (found.corpus, found.documents, found.others) == ("animals", {"a.md", "sub/b.md"}, 6)
    assert forget_documents(home, found, WordEmbedder(), lambda subject: OFFLINE) == []
    assert files_with(home) == []
    kept = {document.id for document in DOCUMENTS}
    for index in (open_store(home).open(), open_store(home).enriched.open()):
        assert index is not None
        assert held_by_each_part(index) == [kept] * 3


def test_a_moved_folder_can_be_indexed_again_after_it_was_forgotten(store, tmp_path, ward):
    moved = reading(tmp_path / "moved", ("a.md", "Give nothing."))
    with pytest.raises(DataError, match="from another folder") as clash:
        store.update(moved)
    assert f"rag forget {ward}" in clash.value.next_step
    (found,) = find_forgettable(tmp_path / "home", str(ward))
    forget_documents(tmp_path / "home", found, WordEmbedder(), lambda subject: OFFLINE)
    assert store.update(moved).added == ["a.md"]


@pytest.mark.parametrize(
    ("target", "documents"),
    [("ward/a.md", {"a.md"}), ("ward/sub", {"sub/b.md"}), ("ward/", {"a.md", "sub/b.md"})],
)
def test_a_file_or_folder_below_the_one_that_was_indexed_can_be_forgotten(store, tmp_path, target, documents):
    (found,) = find_forgettable(tmp_path / "home", f"{tmp_path}/{target}")
    assert found.documents == documents
    forget_documents(tmp_path / "home", found, WordEmbedder(), lambda subject: OFFLINE)
    index = open_store(tmp_path / "home").open()
    assert not documents & set(index.manifest.documents)


@pytest.mark.parametrize("target", ["nothing", "/nowhere", "", " ", "ward-round", "war", "../home"])
def test_a_target_with_no_documents_names_what_is_indexed(store, tmp_path, ward, target, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="No corpus") as unknown:
        find_forgettable(tmp_path / "home", target)
    assert "animals" in unknown.value.next_step
    assert str(ward) in unknown.value.next_step


def test_a_corpus_goes_with_everything_even_when_its_index_is_damaged(store, tmp_path):
    home = tmp_path / "home"
    open_store(home, "birds").update(reading(tmp_path, ("c.md", "Hens lay.")))
    enrich(store, home, f"It is about {SECRET}.")
    assert "vectors/contexts.sqlite" in files_with(home)
    for manifest in store.folder.glob("*/manifest.json"):
        manifest.write_text("{")
    (found,) = find_forgettable(home, "animals")
    assert found.others == 0
    forget_corpus(home, "animals")
    assert files_with(home) == []
    assert [path.name for path in (home / "corpora").iterdir()] == ["birds"]


def test_contexts_that_a_model_wrote_go_and_those_of_other_documents_stay(store, tmp_path, ward):
    home = tmp_path / "home"
    enrich(store, home, *(f"It is about {word}." for word in ("cats", "dogs", "hens", "goats", "fish", "eels")),
           f"It is about {SECRET}.", "It is about soap.", "Last.")  # fmt: skip
    assert "vectors/contexts.sqlite" in files_with(home, "about cats")
    (found,) = find_forgettable(home, str(ward))
    (note,) = forget_documents(home, found, WordEmbedder(), lambda subject: OFFLINE)
    assert "--enrich" in note
    assert files_with(home) == []
    assert "vectors/contexts.sqlite" in files_with(home, "about")


def test_the_index_for_another_model_goes_with_a_note(store, tmp_path, ward):
    home = tmp_path / "home"
    CorpusStore(home, "animals", OtherModel()).update(
        reading(ward, ("a.md", f"Give {SECRET} daily."), ("c.md", "Rest."))
    )
    (found,) = find_forgettable(home, str(ward / "a.md"))
    (note,) = forget_documents(home, found, WordEmbedder(), lambda subject: OFFLINE)
    assert "words-2" in note
    assert files_with(home) == []


def test_an_index_that_is_being_written_is_not_forgotten(store, tmp_path):
    writer = Writer(tmp_path / "home", "animals", "/hens")
    try:
        with pytest.raises(IndexBusy, match="Another process is writing"):
            forget_corpus(tmp_path / "home", "animals")
    finally:
        writer.finish()
    assert store.open() is not None


def test_text_that_a_reader_has_open_is_forgotten_and_the_reader_finds_the_new_index(store, tmp_path, ward):
    home = tmp_path / "home"
    reader = open_store(home)
    before = reader.open()
    (found,) = find_forgettable(home, str(ward))
    forget_documents(home, found, WordEmbedder(), lambda subject: OFFLINE)
    assert files_with(home) == []
    after = reader.open()
    assert after is not before
    assert "a.md" not in after.manifest.documents


def test_a_state_folder_that_is_not_there_has_nothing(tmp_path):
    shutil.rmtree(tmp_path / "home", ignore_errors=True)
    with pytest.raises(DataError, match="No corpus"):
        find_forgettable(tmp_path / "home", "animals")
