"""Indexing that is killed, kept out or has no room: the old index stays, and one flipped bit is found."""

import os
import random
import resource
import shutil
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from helpers.chroma_server import chroma_server, collections
from helpers.kills import REQUEST, documents_of, kill_writer, version_served, writer_moments
from helpers.processes import Writer, held_by_each_part, open_store, run
from helpers.small import DOCUMENTS, WordEmbedder
from pydantic import SecretStr

from rag_core.documents.documents import Document
from rag_core.indexing import CorpusIndex, CorpusStore, SourceFiles, stores
from rag_core.indexing.chroma import FOLDER
from rag_core.values.errors import IndexBusy, IndexDamaged, StorageError
from rag_core.values.settings import Settings

OLD = {document.id for document in DOCUMENTS}
CHANGED = [*DOCUMENTS[1:], Document("g", "Goats", "en", "Goats climb on rocks.")]
NEW = {document.id for document in CHANGED}
EVENTS = ("split", "embed", "lexical", "store", "check", "commit", "ready")


def assert_whole(index: CorpusIndex | None, documents: set[str]) -> None:
    assert held_by_each_part(index) == [documents] * 3
    words = [hit.passage.doc_id for hit in index.lexical("cats goats dogs birds", 100, 1.5, 0.75)]
    assert sorted(words) == sorted({"a", "b", "c", "e", "g"} & documents)


def open_copy(indexed: Path, home: Path) -> CorpusStore:
    shutil.copytree(indexed, home, dirs_exist_ok=True)
    return open_store(home)


def die_at(_: Connection, home: Path, event: str) -> None:
    def progress(what: str, done: int, total: int) -> None:
        if what == event:
            os.kill(os.getpid(), signal.SIGKILL)

    open_store(home).update(SourceFiles("test", CHANGED), progress)


def generations(store: CorpusStore) -> list[str]:
    return sorted(path.name for path in store.folder.glob("gen-*"))


def test_an_update_tells_its_steps_in_this_order(store):
    told: list[str] = []
    store.update(SourceFiles("test", list(DOCUMENTS)), lambda what, done, total: told.append(what))
    assert tuple(dict.fromkeys(told)) == EVENTS


@pytest.mark.parametrize("event", ["store", "commit", "ready"])
def test_a_first_indexing_that_is_killed_leaves_no_index_or_a_whole_one(tmp_path, event):
    store = open_store(tmp_path)
    assert run(die_at, tmp_path, event) == (-signal.SIGKILL, None)
    if event == "store":
        assert store.open() is None
    if event == "ready":
        assert_whole(store.open(), NEW)
    store.update(SourceFiles("test", CHANGED))
    index = store.open()
    assert_whole(index, NEW)
    assert generations(store) == [index.generation.name]


def test_what_was_embedded_before_a_crash_is_not_embedded_again(tmp_path):
    assert run(die_at, tmp_path, "store")[0] == -signal.SIGKILL
    embedder = WordEmbedder()
    report = CorpusStore(tmp_path, "animals", embedder).update(SourceFiles("test", CHANGED))
    assert (report.embedded, embedder.asked) == (0, [])


def test_a_second_writer_is_told_in_one_line_and_nothing_is_lost(indexed_documents, tmp_path):
    store = open_copy(indexed_documents, tmp_path)
    writer = Writer(tmp_path, "animals", "/hens")
    with pytest.raises(IndexBusy, match="Another process is writing the index of corpus 'animals'") as busy:
        store.update(SourceFiles("test", CHANGED))
    assert "\n" not in str(busy.value)
    assert_whole(store.open(), OLD)
    writer.finish()
    assert_whole(store.open(), OLD | {"h"})
    store.update(SourceFiles("test", CHANGED))
    assert_whole(store.open(), NEW | {"h"})


def test_another_corpus_can_be_written_at_the_same_time(indexed_documents, tmp_path):
    writer = Writer(tmp_path, "hens", "/hens")
    store = open_copy(indexed_documents, tmp_path)
    writer.finish()
    assert_whole(store.open(), OLD)


def fill_disk_at(sender: Connection, home: Path, event: str) -> None:
    def progress(what: str, done: int, total: int) -> None:
        if what == event:
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    progress(event if event == "start" else "", 0, 0)
    try:
        open_store(home).update(SourceFiles("test", CHANGED), progress)
        sender.send(None)
    except BaseException as error:
        sender.send((type(error).__name__, str(error)))


@pytest.mark.parametrize("event", ["start", "embed", "store", "lexical", "commit"])
def test_a_disk_that_fills_up_is_one_clear_line_and_the_old_index_stays(indexed_documents, tmp_path, event):
    store = open_copy(indexed_documents, tmp_path)
    code, (kind, message) = run(fill_disk_at, tmp_path, event)
    assert (code, kind) == (0, "StorageError")
    assert "\n" not in message
    assert "disk space" in message
    assert generations(store) == ["gen-000001"]
    assert_whole(store.open(), OLD)
    store.update(SourceFiles("test", CHANGED))
    assert_whole(store.open(), NEW)


def test_a_state_folder_that_is_a_file_is_one_clear_line(tmp_path):
    (tmp_path / "home").write_text("")
    with pytest.raises(StorageError, match="cannot be written") as refused:
        open_store(tmp_path / "home").update(SourceFiles("test", CHANGED))
    assert "\n" not in str(refused.value)
    assert "RAG_HOME" in refused.value.next_step


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into every folder")
def test_a_state_folder_that_may_not_be_written_is_one_clear_line(tmp_path):
    store = open_store(tmp_path / "home")
    store.update(SourceFiles("test", list(DOCUMENTS)))
    folders = [tmp_path / "home", *(path for path in (tmp_path / "home").rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o500)
    try:
        with pytest.raises(StorageError, match="cannot be") as refused:
            store.update(SourceFiles("test", CHANGED))
        assert "\n" not in str(refused.value)
    finally:
        for folder in folders:
            folder.chmod(0o700)
    assert_whole(store.open(), OLD)


KILLS = 8


def served_whole(store: CorpusStore, either: tuple[int, int]) -> int:
    """The version that is served, one of two, of which every part has every document."""
    index = store.open()
    assert version_served(index) in either
    assert held_by_each_part(index) == [{one.id for one in documents_of(0)}] * 3
    return version_served(index)


def test_a_writer_killed_at_any_moment_loses_nothing_it_acknowledged(tmp_path):
    open_store(tmp_path).update(SourceFiles("test", documents_of(0)))
    moments = writer_moments(tmp_path, 1)
    assert len(moments) > KILLS
    done = 1
    for kill in range(KILLS):
        version = kill + 2
        assert kill_writer(tmp_path, version, kill * len(moments) // KILLS) == -signal.SIGKILL
        done = served_whole(open_store(tmp_path), (done, version))


def test_a_writer_killed_between_requests_to_a_server_leaves_nothing_behind(tmp_path):
    """At three requests; tests/benchmarks/stores.py kills at twenty moments, for each store."""
    with chroma_server(tmp_path / "server") as (_, port):
        settings = Settings(vectors=SecretStr(f"http://127.0.0.1:{port}"))
        known = stores.stores_of(settings)

        def corpus() -> CorpusStore:
            return CorpusStore(tmp_path / "home", "animals", WordEmbedder(), stores=known)

        corpus().update(SourceFiles("test", documents_of(0)))
        moments = writer_moments(tmp_path / "home", 1, settings)
        requests = [place for place, what in enumerate(moments) if what == REQUEST]
        done = 1
        for version, share in enumerate((0.4, 0.6, 0.8), 2):
            moment = requests[int(share * len(requests))]
            assert kill_writer(tmp_path / "home", version, moment, settings) == -signal.SIGKILL
            done = served_whole(corpus(), (done, version))
        after = corpus()
        after.update(SourceFiles("test", documents_of(5)))
        index = after.open()
        assert version_served(index) == 5
        assert collections(port) == {one.name[4:] for one in after.folder.glob("gen-*")}


def test_one_flipped_bit_in_any_file_is_found_or_changes_nothing(tmp_path):
    open_store(tmp_path / "whole").update(SourceFiles("test", list(DOCUMENTS)))
    vector, _ = WordEmbedder().embed(["cats sleep in a house"])

    def answers(home: Path) -> tuple[object, ...]:
        index = open_store(home).open()
        dense = [(hit.passage, round(hit.score, 6)) for hit in index.dense(vector[0], 10)]
        lexical = [(hit.passage, hit.score) for hit in index.lexical("cats sleep", 10, 1.5, 0.75)]
        return dense, lexical, sorted(index.manifest.documents)

    expected = answers(tmp_path / "whole")
    (generation,) = open_store(tmp_path / "whole").folder.glob("gen-*")
    files = sorted(path.relative_to(tmp_path / "whole") for path in generation.rglob("*") if path.is_file())
    searched = [path for path in files if FOLDER not in path.parts]
    assert (len(searched) >= 9, len(files) > len(searched)) == (True, True)
    places = random.Random(13)
    found = 0
    for number, name in enumerate(files):
        home = tmp_path / f"copy{number}"
        shutil.copytree(tmp_path / "whole", home)
        data = bytearray((home / name).read_bytes())
        data[places.randrange(len(data))] ^= 1 << places.randrange(8)
        (home / name).write_bytes(data)
        try:
            assert answers(home) == expected, name
        except IndexDamaged:
            found += 1
    # the manifest has bytes that mean nothing here, and no question reads the collection
    assert len(searched) - 1 <= found <= len(searched)
