"""Damaged, shuffled, moved and busy indexes: what is wrong is named, and opening or indexing mends it."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.processes import Writer, garble, held_by_each_part, open_store, remove, word_engines
from helpers.small import DOCUMENTS, WordEmbedder

import rag_core
from rag_core.documents.documents import BUILTIN, Document
from rag_core.indexing import CorpusIndex, CorpusStore, SourceFiles, read_path
from rag_core.indexing.bm25 import Bm25Index
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.testing import ScriptedLlm
from rag_core.values.errors import DataError, IndexDamaged, RagError
from rag_core.values.labels import LabelRules
from rag_core.values.settings import Settings


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


Damage = Callable[[Path], None]
NAMED = {
    "CURRENT": "CURRENT",
    "gen-*": "CURRENT",
    "manifest.json": "manifest.json",
    "lexical": "lexical/",
    "passages": "passages/",
    "docstore.json": "docstore.json",
    "vectors.npy": "vector store",
}
DAMAGES = [(name, damage) for name in NAMED for damage in (remove, garble) if name != "gen-*"]
DAMAGES += [("CURRENT", shorten), ("manifest.json", shorten), ("vectors.npy", shorten), ("gen-*", remove)]
# However a part is damaged, opening the index raises the same: for a lab one damage of each part will do.
LABS = [(corpus, name) for corpus in ("animals", BUILTIN) for name in NAMED]
LOSES_DOCUMENTS = ("docstore.json", "gen-*")
FILES = {f"{document.id}.txt" for document in DOCUMENTS}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of documents, and state folders with an index of them as each corpus."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "data" / "corpus").mkdir(parents=True)
    for document in DOCUMENTS:
        (folder / "data" / "corpus" / f"{document.id}.txt").write_text(document.text)
    for corpus in (BUILTIN, "animals"):
        open_store(folder / corpus, corpus).update(read_path(folder / "data" / "corpus"))
    return folder


@pytest.fixture(scope="module")
def reading(built: Path) -> SourceFiles:
    """The documents of `built`, read once."""
    return read_path(built / "data" / "corpus")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def damaged(built: Path, home: Path, corpus: str, name: str, damage: Damage) -> CorpusStore:
    """A copy of a built index, at a path that this process has not opened before, damaged."""
    shutil.copytree(built / corpus, home)
    (path,) = (home / "corpora").rglob(name)
    damage(path)
    return open_store(home, corpus)


@pytest.fixture
def open_corpus(
    monkeypatch: pytest.MonkeyPatch, built: Path, home: Path, labels: LabelRules, llm: ScriptedLlm
) -> Callable[[str], Lab]:
    """open_lab, the models replaced by fakes."""
    engines = word_engines(labels=labels, paid={"answer": llm})
    monkeypatch.setattr("rag_core.lab.opening.load_engines", lambda settings, tell=None: engines)
    return lambda corpus: open_lab(corpus, settings=Settings(home=home, data=built / "data", llm="offline"))


def assert_whole(index: CorpusIndex | None) -> None:
    assert held_by_each_part(index) == [FILES] * 3
    assert [hit.passage.doc_id for hit in index.lexical("purr", 9, 1.5, 0.75)] == ["a.txt"]


@pytest.mark.parametrize(("name", "damage"), DAMAGES)
def test_opening_a_damaged_index_names_the_part(built, home, name, damage):
    store = damaged(built, home, "animals", name, damage)
    with pytest.raises(IndexDamaged, match=NAMED[name]) as found:
        store.open()
    assert "'animals'" in found.value.message
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(("corpus", "name"), LABS)
def test_opening_a_lab_rebuilds_a_damaged_index_and_says_so(built, home, open_corpus, corpus, name):
    damaged(built, home, corpus, name, remove)
    if corpus != BUILTIN and name in LOSES_DOCUMENTS:
        with pytest.raises(IndexDamaged, match=NAMED[name]) as lost:
            open_corpus(corpus)
        assert "rag index" in lost.value.next_step
        return
    lab = open_corpus(corpus)
    warning, *more = lab.warnings
    assert bool(more) == (name == "gen-*")  # nothing is left that says what else it held
    assert NAMED[name] in warning
    assert "rebuilt" in warning
    assert_whole(lab.index)
    assert open_corpus(corpus).warnings == []


@pytest.mark.parametrize("corpus", [BUILTIN, "animals"])
def test_opening_a_lab_renews_an_index_made_with_another_gloss(built, home, open_corpus, corpus):
    def another_gloss(manifest: Path) -> None:
        text = manifest.read_text(encoding="utf-8")
        manifest.write_text(text.replace('"words-1"', '"words-1+gloss@1a2b3c4d"'), encoding="utf-8")

    damaged(built, home, corpus, "manifest.json", another_gloss)
    lab = open_corpus(corpus)
    assert (lab.index.manifest.embedding, lab.warnings) == ("words-1", [])
    assert lab.index.generation.name == "gen-000002"
    assert_whole(lab.index)


@pytest.mark.parametrize(("name", "damage"), DAMAGES)
def test_indexing_again_mends_a_damaged_index_and_embeds_nothing(built, reading, home, name, damage):
    store = damaged(built, home, "animals", name, damage)
    assert store.update(reading).embedded == 0
    assert_whole(store.open())


@pytest.mark.parametrize("name", ["manifest.json", "lexical", "vectors.npy"])
def test_mending_keeps_the_documents_of_other_roots(built, home, open_corpus, name):
    shutil.copytree(built / BUILTIN, home / "before")
    open_store(home / "before", BUILTIN).update(SourceFiles("/hens", [Document("h", "Hens", "en", "Hens lay.")]))
    shutil.rmtree(home / "before" / "corpora" / BUILTIN / "words-1" / "gen-000001")
    damaged(home, home / "after", "before", name, remove)
    for entry in (home / "after").iterdir():
        entry.rename(home / entry.name)
    assert held_by_each_part(open_corpus(BUILTIN).index) == [FILES | {"h"}] * 3


HENS = Document("h", "Hens", "en", "Hens lay.")
GOATS = Document("g", "Goats", "en", "Goats climb.")
TOADS = Document("t", "Toads", "en", "Toads hop.")


def lose(store: CorpusStore, *parts: str) -> None:
    newest = max(store.folder.glob("gen-*"))
    for part in parts:
        remove(newest / part)


@pytest.mark.parametrize("corpus", [BUILTIN, "animals"])
def test_documents_lost_with_an_index_are_told_and_older_versions_never_stand_in(built, home, open_corpus, corpus):
    shutil.copytree(built / corpus, home)
    open_corpus(corpus)
    store = open_store(home, corpus)
    store.update(SourceFiles("/farm", [HENS, GOATS]))
    reader = store.open()  # keeps the older generation
    store.update(SourceFiles("/farm", [replace(HENS, text="Hens brood."), GOATS]))
    assert len(list(store.folder.glob("gen-*"))) == 2
    lose(store, "docstore.json")
    lab = open_corpus(corpus)
    rebuilt, told = lab.warnings
    assert "docstore.json" in rebuilt
    assert told == (
        f"Not in corpus '{corpus}' (1): /farm: 1 of its documents lost; run `rag index /farm --corpus {corpus}`."
    )
    assert held_by_each_part(lab.index) == [FILES | {"g"}] * 3
    del reader
    assert open_corpus(corpus).warnings == []


def test_a_document_that_had_been_removed_does_not_come_back_with_an_older_generation(home):
    store = open_store(home)
    store.update(SourceFiles("/farm", [HENS, GOATS]))
    reader = store.open()  # keeps the older generation
    store.update(SourceFiles("/farm", [GOATS]))
    assert reader.generation.is_dir()
    lose(store, "docstore.json")
    assert open_store(home).rebuild().failed == []
    assert set(open_store(home).open().manifest.documents) == {"g"}


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        (["docstore.json"], ("/pond", "1 of its documents lost; run `rag index /pond --corpus animals`")),
        (["docstore.json", "manifest.json"], ("other folders", "their names are unknown")),
        (["."], ("other folders", "their names are unknown")),
    ],
    ids=["documents", "documents and their list", "whole generation"],
)
@pytest.mark.parametrize("older", [True, False], ids=["an older generation", "no older generation"])
def test_indexing_one_folder_again_tells_what_is_lost_of_the_others(home, parts, told, older):
    store = open_store(home)
    store.update(SourceFiles("animals", list(DOCUMENTS)))  # as the built-in corpus reads its own documents
    store.update(SourceFiles("/farm", [HENS]))
    store.update(SourceFiles("/pond", [TOADS]))
    lose(store, *parts)
    if not older:
        remove(store.folder / "gen-000002")
    report = open_store(home).update(SourceFiles("/farm", [GOATS]))
    ((root, reason),) = report.failed
    assert root == told[0]
    assert reason.startswith(told[1])
    stood_in = {document.id for document in DOCUMENTS} if older else set()
    assert set(open_store(home).open().manifest.documents) == {"g"} | stood_in


@pytest.mark.parametrize("corpus", [BUILTIN, "animals"])
def test_an_index_that_has_not_changed_is_opened_and_checked_once(built, home, open_corpus, monkeypatch, corpus):
    shutil.copytree(built / corpus, home)
    lab = open_corpus(corpus)
    before = [index.generation for index in (lab.index, lab.enriched) if index]
    assert len(before) == (2 if corpus == BUILTIN else 1)
    opened: list[Path] = []
    open_index = CorpusIndex.open

    def counted(generation: Path, *more: Any, **options: Any) -> CorpusIndex:
        opened.append(generation)
        return open_index(generation, *more, **options)

    monkeypatch.setattr(CorpusIndex, "open", counted)
    assert_whole(open_corpus(corpus).index)
    assert opened == before


def test_the_built_in_corpus_opens_after_its_documents_moved_to_another_folder(built, home, tmp_path, open_corpus):
    shutil.copytree(built / BUILTIN, home)
    shutil.copytree(built / "data", tmp_path / "moved")
    moved = Settings(home=home, data=tmp_path / "moved", llm="offline")
    assert_whole(open_lab(settings=moved).index)


def test_the_built_in_corpus_opens_while_another_process_writes_it(built, home, open_corpus):
    shutil.copytree(built / BUILTIN, home)
    writer = Writer(home, BUILTIN, "/hens")
    try:
        assert_whole(open_corpus(BUILTIN).index)
    finally:
        writer.finish()


def test_an_open_lab_answers_from_what_another_process_wrote(built, home, open_corpus):
    shutil.copytree(built / BUILTIN, home)
    lab = open_corpus(BUILTIN)
    before = lab.index
    Writer(home, BUILTIN, "/hens").finish()
    assert held_by_each_part(lab.index) == [FILES | {"h"}] * 3
    assert held_by_each_part(before) == [FILES] * 3
    assert lab.index.name.startswith("obstetrics, 7 passages, generation ")
    assert lab.index.name != before.name


@pytest.mark.parametrize("files", [None, [], ["photo.jpg"]], ids=["missing", "empty", "no document"])
def test_built_in_documents_that_are_not_there_are_told_before_a_model_is_loaded(home, tmp_path, monkeypatch, files):
    monkeypatch.setattr("rag_core.lab.opening.load_engines", lambda settings, tell=None: pytest.fail("loaded"))
    folder = tmp_path / "data" / "corpus"
    if files is not None:
        folder.mkdir(parents=True)
        for name in files:
            (folder / name).write_bytes(b"x")
    with pytest.raises(DataError, match="built-in documents are missing") as told:
        open_lab(settings=Settings(home=home, data=tmp_path / "data"))
    assert str(folder) in told.value.message
    assert "RAG_DATA" in told.value.next_step


@pytest.mark.parametrize("corpus", ["", ".", "..", "../x", "a/b", "a b", ".hidden", "a\0b"])
def test_a_corpus_name_that_is_no_folder_name_is_refused(built, home, open_corpus, corpus):
    with pytest.raises(RagError, match="is not a valid corpus name"):
        open_corpus(corpus)
    with pytest.raises(RagError, match="is not a valid corpus name"):
        rag_core.index(built / "data" / "corpus", corpus, settings=Settings(home=home))
    assert not home.exists()


def reopened(store: CorpusStore) -> CorpusStore:
    """The same corpus as another process sees it."""
    return CorpusStore(store.folder.parents[2], store.corpus, WordEmbedder())


def test_vectors_that_changed_places_are_noticed(store, index):
    path = index.generation / "vectors.npy"
    rows = np.load(path)
    path.unlink()  # the open index maps the file
    np.save(path, rows[::-1])
    with pytest.raises(IndexDamaged, match="vector store"):
        reopened(store).open()


@pytest.mark.parametrize("gone", ["docstore.json", "passages/", "lexical/", "vectors.npy", ""])
def test_a_manifest_without_a_checksum_is_not_accepted(store, index, gone):
    path = index.generation / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["checksums"] = {name: value for name, value in manifest["checksums"].items() if not name.startswith(gone)}
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(IndexDamaged, match=f"no checksum of .*{gone.rstrip('/')}"):
        reopened(store).open()


def test_an_index_that_another_model_made_is_rebuilt_and_not_searched(store, index):
    path = index.generation / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**manifest, "embedding": "other-1"}), encoding="utf-8")
    again = reopened(store)
    with pytest.raises(IndexDamaged, match="made with other-1, not with words-1"):
        again.open()
    again.update(SourceFiles("test", list(DOCUMENTS)))
    assert again.open().manifest.embedding == "words-1"


def test_statistics_of_other_passages_score_otherwise_than_rank_bm25(index):
    questions = ["When do cats purr?", "Do zebras swim?"]
    assert index.differs_from_rank_bm25(questions) == []
    index._bm25 = Bm25Index.fit([["cat"], *([["dog", "purr"]] * 9)][: len(index.passages)])
    assert questions[0] in index.differs_from_rank_bm25(questions)
