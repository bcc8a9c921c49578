"""An index whose vectors were shuffled, whose checksums are gone, or that another model made is not searched."""

import json

import numpy as np
import pytest
from helpers.small import DOCUMENTS, WordEmbedder

from rag_core.indexing import CorpusStore, SourceFiles
from rag_core.indexing.bm25 import Bm25Index
from rag_core.values.errors import IndexDamaged


def reopened(store: CorpusStore) -> CorpusStore:
    """The same corpus as another process sees it."""
    return CorpusStore(store.folder.parents[2], store.corpus, WordEmbedder())


def test_vectors_that_changed_places_are_noticed(store, index):
    path = index.generation / "vectors.npy"
    rows = np.load(path)
    path.unlink()  # the open index maps the file
    np.save(path, rows[::-1])
    with pytest.raises(IndexDamaged, match="vector store"):
        reopened(store).open()


@pytest.mark.parametrize("gone", ["docstore.json", "passages/", "lexical/", "vectors.npy", ""])
def test_a_manifest_without_a_checksum_is_not_accepted(store, index, gone):
    path = index.generation / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["checksums"] = {
        name: value for name, value in manifest["checksums"].items() if not name.startswith(gone)
    }
    path.write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(IndexDamaged, match=f"no checksum of .*{gone.rstrip('/')}"):
        reopened(store).open()


def test_an_index_that_another_model_made_is_rebuilt_and_not_searched(store, index):
    path = index.generation / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**manifest, "embedding": "other-1"}), encoding="utf-8")
    again = reopened(store)
    with pytest.raises(IndexDamaged, match="made with other-1, not with words-1"):
        again.open()
    again.update(SourceFiles("test", list(DOCUMENTS)))
    assert again.open().manifest.embedding == "words-1"


def test_statistics_of_other_passages_score_otherwise_than_rank_bm25(index):
    questions = ["When do cats purr?", "Do zebras swim?"]
    assert index.differs_from_rank_bm25(questions) == []
    index._bm25 = Bm25Index.fit([["cat"], *([["dog", "purr"]] * 9)][: len(index.passages)])
    assert questions[0] in index.differs_from_rank_bm25(questions)
