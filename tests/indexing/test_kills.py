"""Kills at any moment of an update, and single flipped bits: nothing acknowledged is lost, nothing wrong is served."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from helpers.processes import held_by_each_part, open_store, run
from helpers.small import DOCUMENTS, WordEmbedder

from rag_core.documents.documents import Document
from rag_core.indexing import SourceFiles
from rag_core.values.errors import IndexDamaged

KILLS = 8


def documents_of(version: int) -> list[Document]:
    return [*DOCUMENTS[1:], Document("v", "Version", "en", f"This is version number{version} of all.")]


def update(sender: Connection, home: Path, version: int, killed_at: int | None) -> None:
    """An update that is killed at a touch of a file of the index, counted from 0; for None it tells how many there are."""
    touched = 0

    def count(event: str, given: tuple[object, ...]) -> None:
        nonlocal touched
        if event in ("open", "os.mkdir", "os.rename", "os.remove") and str(given[0]).startswith(str(home)):
            if touched == killed_at:
                os.kill(os.getpid(), signal.SIGKILL)
            touched += 1

    store = open_store(home)
    sys.addaudithook(count)
    store.update(SourceFiles("test", documents_of(version)))
    sender.send(touched)


def test_a_writer_killed_at_any_touch_of_a_file_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    open_store(tmp_path).update(SourceFiles("test", documents_of(0)))
    _, touches = run(update, tmp_path, 1, None)
    assert touches > KILLS
    done = 1
    for kill in range(KILLS):
        version = kill + 2
        code, finished = run(update, tmp_path, version, kill * touches // KILLS)
        assert (code, finished) == (-signal.SIGKILL, None)
        index = open_store(tmp_path).open()
        assert index is not None
        (passage,) = [one for one in index.passages.values() if one.doc_id == "v"]
        found = [one for one in (done, version) if f"number{one} " in passage.text]
        assert len(found) == 1
        (done,) = found
        assert held_by_each_part(index) == [{one.id for one in documents_of(0)}] * 3


def test_one_flipped_bit_in_any_file_is_found_or_changes_nothing(tmp_path: Path) -> None:
    open_store(tmp_path / "whole").update(SourceFiles("test", list(DOCUMENTS)))
    vector, _ = WordEmbedder().embed(["cats sleep in a house"])

    def answers(home: Path) -> tuple[object, ...]:
        index = open_store(home).open()
        assert index is not None
        dense = [(hit.passage, round(hit.score, 6)) for hit in index.dense(vector[0], 10)]
        lexical = [(hit.passage, hit.score) for hit in index.lexical("cats sleep", 10, 1.5, 0.75)]
        return dense, lexical, sorted(index.manifest.documents)

    expected = answers(tmp_path / "whole")
    (generation,) = open_store(tmp_path / "whole").folder.glob("gen-*")
    files = sorted(path.relative_to(tmp_path / "whole") for path in generation.rglob("*") if path.is_file())
    assert len(files) >= 9
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
    assert found >= len(files) - 2  # the database and the manifest have bytes that mean nothing here
