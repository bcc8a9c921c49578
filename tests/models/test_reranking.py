import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.anti_d import HITS, QUESTION, hit
from helpers.tiny import letters

from rag_core.catalog.address import from_address, to_address
from rag_core.catalog.setup import set_up
from rag_core.lab.lab import Lab
from rag_core.models import CrossEncoderReranker, Rerankers
from rag_core.models.minilm import minilm_folder
from rag_core.offline.loading import load_scorer
from rag_core.offline.scorer import OfflineScorer
from rag_core.pipeline.stream import collect
from rag_core.values.errors import MissingResource, ProviderError, SettingsError
from rag_core.values.settings import Settings


def tiny(folder: Path, labels: int = 1) -> Path:
    """A cross-encoder of letters with random weights, 64 tokens long."""
    from transformers import BertForSequenceClassification

    config = letters(folder, 3, num_hidden_layers=2, num_labels=labels, initializer_range=0.5)  # so that scores differ
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny(tmp_path_factory.mktemp("models") / "tiny-ce")


@pytest.fixture(scope="module")
def cross(folder: Path, scorer: OfflineScorer) -> CrossEncoderReranker:
    loaded = Rerankers(Settings(reranker=str(folder)), scorer).of_settings()
    assert isinstance(loaded, CrossEncoderReranker)
    return loaded


class TestACrossEncoder:
    def test_gives_the_logits_of_the_network_for_query_and_indexed_text(self, cross, folder):
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        hits = [hit("milk and honey", title="food"), hit("a cat")]
        scores, call = cross.score("what is sweet", hits)
        network = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        tokenizer = AutoTokenizer.from_pretrained(folder)
        pairs = [("what is sweet", "food\nmilk and honey"), ("what is sweet", "a cat")]
        with torch.inference_mode():
            read = [tokenizer(*pair, return_tensors="pt") for pair in pairs]
            expected = [float(network(**tensors).logits) for tensors in read]
        assert scores == pytest.approx(expected, abs=1e-5)
        assert scores[0] != pytest.approx(scores[1])
        assert not all(0 <= score <= 1 for score in scores)  # a sigmoid would have made them so
        assert (cross.name, cross.scale) == ("tiny-ce", "cross_encoder")
        assert (call.purpose, call.model, call.cost_usd, call.counted_by) == (
            "rerank", "tiny-ce", 0.0, "tokenizer"
        )  # fmt: skip
        assert (call.input_tokens, call.output_tokens) == (sum(len(t["input_ids"][0]) for t in read), 0)

    def test_counts_only_what_the_model_can_hold(self, cross):
        assert cross.score("a", [hit("b " * 500)])[1].input_tokens == 64

    def test_scores_do_not_depend_on_company_or_order(self, cross):
        together = cross.score("anti d", HITS)[0]
        alone = [cross.score("anti d", [one])[0][0] for one in HITS]
        assert together == pytest.approx(alone, abs=1e-5)
        assert cross.score("anti d", HITS[::-1])[0] == pytest.approx(together[::-1], abs=1e-5)

    def test_nothing_is_scored_for_no_hits(self, cross):
        scores, call = cross.score("anti d", [])
        assert (scores, call.input_tokens) == ([], 0)

    def test_serves_several_threads(self, cross):
        expected = cross.score("anti d", HITS)[0]
        with ThreadPoolExecutor(6) as pool:
            for scores, _ in pool.map(lambda _: cross.score("anti d", HITS), range(6)):
                assert scores == pytest.approx(expected, abs=1e-6)

    @pytest.mark.parametrize("answer", [[0.5, math.nan], [math.inf, 0.1], [0.5], [0.1, 0.2, 0.3], []], ids=str)
    def test_a_score_that_is_missing_or_no_number_is_a_failure(self, answer):
        model = SimpleNamespace(
            predict=lambda *_, **__: np.array(answer),
            tokenizer=lambda *_, **__: {"input_ids": []},
            max_seq_length=9,
        )
        with pytest.raises(ProviderError, match="did not return 2 finite scores") as failed:
            CrossEncoderReranker(model, "broken").score("q", HITS[:2])
        assert failed.value.next_step

    def test_a_model_that_breaks_is_a_failure_that_names_it(self):
        def predict(*_: object, **__: object) -> None:
            raise RuntimeError("no memory left")

        with pytest.raises(ProviderError, match=r"The reranker broken failed: no memory left"):
            CrossEncoderReranker(SimpleNamespace(predict=predict), "broken").score("q", HITS)


class TestLoading:
    def test_auto_is_the_offline_scorer(self, scorer):
        assert Rerankers(Settings(reranker="auto"), scorer).of_settings() is scorer
        assert (scorer.name, scorer.scale) == ("offline-scorer", "offline_scorer")

    def test_a_name_that_is_nowhere_is_a_missing_resource(self, scorer, monkeypatch):
        monkeypatch.setattr("rag_core.models.sentence_models.hub_reachable", lambda: False)
        with pytest.raises(MissingResource, match=r"nobody/nothing") as missing:
            Rerankers(Settings(reranker="nobody/nothing"), scorer).of_settings()
        assert "RAG_RERANKER" in missing.value.next_step

    @pytest.mark.parametrize(
        ("made", "says"),
        [
            (lambda path: path, "cannot be loaded"),  # an empty folder
            (lambda path: tiny(path / "three", labels=3), "gives 3 scores per pair"),  # a classifier
            (lambda path: minilm_folder(), "was not trained to score pairs"),  # it would score at random
        ],
    )
    def test_what_is_no_reranker_is_a_missing_resource(self, scorer, tmp_path, made, says):
        with pytest.raises(MissingResource, match=says):
            Rerankers(Settings(reranker=str(made(tmp_path))), scorer).of_settings()

    def test_the_scorer_reads_with_the_bundled_model_whatever_embeds(self, minilm, prices):
        other = SimpleNamespace(key="another-model", weights="another-model")
        alone = load_scorer(Settings(embedding="openai:x"), other, prices)
        shared = load_scorer(Settings(), minilm, prices)
        assert alone.score(QUESTION, HITS)[0] == pytest.approx(shared.score(QUESTION, HITS)[0], abs=1e-4)


@pytest.fixture(scope="module")
def choosing(lab: Lab, folder: Path) -> Lab:
    """The real lab, whose settings name two cross-encoders, one of them missing."""
    settings = Settings(reranker=f"auto, {folder}, nobody/nothing")
    offered = Rerankers(settings, lab.engines.scorer)
    return lab.with_engines(replace(lab.engines, rerankers=offered))


class TestAColumnsOwn:
    ASKED = "When is anti-D given?"

    def test_each_column_reranks_with_its_own_and_its_bill_names_it(self, choosing, folder):
        chosen = set_up("ensemble", reranker=str(folder))
        first, second = choosing.compare(self.ASKED, ["ensemble", chosen])
        models = [{call.model for call in one.calls if call.purpose == "rerank"} for one in (first, second)]
        assert models == [{"offline-scorer"}, {folder.name}]
        assert [one.engine["reranker"] for one in (first, second)] == ["offline-scorer", folder.name]
        assert [hit.id for hit in first.ranking] != [hit.id for hit in second.ranking]
        assert second.as_json()["models"] == {"reranker": str(folder)}
        assert (first.fingerprint, second.fingerprint) == (
            chosen.strategy.fingerprint,
            chosen.strategy.fingerprint_on(chosen.models),
        )
        assert first.fingerprint != second.fingerprint

    def test_an_address_cannot_make_the_app_load_what_the_settings_do_not_name(self, choosing, folder, monkeypatch):
        def never(name: str) -> CrossEncoderReranker:
            raise AssertionError(f"{name} was opened")

        monkeypatch.setattr("rag_core.models.sentence_models._cross_encoder", never)
        elsewhere = str(folder.parent)
        found = from_address({"s": ["ensemble"], "1.reranker": [elsewhere]}, ("bm25",), fewest=1)
        (refused,) = collect(choosing.stream(self.ASKED, found.columns))
        assert isinstance(refused, SettingsError)
        assert elsewhere in refused.message
        assert "RAG_RERANKER" in refused.next_step

    def test_it_goes_through_an_address(self):
        column = set_up("ensemble", reranker="offline")
        parameters = to_address([column])
        assert parameters["1.reranker"] == ["offline"]
        found = from_address(parameters, ("bm25",), fewest=1)
        assert found.columns == (column,)

    def test_the_first_of_the_settings_is_used_and_any_can_be_chosen(self, scorer, folder):
        settings = Settings(reranker=f"{folder}, auto")
        assert settings.choosable_rerankers == (str(folder), "offline")
        offered = Rerankers(settings, scorer)
        assert offered.of_settings() is offered.chosen(str(folder))  # loaded once
        assert offered.chosen("offline") is scorer
