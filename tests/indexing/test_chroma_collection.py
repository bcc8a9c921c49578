"""The Chroma collection of each generation: what other programs read, and what becomes of answers without it."""

import shutil
import sqlite3
import sys
from pathlib import Path

import chromadb
import numpy as np
import pytest
from helpers.processes import garble, open_store, remove
from helpers.small import DOCUMENTS, WordEmbedder
from llama_index.core import VectorStoreIndex
from llama_index.vector_stores.chroma import ChromaVectorStore
from pydantic import SecretStr

from rag_core.indexing import CorpusIndex, CorpusStore, OfflineEnricher, SourceFiles, stores
from rag_core.indexing.chroma import COLLECTION, FOLDER
from rag_core.language.thesaurus import Thesaurus
from rag_core.llamaindex import Embedding
from rag_core.values.errors import IndexDamaged, MissingResource, StorageError
from rag_core.values.settings import Settings

QUESTION = "cats sleep in a house"


def indexed(home: Path, place: str = "chroma", documents: int = len(DOCUMENTS)) -> CorpusStore:
    """A corpus brought up to date where RAG_VECTORS is this."""
    known = stores.stores_of(Settings(vectors=SecretStr(place)))
    store = CorpusStore(home, "animals", WordEmbedder(), stores=known)
    store.update(SourceFiles("test", list(DOCUMENTS[:documents])))
    return store


def opened(store: CorpusStore) -> CorpusIndex:
    return store.open()


@pytest.fixture(params=["plain", "enriched"])
def index(request: pytest.FixtureRequest, tmp_path: Path) -> CorpusIndex:
    store = indexed(tmp_path)
    if request.param == "plain":
        return opened(store)
    store.enriched.follow(opened(store), OfflineEnricher(Thesaurus(())))
    return store.enriched.open()


def test_a_plain_chroma_program_finds_text_metadata_and_the_vectors_of_the_file(index):
    with chromadb.PersistentClient(str(index.generation / FOLDER)) as client:
        (collection,) = client.list_collections()
        assert (collection.name, collection.configuration_json["hnsw"]["space"]) == (COLLECTION, "cosine")
        kept = collection.get(include=["embeddings", "documents", "metadatas"])
    ids = list(index.passages)
    assert sorted(kept["ids"]) == sorted(ids)
    rows = np.load(index.generation / "vectors.npy")
    for identity, vector, text, about in zip(*(kept[key] for key in ("ids", "embeddings", "documents", "metadatas")), strict=True):  # fmt: skip
        passage = index.passages[identity]
        assert vector == pytest.approx(rows[ids.index(identity)], abs=1e-7)  # Chroma normalises them again
        assert text == passage.text
        named = {key: about[key] for key in ("title", "heading", "language", "source", "doc_id")}
        assert named == {key: getattr(passage, key) for key in named}
        assert about.get("context", "") == passage.context


def test_a_llamaindex_program_finds_what_the_lab_finds(index):
    with chromadb.PersistentClient(str(index.generation / FOLDER)) as client:
        store = ChromaVectorStore(chroma_collection=client.get_collection(COLLECTION))
        own = VectorStoreIndex.from_vector_store(store, embed_model=Embedding(WordEmbedder()))
        found = own.as_retriever(similarity_top_k=3).retrieve(QUESTION)
    ((vector,), _) = WordEmbedder().embed([QUESTION])
    best = index.dense(vector, 3)
    assert [one.node.node_id for one in found] == [hit.id for hit in best]
    assert [1 + np.log(one.score) for one in found] == pytest.approx([hit.score for hit in best], abs=1e-6)
    assert [one.node.ref_doc_id for one in found] == [hit.passage.doc_id for hit in best]
    shown = found[0].node.get_content(metadata_mode="llm")
    assert "source:" not in shown
    assert best[0].passage.text in shown


def test_batches_are_as_large_as_chroma_takes(tmp_path, monkeypatch):
    sizes, add = [], chromadb.Collection.add
    monkeypatch.setattr(
        chromadb.Collection,
        "add",
        lambda self, **given: sizes.append(len(given["ids"])) or add(self, **given),
    )
    monkeypatch.setattr("chromadb.api.client.Client.get_max_batch_size", lambda self: 2)
    index = opened(indexed(tmp_path))
    assert sizes == [2] * (len(index.passages) // 2) + [1] * (len(index.passages) % 2)
    assert index.vector_store().client.count() == len(index.passages)


@pytest.mark.parametrize(
    ("name", "damage", "error"),
    [
        (FOLDER, remove, IndexDamaged),
        ("chroma.sqlite3", remove, StorageError),
        ("chroma.sqlite3", garble, StorageError),
        ("header.bin", garble, IndexDamaged),
        ("data_level0.bin", remove, IndexDamaged),
        ("index_metadata.pickle", remove, IndexDamaged),
    ],
)
def test_damage_keeps_no_question_from_its_answer_and_indexing_again_mends_it(tmp_path, name, damage, error):
    (vector,), _ = WordEmbedder().embed([QUESTION])
    index = opened(indexed(tmp_path))
    before = index.dense(vector, 9)
    del index
    (path,) = tmp_path.rglob(name)
    damage(path)
    index = opened(open_store(tmp_path))
    assert index.dense(vector, 9) == before
    with pytest.raises(error):
        index.vector_store()
    shutil.rmtree(index.generation / FOLDER, ignore_errors=True)
    again = opened(indexed(tmp_path))
    assert again.generation != index.generation
    assert again.vector_store().client.count() == len(index.passages)


def test_fewer_passages_than_the_index_has_are_noticed(tmp_path):
    index = opened(indexed(tmp_path))
    with sqlite3.connect(index.generation / FOLDER / "chroma.sqlite3") as database:  # has no checksum
        database.execute("DELETE FROM embeddings WHERE id = 1")
    with pytest.raises(IndexDamaged, match="has 5 passages, not the 6 of the index"):
        index.vector_store()


def test_the_file_alone_has_no_collection_and_one_is_written_where_it_is_asked_for(tmp_path, monkeypatch):
    with monkeypatch.context() as without:
        for module in ("chromadb", "chromadb.errors"):
            without.setitem(sys.modules, module, None)
        index = opened(indexed(tmp_path, "mapped"))  # Chroma is not even imported
    assert not (index.generation / FOLDER).exists()
    with pytest.raises(MissingResource, match="the store 'mapped', not in embedded Chroma") as told:
        index.vector_store()
    assert "RAG_VECTORS" in str(told.value.next_step)
    assert opened(indexed(tmp_path)).vector_store().client.count() == len(index.passages)
    kept = opened(indexed(tmp_path)).generation
    assert opened(indexed(tmp_path, "mapped")).generation == kept, "the file answers as it did"


def test_a_corpus_without_passages_has_an_empty_collection(tmp_path):
    assert opened(indexed(tmp_path, documents=0)).vector_store().client.count() == 0
