from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import pytest
from helpers.small import DOCUMENTS, WordEmbedder

from rag_core.documents.documents import Document
from rag_core.indexing import CorpusIndex, SourceFiles
from rag_core.lab.browsing import (
    MOST_SHOWN,
    indexed_documents,
    parts_of,
    passages_by_document,
    position_of,
    search_passages,
    size_of,
)
from rag_core.lab.lab import Lab


@pytest.fixture
def animals(index: CorpusIndex) -> Lab:
    """A lab that has the index of DOCUMENTS, an embedder that must not embed, and no language model."""
    embedder = SimpleNamespace(count=WordEmbedder().count)
    return cast(Lab, SimpleNamespace(index=index, enriched=None, engines=SimpleNamespace(embedder=embedder)))


def test_documents_come_by_title_with_their_files(store):
    files = {one.id: f"{one.id}.md" for one in DOCUMENTS}
    store.update(SourceFiles("/farm", list(DOCUMENTS), files))
    index = store.open()
    assert index is not None
    found = indexed_documents(index)
    titles = ["Birds", "Cats", "Cats and dogs", "Dogs", "Fish", "Gatos"]
    assert [one.document.title for one in found] == titles
    assert {(one.root, one.file) for one in found} == {("/farm", name) for name in files.values()}
    by_id = {one.id: one for one in DOCUMENTS}
    assert all(one.document.text == by_id[one.document.id].text for one in found)


def test_passages_of_a_document_are_its_text_in_reading_order(animals):
    found = passages_by_document(animals)
    by_id = {one.id: one for one in DOCUMENTS}
    assert set(found) == set(by_id)
    for name, passages in found.items():
        assert " ".join(passage.text for passage in passages) == by_id[name].text
        assert [position_of(passage) for passage in passages] == list(range(len(passages)))


def test_passages_have_the_contexts_of_the_enriched_index(animals):
    contexts = {name: replace(one, context=f"about {name}") for name, one in animals.index.passages.items()}
    enriched = SimpleNamespace(passages=contexts)
    lab = SimpleNamespace(index=animals.index, enriched=enriched, engines=animals.engines)
    found = [one for passages in passages_by_document(cast(Lab, lab)).values() for one in passages]
    assert {one.context for one in found} == {f"about {one.id}" for one in found}
    (bare,) = passages_by_document(animals)["c"]
    (with_context,) = passages_by_document(cast(Lab, lab))["c"]
    assert size_of(animals, with_context) == size_of(animals, bare) == len(bare.indexed_text.split())


def test_words_find_every_passage_that_has_one_best_first(animals):
    found = search_passages(animals, "swim")
    assert found.hits == tuple(animals.index.lexical("swim", 100, 1.5, 0.75))
    assert {hit.passage.doc_id for hit in found.hits} == {"c", "f"}
    assert {hit.scale for hit in found.hits} == {"bm25"}
    assert found.read == ""
    assert search_passages(animals, "xyloquine").hits == ()


def test_what_is_read_in_english_is_said(animals, monkeypatch):
    monkeypatch.setattr(animals.index, "_read", lambda text: "swim")
    found = search_passages(animals, "nadar")
    assert found.read == "swim"
    assert {hit.passage.doc_id for hit in found.hits} == {"c", "f"}


def test_a_long_document_comes_in_parts_that_lose_no_words():
    paragraph = "Rest and drink. " * 200  # 3,200 characters
    long = Document("long", "Long", "en", f"{paragraph}\n\n" * 60)
    parts = parts_of(long)
    assert len(parts) == 4  # 60 · 3,202 = 192,120 characters, cut between paragraphs
    assert max(map(len, parts)) <= MOST_SHOWN
    assert " ".join(parts).split() == long.text.split()
    assert parts_of(Document("short", "Short", "en", "Rest.")) == ("Rest.",)
