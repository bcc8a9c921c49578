"""Indexed by words alone: nothing is embedded, bm25 answers as ever, and what needs vectors says so."""

from pathlib import Path

import pytest
from helpers.processes import open_store
from helpers.provider_lab import QUESTION, provider_lab
from helpers.small import DOCUMENTS, WordEmbedder
from helpers.source_files import write

from rag_core.documents.documents import Document
from rag_core.indexing import CorpusStore, OfflineEnricher, SourceFiles, find_documents, forget_documents, words_only
from rag_core.indexing.stores import CHROMA, MAPPED, STORES, WORDS
from rag_core.language.thesaurus import Thesaurus
from rag_core.values.errors import MissingResource, StageError
from rag_core.values.labels import LabelRules

OFFLINE = OfflineEnricher(Thesaurus(()))
MORE = Document("g", "Goats", "en", "Goats climb trees.")


def read(*documents: Document) -> SourceFiles:
    return SourceFiles("test", list(documents or DOCUMENTS))


@pytest.fixture
def words(tmp_path: Path, embedder: WordEmbedder) -> CorpusStore:
    """An index by words alone, written by a process that asked for it; opened by one that did not."""
    CorpusStore(tmp_path / "home", "animals", embedder, stores=words_only(STORES)).update(read())
    return CorpusStore(tmp_path / "home", "animals", embedder)


@pytest.fixture
def lab(server, words, embedder):
    return provider_lab(server, words, embedder, LabelRules({}))


def test_indexing_embeds_nothing_and_bm25_finds_what_it_finds_beside_vectors(lab, words, embedder, read_only_index):
    index = words.open()
    assert (index.manifest.store, words.is_current(index)) == (WORDS, True)
    assert index.manifest.digest == read_only_index.manifest.digest
    for question in ("cats sleep", "birds that swim", "gatos"):
        assert index.lexical(question, 5, 1.5, 0.75) == read_only_index.lexical(question, 5, 1.5, 0.75)
    trace = lab.run(QUESTION, "bm25")
    assert trace.answer.text
    assert lab.retriever("bm25").retrieve(QUESTION)
    assert lab.why_not(trace, trace.ranking.hits[0].id)
    assert lab.tipping_points(trace)
    assert embedder.asked == []


@pytest.mark.parametrize("strategy", ["simple_semantic", "hybrid_rrf"])
def test_a_strategy_that_needs_vectors_names_the_command_and_the_others_run(lab, strategy):
    with pytest.raises(StageError) as missing:
        lab.run(QUESTION, strategy)
    assert isinstance(missing.value.__cause__, MissingResource)
    assert "'animals' was indexed by words alone" in missing.value.sentence
    assert "rag index PATH --corpus animals" in missing.value.sentence
    assert lab.run(QUESTION, "bm25").ranking.hits


def test_indexing_again_makes_the_vectors_once_and_by_words_alone_leaves_them(words, embedder, tmp_path):
    report = words.update(read())
    assert report.embedded == len(words.open().passages)
    assert words.open().manifest.store == CHROMA
    generation = words.open().generation
    again = CorpusStore(tmp_path / "home", "animals", embedder, stores=words_only(STORES))
    again.update(read())
    assert again.open().generation == generation, "nothing changed"
    again.update(read(*DOCUMENTS, MORE))
    assert again.open().manifest.store == WORDS
    assert words.update(read(*DOCUMENTS, MORE)).embedded == 1, "the others are cached"


def test_vectors_in_a_mapped_file_are_made_too(words, tmp_path, embedder):
    stores = {name: STORES[name] for name in (WORDS, CHROMA, MAPPED)}
    assert CorpusStore(tmp_path / "home", "animals", embedder, stores=stores).update(read()).embedded > 0


def test_the_enriched_index_follows_without_vectors_and_then_with_them(words, embedder):
    words.enriched.follow(words.open(), OFFLINE)
    assert words.enriched.open().manifest.store == WORDS
    assert words.enriched.follow(words.open(), OFFLINE) is None, "up to date"
    assert embedder.asked == []
    words.update(read())
    assert words.enriched.follow(words.open(), OFFLINE).embedded > 0
    assert words.enriched.open().manifest.store == CHROMA


def test_forgetting_and_rebuilding_embed_nothing(words, embedder, tmp_path):
    found = find_documents(tmp_path / "home", "animals", ["a"])
    forget_documents(tmp_path / "home", found, embedder, lambda subject: OFFLINE)
    assert "a" not in words.open().manifest.documents
    (words.open().generation / "passages" / "ids.npy").write_bytes(b"")
    open_store(tmp_path / "home").rebuild()
    assert open_store(tmp_path / "home").open().manifest.store == WORDS
    assert embedder.asked == []


def test_the_command_says_what_it_left_out(rag, tmp_path, ready, monkeypatch):
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    files = write(tmp_path / "files", {"visits.md": "# Visiting hours\n\nGuests may come from ten to noon."})
    ran = rag("index", str(files), "--corpus", "ward", "--only", "words")
    assert ran.code == 0, ran.err
    assert "Indexed by words alone" in " ".join(ran.out.split())
    asked = ("When may guests come?", "--corpus", "ward")
    assert rag("query", *asked, "--strategy", "bm25", "--json").json["contexts"]
    dense = rag("query", *asked, "--strategy", "simple_semantic")
    assert dense.code == 1
    assert "rag index PATH --corpus ward" in " ".join(dense.err.split())
    assert rag("index", str(files), "--corpus", "ward").code == 0
    assert rag("query", *asked, "--strategy", "simple_semantic", "--json").json["contexts"]
    assert rag("index", "--check", "--only", "words").code == 2
