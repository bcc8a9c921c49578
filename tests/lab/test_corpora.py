from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import cast

import pytest
from helpers.small import DOCUMENTS, WordEmbedder

from rag_core.documents.documents import BUILTIN
from rag_core.indexing import CorpusStore, SourceFiles
from rag_core.lab.corpora import LabPool, corpus_names
from rag_core.lab.lab import Lab
from rag_core.values.errors import IndexDamaged, MissingResource


class Opener:
    """Opens labs whose index can be damaged; counts them."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.damaged = False

    def __call__(self, corpus: str) -> Lab:
        self.opened.append(corpus)
        self.damaged = False

        class Opened(SimpleNamespace):
            @property
            def index(_) -> None:
                if self.damaged:
                    raise IndexDamaged("gone")

        return cast(Lab, Opened(corpus=corpus))


def test_the_built_in_corpus_comes_first_and_others_count_once_they_are_indexed(tmp_path):
    assert corpus_names(tmp_path) == [BUILTIN]
    for name in ("ward", "Beta", BUILTIN):
        CorpusStore(tmp_path, name, WordEmbedder()).update(SourceFiles("test", list(DOCUMENTS)))
    (tmp_path / "corpora" / "unfinished" / "words-1").mkdir(parents=True)
    assert corpus_names(tmp_path) == [BUILTIN, "Beta", "ward"]


def test_a_lab_is_opened_once_for_all_sessions():
    opener = Opener()
    pool = LabPool(opener)
    with ThreadPoolExecutor(8) as threads:
        labs = list(threads.map(pool.get, ["ward"] * 8))
    assert opener.opened == ["ward"]
    assert len({id(lab) for lab in labs}) == 1


def test_the_lab_used_longest_ago_leaves_a_full_pool():
    pool = LabPool(Opener(), most=2)
    for corpus in ("a", "b", "a", "c"):
        pool.get(corpus)
    assert pool.find("b") is None
    assert [pool.find(name) is not None for name in ("a", "c")] == [True, True]


def test_a_lab_whose_index_was_damaged_is_opened_again():
    opener = Opener()
    pool = LabPool(opener)
    first = pool.get("ward")
    opener.damaged = True
    assert pool.get("ward") is not first
    assert opener.opened == ["ward", "ward"]


def test_a_corpus_that_cannot_be_opened_is_tried_again_when_it_is_asked_for_again():
    def missing(corpus: str) -> Lab:
        raise MissingResource(f"no {corpus}")

    pool = LabPool(missing)
    for _ in range(2):
        with pytest.raises(MissingResource):
            pool.get("ward")
    assert pool.find("ward") is None


def test_a_dropped_lab_is_closed():
    pool = LabPool(Opener())
    pool.get("ward")
    pool.drop("ward")
    pool.drop("never opened")
    assert pool.find("ward") is None
