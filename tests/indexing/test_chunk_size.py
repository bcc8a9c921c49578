from itertools import pairwise

import pytest
from helpers.small import DOCUMENTS
from hypothesis import given
from hypothesis import strategies as st

from rag_core.documents.documents import Document
from rag_core.indexing import Chunking, CorpusIndex, CorpusStore, OfflineEnricher, SourceFiles
from rag_core.indexing.cutting import CHUNKER, overlapping
from rag_core.language.thesaurus import Thesaurus
from rag_core.values.errors import ConfigError, DataError
from rag_core.values.types import Passage

OFFLINE = OfflineEnricher(Thesaurus(()))
SENTENCES = [f"Sentence number {number} has exactly seven words." for number in range(60)]  # 420 words
LONG = Document("long", "Long", "en", " ".join(SENTENCES))


def words(text: str) -> int:
    return len(text.split())


def indexed(store: CorpusStore, chunking: Chunking | None = None) -> list[Passage]:
    store.update(SourceFiles("test", [LONG], chunking=chunking))
    return passages(store)


def passages(store: CorpusStore) -> list[Passage]:
    index = store.open()
    return sorted(index.passages.values(), key=lambda one: int(one.id.rsplit(":", 2)[1]))


def test_passages_have_at_most_the_chosen_size_and_lose_nothing(store):
    found = indexed(store, Chunking(100))
    assert all(words(one.indexed_text) <= 100 for one in found)
    assert " ".join(one.text for one in found) == LONG.text
    assert len(found) == 5  # 98 words are left beside the title, 14 sentences: 60 / 14 = 4.3


def test_overlap_repeats_the_last_sentences_of_the_part_before(store):
    found = indexed(store, Chunking(100, 20))
    assert all(words(one.indexed_text) <= 100 for one in found)
    for before, after in pairwise(found):
        repeated, _, rest = after.text.partition("\n\n")
        assert words(repeated) == 14  # two sentences of seven words; a third would make 21
        assert before.text.endswith(repeated)
        assert rest.startswith("Sentence number")
    plain = [found[0].text, *(one.text.partition("\n\n")[2] for one in found[1:])]
    assert " ".join(plain) == LONG.text


@given(st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=5), min_size=1, max_size=6), st.integers(0, 20))
def test_overlap_is_whole_sentences_of_at_most_that_many_words(lengths, most):
    parts = [" ".join(" ".join(["Word"] * length) + "." for length in part) for part in lengths]
    found = overlapping(parts, "en", most, words)
    assert found[0] == parts[0]
    for before, part, made, sizes in zip(parts, parts[1:], found[1:], lengths, strict=False):
        assert made.endswith(part)
        repeated = made.removesuffix(part).strip()
        assert before.endswith(repeated)
        fitting = max(n for n in range(len(sizes) + 1) if sum(sizes[len(sizes) - n :]) <= most)
        assert words(repeated) == sum(sizes[len(sizes) - fitting :])


@pytest.mark.parametrize(
    "values", [(63, 0), (401, 0), (-1, 0), (100, 51), (100, -1), (0, 128)], ids=lambda pair: f"{pair}"
)
def test_values_out_of_range_are_refused(values):
    with pytest.raises(ConfigError, match="out of range"):
        Chunking(*values)


def test_the_default_keeps_the_identity_it_had():
    assert Chunking().key == CHUNKER
    assert len({Chunking().key, Chunking(100).key, Chunking(100, 20).key, Chunking(0, 20).key}) == 4


def test_another_size_is_another_index_with_the_same_documents(store):
    indexed(store)
    before = store.open()
    digest, documents = before.manifest.digest, before.manifest.documents
    del before
    report = store.rechunk(Chunking(100))
    index = store.open()
    assert (report.changed, report.passages) == (["long"], len(index.passages))
    assert index.manifest.digest != digest
    assert index.manifest.documents == documents
    assert store.is_current(index)
    assert CorpusIndex.open(index.generation).manifest.chunking == Chunking(100)


def test_the_size_stays_when_documents_are_added_forgotten_or_rebuilt(store, embedder):
    indexed(store, Chunking(100, 20))
    store.update(SourceFiles("/farm", list(DOCUMENTS)))
    store.forget(["a"])
    store.rebuild()
    index = store.open()
    assert index.manifest.chunking == Chunking(100, 20)
    assert len([one for one in index.passages.values() if one.doc_id == "long"]) > 5


def test_the_same_size_again_writes_nothing(store):
    indexed(store, Chunking(100))
    index = store.open()
    assert store.rechunk(Chunking(100)).unchanged == ["long"]
    assert store.open() is index
    indexed(store)  # the files again, without a word on the size
    assert store.open() is index


def test_the_enriched_index_follows_the_size(store):
    for chunking in (Chunking(), Chunking(100)):
        store.rechunk(chunking) if store.exists else indexed(store, chunking)
        plain = store.open()
        store.enriched.follow(plain, OFFLINE)
        enriched = store.enriched.open()
        assert enriched.passages.keys() == plain.passages.keys()
    store.enriched.remove()
    assert store.enriched.open() is None


def test_a_corpus_without_documents_cannot_be_cut(store):
    with pytest.raises(DataError, match="no documents to cut"):
        store.rechunk(Chunking(100))
