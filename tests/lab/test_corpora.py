"""The corpora of a state folder, opened for all sessions, and those a program makes in one call."""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import cast

import pytest
from helpers.small import DOCUMENTS, WordEmbedder
from llama_index.core import Document as LlamaDocument
from llama_index.core.node_parser import SentenceSplitter

import rag_core
from rag_core.documents.documents import BUILTIN, Document
from rag_core.indexing import CorpusStore, SourceFiles
from rag_core.indexing.passages import Passages
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


GLOVES = Document("gloves", "Gloves", "en", "Gloves lie on shelf A3, in the size medium only.")
OPENING = LlamaDocument(text="La sala abre a las diez.", doc_id="sala", metadata={"title": "La sala"})
EMPTY = LlamaDocument(text=" ", doc_id="empty")


def test_documents_of_both_kinds_are_indexed_and_found(settings):
    report = rag_core.index([GLOVES, OPENING, EMPTY], "ward", settings=settings)
    assert report.added == ["gloves", "sala"]
    assert [name for name, _ in report.failed] == ["empty"]
    lab = rag_core.open_lab("ward", settings=settings)
    assert {(one.doc_id, one.title, one.language) for one in lab.passages.values()} == {
        ("gloves", "Gloves", "en"),
        ("sala", "La sala", "es"),
    }
    assert lab.run("Where are the gloves?", "simple_semantic").ranking.hits[0].passage.doc_id == "gloves"


def test_the_next_call_says_all_that_the_corpus_holds_of_them(settings, tmp_path):
    rag_core.index([GLOVES, OPENING], "ward", settings=settings)
    leaflet = tmp_path / "leaflet.md"
    leaflet.write_text("# Lamps\n\nLamps stand in cupboard B.")
    rag_core.index(str(leaflet), "ward", settings=settings)  # from elsewhere: the others stay
    report = rag_core.index([GLOVES], "ward", settings=settings)
    assert (report.unchanged, report.removed) == (["gloves"], ["sala"])
    documents = rag_core.open_lab("ward", settings=settings).index.manifest.documents
    assert len(documents) == 2


def test_two_documents_of_one_id_are_told(settings):
    report = rag_core.index([GLOVES, GLOVES], "ward", settings=settings)
    assert report.added == ["gloves"]
    assert [name for name, _ in report.failed] == ["gloves"]


def test_passages_can_be_read_by_who_keeps_nothing_else_of_the_corpus(settings):
    rag_core.index([GLOVES, OPENING], "ward", settings=settings)
    generation = rag_core.open_lab("ward", settings=settings).index.generation
    assert [one.doc_id for one in Passages(generation).values()] == ["gloves", "sala"]


def test_node_parsers_cut_the_documents_and_a_rebuilt_index_is_cut_alike(settings):
    text = "Gloves lie on shelf A3. Lamps stand in bay two. Scales are in the hall. Cots are upstairs."
    splitter = SentenceSplitter(chunk_size=8, chunk_overlap=0)
    nodes = [node.text for node in splitter.get_nodes_from_documents([LlamaDocument(text=text)])]
    assert len(nodes) > 1
    note = LlamaDocument(text=text, doc_id="things", metadata={"title": "Things", "ward": "3"})
    rag_core.index([note], "ward", settings=settings, transformations=[splitter])
    lab = rag_core.open_lab("ward", settings=settings)
    assert [one.text for one in lab.passages.values()] == nodes
    assert {one.title for one in lab.passages.values()} == {"Things"}
    assert {hit.passage.text for hit in lab.run("Where are lamps?", "bm25", where={"ward": "3"}).ranking} <= {*nodes}
    (lab.index.generation / "vectors.npy").unlink()  # damage, which opening repairs
    assert [one.text for one in rag_core.open_lab("ward", settings=settings).passages.values()] == nodes
    assert rag_core.index([note], "ward", settings=settings, transformations=[splitter]).unchanged == ["things"]
    assert rag_core.index([note], "ward", settings=settings).changed == ["things"]  # cut by the lab again
    assert [one.text for one in rag_core.open_lab("ward", settings=settings).passages.values()] == [text]
