"""Documents that a program holds become a corpus in one call."""

import pytest
from llama_index.core import Document as LlamaDocument
from llama_index.core.node_parser import SentenceSplitter

import rag_core
from rag_core.documents.documents import Document
from rag_core.indexing.passages import Passages
from rag_core.values.errors import ConfigError
from rag_core.values.settings import Settings

GLOVES = Document("gloves", "Gloves", "en", "Gloves lie on shelf A3, in the size medium only.")
OPENING = LlamaDocument(text="La sala abre a las diez.", doc_id="sala", metadata={"title": "La sala"})
EMPTY = LlamaDocument(text=" ", doc_id="empty")


@pytest.fixture
def settings(tmp_path):
    return Settings(llm="offline", home=tmp_path / ".rag")


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
    with pytest.raises(ConfigError):
        rag_core.index([GLOVES], "no/name", settings=settings)


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
    assert {hit.passage.text for hit in lab.run("Where are lamps?", "bm25", where={"ward": "3"}).ranking} <= {
        *nodes
    }
    (lab.index.generation / "vectors.npy").unlink()  # damage, which opening repairs
    assert [one.text for one in rag_core.open_lab("ward", settings=settings).passages.values()] == nodes
    assert rag_core.index([note], "ward", settings=settings, transformations=[splitter]).unchanged == [
        "things"
    ]
    assert rag_core.index([note], "ward", settings=settings).changed == ["things"]  # cut by the lab again
    assert [one.text for one in rag_core.open_lab("ward", settings=settings).passages.values()] == [text]
