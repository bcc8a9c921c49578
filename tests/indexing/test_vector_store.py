"""The search in memory and Chroma's own find the same passages, with the same cosines and vectors."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.small import WordEmbedder

from rag_core.documents.documents import Document
from rag_core.indexing import CorpusIndex, CorpusStore, SourceFiles, vector_store

WORDS = [
    "cats",
    "dogs",
    "birds",
    "fish",
    "horses",
    "sleep",
    "purr",
    "swim",
    "fly",
    "eat",
    "hunt",
    "play",
    "run",
    "hide",
]


@pytest.fixture
def indexes(tmp_path, monkeypatch) -> tuple[CorpusIndex, CorpusIndex]:
    """Sixty documents, some with the same words, as held in memory and as Chroma searches them."""
    random = np.random.default_rng(0)
    documents = [
        Document(f"d{number}", "", "en", " ".join(random.choice(WORDS, 5)) if number % 5 else "cats sleep")
        for number in range(60)
    ]
    CorpusStore(tmp_path, "animals", WordEmbedder()).update(SourceFiles("test", documents))
    held = CorpusStore(tmp_path, "animals", WordEmbedder()).open()
    monkeypatch.setattr(vector_store, "IN_MEMORY", 0)
    asked = CorpusStore(tmp_path, "animals", WordEmbedder()).open()
    assert held is not None
    assert asked is not None
    return held, asked


def test_both_find_the_same_passages_with_the_same_cosines(indexes) -> None:
    held, asked = indexes
    for question in ("cats sleep", "dogs play", "birds fly and fish swim", "horses"):
        (vector,), _ = WordEmbedder().embed([question])
        for k in (1, 7, 60):
            ours, theirs = held.dense(vector, k), asked.dense(vector, k)
            assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs], abs=1e-6)
            lowest = theirs[-1].score + 1e-6
            certain = {hit.id for hit in theirs if hit.score > lowest}  # others may tie with the last
            assert certain <= {hit.id for hit in ours}


def test_equal_passages_have_equal_cosines_and_stand_in_the_order_of_their_ids(indexes) -> None:
    (vector,), _ = WordEmbedder().embed(["cats sleep"])
    first = indexes[0].dense(vector, 12)
    assert len({hit.score for hit in first}) == 1
    assert [hit.id for hit in first] == sorted(hit.id for hit in first)
    assert {hit.passage.text for hit in first} == {"cats sleep"}


def test_what_leads_stands_in_the_order_held_where_cosines_are_equal(indexes) -> None:
    (vector,), _ = WordEmbedder().embed(["cats sleep"])
    held = indexes[0]
    held.dense(vector, 1)  # opens the store
    names = list(held._vectors._held.names)
    for count in (30, 45, 60):
        found = held._vectors.nearest(vector, count)
        assert found == sorted(found, key=lambda one: (-one[1], names.index(one[0])))


def test_both_give_the_same_vectors(indexes) -> None:
    held, asked = indexes
    ids = list(held.passages)[::7]
    assert np.array_equal(held.vectors(ids), asked.vectors(ids))
    with pytest.raises(KeyError):
        held.vectors([*ids, "unknown"])
