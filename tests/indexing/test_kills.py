"""Kills at random moments and single flipped bits: nothing acknowledged is lost, nothing wrong is served."""

from __future__ import annotations

import random
import shutil
import time
from multiprocessing.connection import Connection
from pathlib import Path

from helpers.processes import held_by_each_part, open_store, processes
from helpers.small import DOCUMENTS, WordEmbedder

from rag_core.data.documents import Document
from rag_core.indexing import SourceFiles
from rag_core.values.errors import IndexDamaged

KILLS = 12
LONGEST_S = 0.6  # about one update on a free machine; a slower one is killed earlier in it


def documents_of(version: int) -> list[Document]:
    return [*DOCUMENTS[1:], Document("v", "Version", "en", f"This is version number{version} of all.")]


def update_for_ever(sender: Connection, home: Path, version: int) -> None:
    while True:
        sender.send(("begun", version))
        open_store(home).update(SourceFiles("test", documents_of(version)))
        sender.send(("done", version))
        version += 1


def test_a_writer_killed_at_random_moments_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    moments = random.Random(13)
    begun = done = 0
    open_store(tmp_path).update(SourceFiles("test", documents_of(0)))
    for _ in range(KILLS):
        receiver, sender = processes.Pipe(duplex=False)
        process = processes.Process(target=update_for_ever, args=(sender, tmp_path, begun + 1))
        process.start()
        sender.close()
        assert receiver.poll(120)
        time.sleep(moments.uniform(0, LONGEST_S))
        process.kill()
        process.join()
        try:
            while receiver.poll():
                what, version = receiver.recv()
                begun, done = (version, done) if what == "begun" else (begun, version)
        except EOFError:
            pass
        index = open_store(tmp_path).open()
        assert index is not None
        (passage,) = [one for one in index.passages.values() if one.doc_id == "v"]
        assert any(f"number{version} " in passage.text for version in range(done, begun + 1))
        assert held_by_each_part(index) == [{one.id for one in documents_of(0)}] * 3
    assert begun >= KILLS


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
