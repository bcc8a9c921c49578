"""Documents and passages to look through, and the plane of their vectors."""

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from helpers.small import DOCUMENTS, WordEmbedder
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from rag_core.documents.documents import Document
from rag_core.indexing import CorpusIndex, SourceFiles
from rag_core.lab.browsing import (
    MOST_SHOWN,
    indexed_documents,
    parts_of,
    passages_by_document,
    position_of,
    principal_plane,
    search_passages,
    size_of,
    vector_map,
)
from rag_core.lab.lab import Lab
from rag_core.testing import sample_services
from rag_core.values.types import Query


@pytest.fixture
def animals(index: CorpusIndex) -> Lab:
    """A lab that has the index of DOCUMENTS, an embedder that must not embed, and no language model."""
    embedder = SimpleNamespace(count=WordEmbedder().count)
    return cast(Lab, SimpleNamespace(index=index, enriched=None, engines=SimpleNamespace(embedder=embedder)))


def test_documents_come_by_title_with_their_files(store):
    files = {one.id: f"{one.id}.md" for one in DOCUMENTS}
    store.update(SourceFiles("/farm", list(DOCUMENTS), files))
    index = store.open()
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


def lab_of(index: CorpusIndex, embedder: WordEmbedder) -> Lab:
    services = replace(sample_services(), embedder=embedder)
    return cast(
        Lab,
        SimpleNamespace(index=index, engines=SimpleNamespace(embedder=embedder), services=lambda: services),
    )


@given(st.integers(3, 30), st.integers(2, 12), st.integers(0, 10_000))
def test_the_plane_is_that_of_scikit_learn(rows, columns, seed):
    vectors = np.random.default_rng(seed).normal(size=(rows, columns))
    mean, plane, shares = principal_plane(vectors)
    reference = PCA(2, svd_solver="full").fit(vectors)
    assert shares == pytest.approx(reference.explained_variance_ratio_, abs=1e-9)
    ours, theirs = (vectors - mean) @ plane.T, reference.transform(vectors)
    if reference.singular_values_[0] - reference.singular_values_[1] > 1e-3:  # else the axes may turn
        assert np.abs(ours) == pytest.approx(np.abs(theirs), abs=1e-6)


@pytest.mark.parametrize(
    ("vectors", "shares"),
    [
        ([[1.0, 2.0, 3.0]], (0.0, 0.0)),  # one passage has no direction
        ([[1.0, 2.0], [1.0, 2.0]], (0.0, 0.0)),
        ([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], (1.0, 0.0)),  # on a line
        ([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]], (0.8, 0.2)),  # 2 · 2² = 8 to 2 · 1² = 2
    ],
)
def test_few_or_flat_vectors_have_the_directions_they_have(vectors, shares):
    _, plane, found = principal_plane(np.array(vectors, np.float32))
    assert found == pytest.approx(shares, abs=1e-6)
    assert [bool(axis.any()) for axis in plane] == [share > 0 for share in shares]


def test_axes_have_one_direction_in_every_run():
    vectors = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    _, plane, _ = principal_plane(vectors)
    assert plane == pytest.approx(np.eye(2))
    _, turned, _ = principal_plane(-vectors)
    assert turned == pytest.approx(np.eye(2))


def test_a_query_with_the_words_of_a_passage_stands_where_it_stands(index, embedder):
    twin = next(one for one in index.passages.values() if one.doc_id == "b")
    found = vector_map(lab_of(index, embedder), [Query(twin.indexed_text), Query("something else")])
    place = next(one for one in found.passages if one.passage is twin)
    assert (found.queries[0].x, found.queries[0].y) == pytest.approx((place.x, place.y), abs=1e-5)
    assert place.cosine == pytest.approx(1.0, abs=1e-5)
    assert max(one.cosine or 0.0 for one in found.passages) == place.cosine
    assert {one.passage.id for one in found.passages} == set(index.passages)


def test_hyde_stands_at_the_mean_of_its_passages_and_question(index, embedder):
    hyde = Query("q", passages=("cats purr", "cats sleep"), question_text="what do cats do")
    (placed,) = vector_map(lab_of(index, embedder), [hyde]).queries
    vectors = index.vectors(sorted(index.passages))
    mean, plane, _ = principal_plane(vectors)
    three = embedder.embed(["cats purr", "cats sleep", "what do cats do"])[0].astype(float)
    direction = three.mean(axis=0) / np.linalg.norm(three.mean(axis=0))
    assert (placed.x, placed.y) == pytest.approx(tuple((direction - mean) @ plane.T), abs=1e-6)


def test_a_query_whose_embedding_is_billed_is_left_out(index, embedder):
    embedder.local = False
    before = len(embedder.asked)
    found = vector_map(lab_of(index, embedder), [Query("cats")])
    assert found.queries == ()
    assert len(found.passages) == len(index.passages)
    assert len(embedder.asked) == before
