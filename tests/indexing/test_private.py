"""What stays on disk: only its owner can open it, and neither removed text nor a dead process's folder stays."""

import os
import struct
from pathlib import Path

import pytest
from helpers.processes import open_store
from helpers.small import DOCUMENTS

from rag_core.documents.documents import Document
from rag_core.indexing import OfflineEnricher, SourceFiles
from rag_core.indexing.chroma import DATABASE
from rag_core.indexing.uploads import Upload, UploadFolder, clear_staged
from rag_core.language.thesaurus import Thesaurus

SECRET = "xyloquine"
OFFLINE = OfflineEnricher(Thesaurus(()))
PRIVATE = Document("p", "Mrs Pereira", "en", f"Mrs Pereira takes {SECRET} every evening.")
CORRECTED = Document("p", "Mrs Pereira", "en", "Mrs Pereira takes nothing.")


def open_to_others(home: Path) -> list[Path]:
    return [path for path in [home, *home.rglob("*")] if path.stat().st_mode & 0o077]


def files_with(home: Path, text: str) -> list[str]:
    forms = (text.encode(), text.encode("utf-16-le"), text.upper().encode())
    files = [path for path in home.rglob("*") if path.is_file()]
    return [path.name for path in files if any(form in path.read_bytes() for form in forms)]


def test_a_new_state_folder_is_private_whatever_the_umask(tmp_path, umask):
    home = tmp_path / "new" / "home"
    store = open_store(home)
    store.update(SourceFiles("test", list(DOCUMENTS)))
    store.enriched.follow(store.open(), OFFLINE)
    assert open_to_others(home) == []
    assert len(list(home.rglob("*"))) > 10


def test_a_state_folder_that_others_can_read_becomes_private_when_it_is_written(tmp_path):
    home = tmp_path / "home"
    open_store(home).update(SourceFiles("test", list(DOCUMENTS)))
    for path in [home, *home.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    open_store(home).update(SourceFiles("test", [*DOCUMENTS, PRIVATE]))
    assert open_to_others(home) == []


def test_a_folder_with_files_of_others_keeps_its_mode(tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "letters").mkdir(mode=0o755)
    open_store(tmp_path).update(SourceFiles("test", list(DOCUMENTS)))
    shared = {tmp_path, tmp_path / "letters"}
    assert set(open_to_others(tmp_path)) == shared


@pytest.mark.parametrize("after", [[], [CORRECTED]], ids=["removed", "changed"])
def test_the_text_of_a_removed_or_changed_document_does_not_stay(tmp_path, after):
    store = open_store(tmp_path)
    store.update(SourceFiles("test", [*DOCUMENTS, PRIVATE]))
    store.enriched.follow(store.open(), OFFLINE)
    assert files_with(tmp_path, SECRET).count(DATABASE) == 2
    store.update(SourceFiles("test", [*DOCUMENTS, *after]))
    store.enriched.follow(store.open(), OFFLINE)
    assert files_with(tmp_path, SECRET) == []


def test_a_generation_that_is_being_read_goes_once_its_reader_opens_the_next(tmp_path):
    open_store(tmp_path).update(SourceFiles("test", [*DOCUMENTS, PRIVATE]))
    reader = open_store(tmp_path)
    index = reader.open()
    open_store(tmp_path).update(SourceFiles("test", list(DOCUMENTS)))
    assert [hit.passage.doc_id for hit in index.lexical(SECRET, 5, 1.5, 0.75)] == ["p"]
    assert files_with(tmp_path, SECRET)
    del index
    assert reader.open() is not None
    assert files_with(tmp_path, SECRET) == []


def test_a_generation_whose_documents_are_all_current_is_kept_to_recover_from(tmp_path):
    store = open_store(tmp_path)
    store.update(SourceFiles("test", list(DOCUMENTS)))
    store.update(SourceFiles("test", [*DOCUMENTS, PRIVATE]))
    assert len(list(store.folder.glob("gen-*"))) == 2


def test_vector_files_have_no_memory_of_the_process_in_their_unused_part(tmp_path):
    for documents in (DOCUMENTS[:1], DOCUMENTS):
        waste = [bytearray(SECRET.encode() * 20_000) for _ in range(50)]
        del waste
        open_store(tmp_path).update(SourceFiles("test", list(documents)))
    open_store(tmp_path).open().vector_store()  # a reader writes nothing into them either
    (header,) = open_store(tmp_path).folder.glob("gen-000002/chroma/*/header.bin")
    _, _, capacity, elements, size, *_ = struct.unpack_from("=i6Q", header.read_bytes())
    data = header.with_name("data_level0.bin").read_bytes()
    assert (elements, len(data)) == (len(DOCUMENTS), capacity * size)
    assert set(data[elements * size :]) == {0}
    lengths = header.with_name("length.bin").read_bytes()
    assert len(lengths) == capacity * 4
    assert set(lengths[elements * 4 :]) == {0}


PREFIX = ".new-"


def test_a_folder_that_a_killed_process_left_goes_and_nothing_else_does(tmp_path):
    place = tmp_path / "uploads"
    for name in ("mine", f"{PREFIX}left", "other"):
        (place / name).mkdir(parents=True)
        (place / name / "file").touch()
    (place / f"{PREFIX}link").symlink_to(place / "mine")
    (place / f"{PREFIX}new").mkdir()  # not locked yet
    (place / f"{PREFIX}empty").mkdir()
    os.utime(place / f"{PREFIX}empty", (0, 0))
    with UploadFolder(tmp_path, "mine").staged([Upload("file", b"text")]) as used:
        clear_staged(tmp_path)
        assert {path.name for path in place.iterdir()} == {
            "mine", "other", f"{PREFIX}link", f"{PREFIX}new", used.name,
        }  # fmt: skip
        assert [(place / name / "file").exists() for name in ("mine", "other", used.name)] == [True] * 3
    assert not used.exists()
