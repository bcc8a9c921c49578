import random
import shutil
import signal
from pathlib import Path

from helpers.chroma_server import chroma_server, collections
from helpers.kills import REQUEST, documents_of, kill_writer, version_served, writer_moments
from helpers.processes import held_by_each_part, open_store
from helpers.small import DOCUMENTS, WordEmbedder
from pydantic import SecretStr

from rag_core.indexing import CorpusStore, SourceFiles, stores
from rag_core.indexing.chroma import FOLDER
from rag_core.values.errors import IndexDamaged
from rag_core.values.settings import Settings

KILLS = 8


def test_a_writer_killed_at_any_moment_loses_nothing_it_acknowledged(tmp_path):
    open_store(tmp_path).update(SourceFiles("test", documents_of(0)))
    moments = writer_moments(tmp_path, 1)
    assert len(moments) > KILLS
    done = 1
    for kill in range(KILLS):
        version = kill + 2
        assert kill_writer(tmp_path, version, kill * len(moments) // KILLS) == -signal.SIGKILL
        index = open_store(tmp_path).open()
        assert index is not None
        assert version_served(index) in (done, version)
        done = version_served(index)
        assert held_by_each_part(index) == [{one.id for one in documents_of(0)}] * 3


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
            index = corpus().open()
            assert index is not None
            assert version_served(index) in (done, version)
            done = version_served(index)
            assert held_by_each_part(index) == [{one.id for one in documents_of(0)}] * 3
        after = corpus()
        after.update(SourceFiles("test", documents_of(5)))
        index = after.open()
        assert index is not None
        assert version_served(index) == 5
        assert collections(port) == {one.name[4:] for one in after.folder.glob("gen-*")}


def test_one_flipped_bit_in_any_file_is_found_or_changes_nothing(tmp_path):
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
