"""Documents that a program holds become a corpus in one call."""

import pytest
from llama_index.core import Document as LlamaDocument

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
