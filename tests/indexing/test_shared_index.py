"""Several processes before one index, with the vectors on a Chroma server: what one writes, and what becomes of the old."""

import fcntl
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers.chroma_server import chroma_server, collections
from helpers.kills import documents_of, version_served
from helpers.ports import free_port
from helpers.processes import held_by_each_part, run, word_engines
from helpers.small import WordEmbedder
from pydantic import SecretStr

from rag_core.indexing import CorpusStore, SourceFiles, folder, stores
from rag_core.indexing.folder import GRACE
from rag_core.lab.corpora import LabPool
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.values.errors import RagError
from rag_core.values.settings import Settings

ANIMALS = "animals"
PEOPLE = 8


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """Of a Chroma server."""
    with chroma_server(tmp_path / "server") as (_, port):
        yield port


def settings_of(home: Path, port: int) -> Settings:
    return Settings(home=home, llm="offline", vectors=SecretStr(f"http://127.0.0.1:{port}"))


def corpus(home: Path, port: int) -> CorpusStore:
    return CorpusStore(home, ANIMALS, WordEmbedder(), stores=stores.stores_of(settings_of(home, port)))


def renew(sender: Connection, home: Path, port: int, version: int) -> None:
    corpus(home, port).update(SourceFiles("test", documents_of(version)))
    sender.send("written")


def names(store: CorpusStore) -> list[str]:
    return sorted(one.name for one in store.folder.glob("gen-*"))


def lab_of(home: Path, port: int) -> Lab:
    return open_lab(ANIMALS, settings=settings_of(home, port), engines=word_engines())


def test_an_index_that_another_process_renews_is_seen_at_the_next_question(tmp_path, port):
    corpus(tmp_path, port).update(SourceFiles("test", documents_of(1)))
    pool = LabPool(lambda name: lab_of(tmp_path, port))
    lab = pool.get(ANIMALS)
    for version in (1, 2):
        if version > 1:
            assert run(renew, tmp_path, port, version) == (0, "written")
        trace = lab.run("Which version number is this?", "simple_semantic")
        (found,) = [hit.passage.text for hit in trace.ranking.hits if hit.passage.doc_id == "v"]
        assert f"number{version} " in found
        assert pool.get(ANIMALS) is lab


def test_a_reader_whose_locks_do_not_reach_here_has_an_hour_to_finish(tmp_path, port, monkeypatch):
    reader = corpus(tmp_path, port)
    reader.update(SourceFiles("test", documents_of(1)))
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(fcntl, "flock", lambda *_: None)  # the reader's lock stays on its machine
        reading = corpus(tmp_path, port).open()
    assert reading is not None
    del reader
    for version in (2, 3):
        assert run(renew, tmp_path, port, version) == (0, "written")
    assert version_served(reading) == 1
    assert held_by_each_part(reading) == [{one.id for one in documents_of(1)}] * 3
    now = corpus(tmp_path, port)
    assert names(now) == ["gen-000001", "gen-000002", "gen-000003"]
    for number, seconds in (
        (2, GRACE + 1),
        (3, GRACE / 2),
    ):  # so long ago the first and the second were replaced
        written = time.time() - seconds
        os.utime(now.folder / f"gen-{number:06d}" / "manifest.json", (written, written))
    assert now.open() is not None
    assert names(now) == ["gen-000002", "gen-000003"]
    assert run(renew, tmp_path, port, 4) == (0, "written")
    assert names(now) == ["gen-000002", "gen-000003", "gen-000004"]
    assert collections(port) == {name[4:] for name in names(now)}


def test_what_a_killed_writer_left_neither_stays_nor_shortens_the_hour(tmp_path, port):
    store = corpus(tmp_path, port)
    store.update(SourceFiles("test", documents_of(1)))
    left = shutil.copytree(store.folder / "gen-000001", store.folder / "gen-000002")
    os.utime(left / "manifest.json", (0, 0))
    del store
    assert run(renew, tmp_path, port, 3) == (0, "written")
    assert names(corpus(tmp_path, port)) == ["gen-000001", "gen-000003"]


def test_an_app_that_goes_on_asking_deletes_what_stayed(tmp_path, port, monkeypatch):
    app = corpus(tmp_path, port)
    for version in (1, 2):
        app.update(SourceFiles("test", documents_of(version)))
    index = app.open()
    assert names(app) == ["gen-000001", "gen-000002"]
    clock = SimpleNamespace(time=lambda: time.time() + GRACE + 1, monotonic=lambda: time.monotonic() + GRACE + 1)
    monkeypatch.setattr(folder, "time", clock)
    assert app.open() is index
    assert names(app) == ["gen-000002"]


def test_a_forgotten_document_does_not_wait(tmp_path, port):
    store = corpus(tmp_path, port)
    store.update(SourceFiles("test", documents_of(1)))
    store.forget({"v"})
    assert names(store) == ["gen-000002"]
    assert collections(port) == {"000002"}


def test_eight_people_are_told_in_a_line_while_the_server_is_dead_and_served_when_it_is_back(tmp_path):
    port, home = free_port(), tmp_path / "home"
    served = [threading.Event() for _ in range(PEOPLE)]
    failed = [threading.Event() for _ in range(PEOPLE)]
    ended, answers, errors = threading.Event(), set[tuple[str, ...]](), list[Exception]()

    def ask(lab: Lab, person: int) -> None:
        while not ended.is_set():
            try:
                trace = lab.run("Do cats sleep in a house?", "simple_semantic")
                answers.add(tuple(hit.id for hit in trace.ranking.hits))
                served[person].set()
            except Exception as error:
                errors.append(error)
                failed[person].set()

    with ExitStack() as server:
        pid, _ = server.enter_context(chroma_server(tmp_path / "server", port))
        corpus(home, port).update(SourceFiles("test", documents_of(1)))
        lab = lab_of(home, port)
        people = [threading.Thread(target=ask, args=(lab, one), daemon=True) for one in range(PEOPLE)]
        for person in people:
            person.start()
        wait_for(served)
        os.kill(pid, signal.SIGKILL)
        wait_for(failed)
    for one in served:
        one.clear()
    with chroma_server(tmp_path / "server", port):
        wait_for(served)
        ended.set()
        for person in people:
            person.join()
    assert all(isinstance(error, RagError) for error in errors)
    lines = {str(error) for error in errors}
    assert lines
    assert all(f"The Chroma server http://127.0.0.1:{port} does not answer" in line for line in lines), lines
    assert not any("\n" in line for line in lines)
    assert len(answers) == 1


def wait_for(events: list[threading.Event]) -> None:
    for one in events:
        one.wait()
