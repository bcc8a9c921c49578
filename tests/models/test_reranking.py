"""Rerankers: any cross-encoder on disk, and the offline scorer with each of its formulas."""

from __future__ import annotations

import math
import string
import threading
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.language.analysis import language_of
from rag_core.models import (
    CrossEncoderReranker,
    LlamaEmbedder,
    load_embedder,
    load_reranker,
)
from rag_core.models.embedding import MINILM, MINILM_SHA256, minilm_folder
from rag_core.offline.late_interaction import WINDOW, EncodedText, TokenEncoder, best_window, max_sim
from rag_core.offline.loading import load_scorer
from rag_core.offline.scorer import (
    TERMS,
    Calibration,
    OfflineScorer,
    Signals,
    _language,
    bm25_among,
    feedback,
    feedback_terms,
    read_calibrations,
    smoothed,
    standardised,
)
from rag_core.values.errors import DataError, MissingResource, ProviderError
from rag_core.values.labels import LabelRules
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings
from rag_core.values.types import Hit, Passage

DATA = Path(__file__).resolve().parents[2] / "data"
QUESTION = "When is anti-D immunoglobulin given to a rhesus negative woman?"
ANTI_D = "Anti-D immunoglobulin is offered to every rhesus negative woman at 28 weeks and after the birth."
TEXTS = (
    ANTI_D,
    "Breast milk can be kept in the fridge for some days, at the back where it is coldest.",
    "A rhesus positive woman does not need the injection.",
    "The hospital car park is open day and night.",
)


def hit(text: str, title: str = "", language: str = "en") -> Hit:
    return Hit(Passage(f"id-{title}-{text[:40]}", "doc", title, text, language=language), 0.0, "rrf")


HITS = tuple(hit(text) for text in TEXTS)


@pytest.fixture(scope="module")
def prices() -> PriceList:
    return PriceList.read(DATA / "prices.toml")


@pytest.fixture(scope="module")
def minilm(prices: PriceList) -> LlamaEmbedder:
    return load_embedder(Settings(embedding="minilm"), prices)


@pytest.fixture(scope="module")
def scorer(minilm: LlamaEmbedder, prices: PriceList) -> OfflineScorer:
    return load_scorer(Settings(), minilm, prices)


@pytest.fixture(scope="module")
def encoder(minilm: LlamaEmbedder) -> TokenEncoder:
    return TokenEncoder(minilm)


def tiny(folder: Path, labels: int = 1) -> Path:
    """A cross-encoder of letters with random weights, 64 tokens long."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    letters = string.ascii_lowercase
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        num_labels=labels,
        initializer_range=0.5,  # so that scores differ
    )
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    BertTokenizerFast(vocab={word: i for i, word in enumerate(words)}).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny(tmp_path_factory.mktemp("models") / "tiny-ce")


@pytest.fixture(scope="module")
def cross(folder: Path, scorer: OfflineScorer) -> CrossEncoderReranker:
    loaded = load_reranker(Settings(reranker=str(folder)), scorer)
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
        expected, found = cross.score("anti d", HITS)[0], {}

        def score(number: int) -> None:
            found[number] = cross.score("anti d", HITS)[0]

        threads = [threading.Thread(target=score, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 6
        for scores in found.values():
            assert scores == pytest.approx(expected, abs=1e-6)

    @pytest.mark.parametrize(
        "answer", [[0.5, math.nan], [math.inf, 0.1], [0.5], [0.1, 0.2, 0.3], []], ids=str
    )
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
        assert load_reranker(Settings(reranker="auto"), scorer) is scorer
        assert (scorer.name, scorer.scale) == ("offline-scorer", "offline_scorer")

    def test_a_name_that_is_nowhere_is_a_missing_resource(self, scorer, monkeypatch):
        monkeypatch.setattr("rag_core.models.reranking.hub_reachable", lambda: False)
        with pytest.raises(MissingResource, match=r"nobody/nothing") as missing:
            load_reranker(Settings(reranker="nobody/nothing"), scorer)
        assert "RAG_RERANKER" in missing.value.next_step

    def test_an_empty_folder_is_a_missing_resource(self, scorer, tmp_path):
        with pytest.raises(MissingResource, match="cannot be loaded"):
            load_reranker(Settings(reranker=str(tmp_path)), scorer)

    def test_a_classifier_is_no_reranker(self, scorer, tmp_path):
        with pytest.raises(MissingResource, match="gives 3 scores per pair"):
            load_reranker(Settings(reranker=str(tiny(tmp_path / "three", labels=3))), scorer)

    def test_an_embedding_model_would_score_at_random_and_is_refused(self, scorer):
        with pytest.raises(MissingResource, match="was not trained to score pairs"):
            load_reranker(Settings(reranker=str(minilm_folder())), scorer)

    def test_the_scorer_reads_with_the_bundled_model_whatever_embeds(self, minilm, prices):
        other = SimpleNamespace(key="another-model")
        alone = load_scorer(Settings(embedding="openai:x"), other, prices)
        shared = load_scorer(Settings(), minilm, prices)
        assert alone.score(QUESTION, HITS)[0] == pytest.approx(shared.score(QUESTION, HITS)[0], abs=1e-4)


class TestReadingAText:
    def test_the_vector_is_the_embedding(self, encoder, minilm):
        readings = encoder.encode([(text, "en") for text in TEXTS])
        vectors = minilm.embed(TEXTS, "passage")[0]
        assert np.array([reading.vector for reading in readings]) == pytest.approx(vectors, abs=1e-5)

    def test_words_leave_out_stop_words_and_punctuation(self, encoder):
        short, long = encoder.encode([("cats purr", "en"), ("The cats, they purr.", "en")])
        assert len(short.words) == len(long.words)  # cats, pur, ##r
        assert (short.tokens, long.tokens) == (len(short.words), len(short.words) + 4)  # the , they .
        (spanish,) = encoder.encode([("The cats, they purr.", "es")])
        assert len(spanish.words) == len(short.words) + 2  # "the" and "they" are not Spanish stop words

    def test_a_text_of_stop_words_keeps_them(self, encoder):
        (reading,) = encoder.encode([("What is it?", "en")])
        assert len(reading.words) == 4

    def test_an_empty_text_is_like_nothing(self, encoder):
        empty, text = encoder.encode([("", "en"), (ANTI_D, "en")])
        assert (len(empty.words), len(empty.windows), empty.tokens) == (0, 0, 0)
        assert max_sim(empty, text) == max_sim(text, empty) == best_window(text, empty) == 0.0

    @pytest.mark.parametrize(("words", "windows"), [(1, 1), (WINDOW, 1), (WINDOW + 1, 2), (2 * WINDOW, 3)])
    def test_windows_overlap_by_half_and_reach_the_end(self, encoder, words, windows):
        (reading,) = encoder.encode([(" ".join(["cat"] * words), "en")])
        assert (reading.tokens, len(reading.windows)) == (words, windows)

    def test_rows_have_length_one(self, encoder):
        (reading,) = encoder.encode([(ANTI_D, "en")])
        for vectors in (reading.words, reading.windows, reading.vector[None]):
            assert np.linalg.norm(vectors.astype(float), axis=1) == pytest.approx(1, abs=1e-3)

    def test_readings_are_kept_within_the_bound_and_the_oldest_goes_first(self, minilm, monkeypatch):
        asked: list[list[str]] = []
        network = minilm.model._model
        encode = network.encode

        def counting(texts: list[str], **options: object) -> object:
            asked.append(list(texts))
            return encode(texts, **options)

        monkeypatch.setattr(network, "encode", counting)
        one = TokenEncoder(minilm).read([(TEXTS[0], "en")])[0].megabytes
        encoder = TokenEncoder(minilm, megabytes=2.5 * one)
        asked.clear()
        first, second, third = ((TEXTS[0], "en"), (TEXTS[0] + " ", "en"), (TEXTS[0] + "  ", "en"))
        for text in (first, second, first, third, first):
            encoder.encode([text])
        assert [texts[0] for texts in asked] == [
            first[0],
            second[0],
            third[0],
        ]  # the first was kept: used lately
        encoder.encode([second, second, first])
        assert asked[3:] == [[second[0]]]

    def test_a_text_of_another_language_is_read_apart(self, encoder):
        spanish, english = encoder.encode([("no son gases", "es"), ("no son gases", "en")])
        assert spanish.terms != english.terms

    def test_threads_read_a_text_once(self, minilm, monkeypatch):
        network, calls = minilm.model._model, []
        encode = network.encode
        monkeypatch.setattr(
            network, "encode", lambda texts, **options: calls.append(len(texts)) or encode(texts, **options)
        )
        encoder = TokenEncoder(minilm)
        threads = [
            threading.Thread(target=encoder.read, args=([(text, "en") for text in TEXTS],)) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert calls == [4]


def reading(words: list[list[float]], windows: list[list[float]], vector: list[float]) -> EncodedText:
    return EncodedText(np.float32(vector), np.float16(words), np.float16(windows), Counter(), len(words))


class TestTheFormulas:
    def test_max_sim_is_the_mean_of_the_best_cosines(self):
        question = reading([[1, 0], [0, 1]], [], [1, 0])
        passage = reading([[0.6, 0.8], [-1, 0]], [], [1, 0])
        assert max_sim(question, passage) == pytest.approx((0.6 + 0.8) / 2, abs=1e-3)

    def test_the_best_window_counts(self):
        question = reading([], [], [0.6, 0.8])
        passage = reading([], [[1, 0], [0, 1]], [1, 0])
        assert best_window(question, passage) == pytest.approx(0.8, abs=1e-3)

    def test_bm25_among_two_passages(self):
        held = [Counter(cat=2, dog=1), Counter(dog=1)]  # lengths 3 and 1, mean 2
        # cat: in 1 of 2, idf = ln(1 + 1.5/1.5); dog: in 2 of 2, idf = ln(1 + 0.5/2.5)
        cat, dog = math.log(2), math.log(1.2)
        long, short = 1.5 * (0.25 + 0.75 * 3 / 2), 1.5 * (0.25 + 0.75 * 1 / 2)
        first = cat * 2 * 2.5 / (2 + long) + dog * 1 * 2.5 / (1 + long)
        second = dog * 1 * 2.5 / (1 + short)
        assert bm25_among({"cat": 1.0, "dog": 1.0}, held) == pytest.approx([first, second])
        # a weight multiplies its term's part: 3 · cat, no dog
        assert bm25_among({"cat": 3.0}, held) == pytest.approx([3 * cat * 2 * 2.5 / (2 + long), 0])

    def test_bm25_without_terms_or_words_is_nothing(self):
        assert bm25_among({}, [Counter(a=1)]) == pytest.approx([0])
        assert bm25_among({"a": 1.0}, [Counter(), Counter()]) == pytest.approx([0, 0])

    @given(st.lists(st.dictionaries(st.sampled_from("abcd"), st.integers(1, 5)), min_size=1, max_size=8))
    def test_bm25_is_positive_exactly_where_a_term_occurs(self, rows):
        scores = bm25_among({"a": 1.0, "b": 1.0}, [Counter(row) for row in rows])
        assert [score > 0 for score in scores] == [bool({"a", "b"} & set(row)) for row in rows]

    def test_standard_scores(self):
        assert standardised(np.array([1.0, 2.0, 3.0])) == pytest.approx([-math.sqrt(1.5), 0, math.sqrt(1.5)])

    @given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20), st.floats(0.5, 20), st.floats(-50, 50))
    def test_standard_scores_forget_unit_and_origin(self, values, unit, origin):
        scores = np.array(values)
        if 0 < scores.std() < 1e-3:
            return  # rounding decides
        assert standardised(scores * unit + origin) == pytest.approx(standardised(scores), abs=1e-4)

    def test_equal_scores_say_nothing(self):
        assert standardised(np.full(3, 0.1 + 0.2)) == pytest.approx([0, 0, 0])

    def test_the_terms_the_leaders_share(self):
        held = [Counter(cat=1, pet=3), Counter(dog=1, pet=1), Counter(pet=1, car=1)]
        # P: cat 0.75 · 1/4, pet 0.75 · 3/4 + 0.25 · 1/2, dog 0.25 · 1/2; the third passage leads nothing
        found = feedback_terms(held, [0, 1], np.array([0.75, 0.25]))
        assert found == pytest.approx({"cat": 0.1875, "pet": 0.6875, "dog": 0.125})
        # cat and dog: n = 1 of 3, idf ln(1 + 2.5/1.5); pet: n = 3 of 3, idf ln(1 + 0.5/3.5)
        assert list(found) == ["cat", "dog", "pet"]
        assert 0.125 * math.log(1 + 2.5 / 1.5) > 0.6875 * math.log(1 + 0.5 / 3.5)

    def test_no_more_than_the_most_telling_terms(self):
        held = [Counter({f"t{i:03}": 1 for i in range(2 * TERMS)}), Counter(other=1)]
        assert sorted(feedback_terms(held, [0], np.array([1.0]))) == [f"t{i:03}" for i in range(TERMS)]

    def test_feedback_prefers_what_is_like_the_leaders(self):
        held = [Counter(cat=2), Counter(cat=1, pet=1), Counter(car=1), Counter(car=2)]
        vectors = np.float32([[1, 0], [0.8, 0.6], [0, 1], [0, 1]])
        found = feedback(np.array([1.7, -0.5, -0.6, -0.6]), held, vectors)
        weights = np.exp([0, -2.2, -2.3, -2.3]) / np.exp([0, -2.2, -2.3, -2.3]).sum()
        words = bm25_among(feedback_terms(held, [0, 1, 2, 3], weights), held)
        meaning = vectors @ (weights @ vectors)
        assert found == pytest.approx(standardised(words) + standardised(meaning), abs=1e-6)
        assert found[1] > found[2]

    def test_smoothing_mixes_in_the_nearest(self):
        vectors = np.float32([[1, 0], [0.8, 0.6], [0, 1]])
        # nearest of each: 2nd (0.8), 1st (0.8), 2nd (0.6)
        assert smoothed(np.array([3.0, 1.0, -1.0]), vectors, neighbours=1, share=0.25) == pytest.approx(
            [0.75 * 3 + 0.25 * 1, 0.75 * 1 + 0.25 * 3, 0.75 * -1 + 0.25 * 1]
        )
        # two neighbours of the first: cosines 0.8 and 0, so the second's score alone
        assert smoothed(np.array([3.0, 1.0, -1.0]), vectors, 2, 0.5)[0] == pytest.approx((3 + 1) / 2)

    def test_smoothing_leaves_a_single_passage_alone(self):
        assert smoothed(np.array([2.0]), np.float32([[1, 0]])) == pytest.approx([2])

    @given(st.lists(st.floats(-5, 5), min_size=1, max_size=12), st.integers(0, 2**32 - 1))
    def test_smoothed_scores_stay_between_the_lowest_and_the_highest(self, values, seed):
        vectors = np.random.default_rng(seed).normal(size=(len(values), 4)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        found = smoothed(np.array(values), vectors)
        assert (found >= min(values) - 1e-9).all()
        assert (found <= max(values) + 1e-9).all()

    def test_a_calibration_is_the_logistic_function(self):
        calibration = Calibration(-1.0, (2.0, 0.0, 0.0, 0.5, 0.0))
        signals = Signals(window=0.4, interaction=0.9, covered=1.0, same_language=1.0, length=2.0)
        assert calibration(signals) == pytest.approx(1 / (1 + math.exp(1 - 0.8 - 0.5)))

    @given(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=6))
    def test_a_calibration_gives_a_probability(self, weights):
        signals = Signals(0.4, 0.6, 0.5, 1.0, 1.5)
        assert 0.0 <= Calibration(weights[0], tuple(weights[1:]))(signals) <= 1.0


class TestTheOfflineScorer:
    def test_puts_the_passage_that_answers_first(self, scorer):
        scores, call = scorer.score(QUESTION, HITS)
        assert int(np.argmax(scores)) == 0
        assert int(np.argmin(scores)) in (1, 3)
        assert (call.purpose, call.model, call.output_tokens, call.cost_usd) == (
            "rerank",
            "offline-scorer",
            0,
            0.0,
        )

    def test_is_its_three_parts_with_feedback_smoothed(self, scorer, encoder):
        question, *passages = encoder.encode([(text, "en") for text in (QUESTION, *TEXTS)])
        terms = ["anti", "d", "immunoglobulin", "given", "rhesus", "negat", "woman"]  # snowball stems
        held = [passage.terms for passage in passages]
        vectors = np.array([passage.vector for passage in passages])
        parts = [
            bm25_among(dict.fromkeys(terms, 1.0), held),
            np.array([best_window(question, passage) for passage in passages]),
            np.array([max_sim(question, passage) for passage in passages]),
        ]
        own = standardised(sum(standardised(part) for part in parts))
        expected = smoothed(own + 0.5 * feedback(own, held, vectors), vectors)
        scores, call = scorer.score(QUESTION, HITS)
        assert scores == pytest.approx(list(expected), abs=1e-3)
        assert call.input_tokens == question.tokens + sum(passage.tokens for passage in passages)

    def test_a_query_in_another_language_trusts_the_english_model_half_as_much(self, scorer, encoder):
        query = "¿Cuándo se administra la inmunoglobulina anti-D?"
        texts = ("La anti-D se administra en la semana 28.", "La leche se conserva en la nevera.", TEXTS[2])
        languages = ("es", "es", "en")
        hits = [hit(text, language=code) for text, code in zip(texts, languages, strict=True)]
        question, *passages = encoder.encode([(query, "es"), *zip(texts, languages, strict=True)])
        held = [passage.terms for passage in passages]
        vectors = np.array([passage.vector for passage in passages])
        terms = dict.fromkeys(["administr", "inmunoglobulin", "anti", "d"], 1.0)
        window = standardised(np.array([best_window(question, passage) for passage in passages]))
        interaction = standardised(np.array([max_sim(question, passage) for passage in passages]))
        own = standardised(standardised(bm25_among(terms, held)) + 0.5 * window + 0.5 * interaction)
        expected = smoothed(own + 0.5 * feedback(own, held, vectors, 0.5), vectors)
        assert scorer.score(query, hits)[0] == pytest.approx(list(expected), abs=1e-3)

    def test_a_query_whose_language_no_passage_has_is_taken_for_theirs(self, scorer):
        # one Spanish-looking word over English passages: the model is trusted as for English
        alike = [hit(text) for text in TEXTS]
        spanish, english = ("carcinoma", "tumour")
        assert _language(spanish, alike) == _language(english, alike) == "en"

    def test_scores_go_with_their_hits(self, scorer):
        order = [2, 0, 3, 1]
        forward = scorer.score(QUESTION, HITS)[0]
        shuffled = scorer.score(QUESTION, [HITS[i] for i in order])[0]
        assert shuffled == pytest.approx([forward[i] for i in order], abs=1e-6)

    @pytest.mark.parametrize("count", [0, 1, 2])
    def test_few_hits_get_one_finite_score_each(self, scorer, count):
        scores, call = scorer.score(QUESTION, HITS[:count])
        assert len(scores) == count
        assert all(map(math.isfinite, scores))
        assert call.input_tokens > 0

    @settings(max_examples=25, deadline=None)
    @given(st.text(max_size=40), st.lists(st.text(max_size=60), max_size=4))
    def test_any_text_gets_finite_scores_and_probabilities(self, scorer, question, texts):
        hits = [hit(text) for text in texts]
        scores = scorer.score(question, hits)[0]
        assert len(scores) == len(hits)
        assert all(map(math.isfinite, scores))
        relevance = scorer.relevance(question, hits)
        assert len(relevance) == len(hits)
        assert all(0 <= value <= 1 for value in relevance)

    def test_relevance_does_not_depend_on_the_other_hits(self, scorer):
        together = scorer.relevance(QUESTION, HITS)
        assert together == pytest.approx([scorer.relevance(QUESTION, [one])[0] for one in HITS], abs=1e-3)

    def test_relevance_tells_an_answer_from_what_has_nothing_to_do_with_it(self, scorer):
        answer, milk, _, parking = scorer.relevance(QUESTION, HITS)
        assert answer > 0.5 > max(milk, parking)

    def test_relevance_in_spanish(self, scorer):
        question = "¿Cuándo se administra la inmunoglobulina anti-D a una mujer Rh negativa?"
        right, wrong = scorer.relevance(
            question,
            [
                hit(
                    "La inmunoglobulina anti-D se administra a la mujer Rh negativa en la semana 28.",
                    language="es",
                ),
                hit("La leche materna se conserva unos días en la nevera.", language="es"),
            ],
        )
        assert right > 0.5 > wrong

    def test_signals_are_read_from_the_texts(self, scorer):
        question = "When is anti-D given to a woman?"  # terms: anti, d, given, woman
        same, other = scorer.signals(question, [hit("Anti-D for a woman."), hit("Nada.", language="es")])
        assert (same.covered, same.same_language, same.length) == (0.75, 1.0, pytest.approx(math.log(5)))
        assert (other.covered, other.same_language) == (0.0, 0.0)
        assert same.window > other.window
        assert same.interaction > other.interaction

    def test_a_few_words_are_taken_to_be_in_the_passage_s_language(self, scorer):
        assert language_of("carcinoma") == "es"
        (short,) = scorer.signals("carcinoma", [hit("A carcinoma is a tumour.")])
        assert (short.same_language, short.covered) == (1.0, 1.0)

    def test_a_language_without_a_calibration_is_judged_by_the_english_one(self, encoder):
        half, sure = Calibration(0.0, (0.0,) * 5), Calibration(40.0, (0.0,) * 5)
        only = OfflineScorer(encoder, {"en": half, "es": sure})
        assert only.relevance("Когда беременной нужна эта инъекция?", HITS[:1]) == [0.5]
        assert only.relevance("¿Cuándo se administra la inyección?", HITS[:1]) == pytest.approx([1.0])


class TestTheCalibrationFile:
    def test_the_one_in_the_repository_covers_both_languages(self):
        fitted = read_calibrations(DATA / "relevance.toml")
        assert set(fitted) == {"en", "es"}
        for calibration in fitted.values():
            assert calibration.weights[1] > 0  # late interaction speaks for relevance

    @pytest.mark.parametrize(
        "text",
        [None, "[en", "", "[es]\nintercept = 1", "[en]\nintercept = 1", "en = 3"],
        ids=["missing", "not TOML", "empty", "no English", "no weights", "no table"],
    )
    def test_a_missing_or_malformed_file_is_named(self, tmp_path, text):
        path = tmp_path / "relevance.toml"
        if text is not None:
            path.write_text(text)
        with pytest.raises(DataError, match=r"relevance\.toml") as refused:
            read_calibrations(path)
        assert refused.value.next_step == "Restore data/relevance.toml."


class TestLabelsOfAScorersModel:
    ROW = "high = 0.8\nmedium = 0.4\nrelevant = { High = 1, Medium = 0.5, Low = 0 }\njudged = { High = 1, Medium = 2, Low = 3 }"

    @pytest.fixture
    def rules(self, tmp_path: Path) -> LabelRules:
        path = tmp_path / "labels.toml"
        path.write_text(f'[cosine."minilm-1".en]\n{self.ROW}\n[judge."strict".en]\n{self.ROW}\n')
        return LabelRules.read(path)

    @pytest.mark.parametrize(
        ("scorer", "model", "known"),
        [
            ("cosine", "minilm-1", True),
            ("cosine", "minilm-2", False),
            ("cosine", "", False),
            ("judge", "strict", True),
            ("offline_scorer", "offline-scorer", False),
            ("cross_encoder", "some/model", False),
        ],
    )
    def test_thresholds_hold_for_the_model_they_were_fitted_on(self, rules, scorer, model, known):
        assert rules.has(scorer, model) is known
        if known:
            found = rules.relevance(scorer, [0.9, 0.5, 0.1], "en", model)
            assert [row.label for row in found] == ["High", "Medium", "Low"]
            assert rules.relevance(scorer, [0.9], "fr", model)[0].label == "High"
        else:
            with pytest.raises(ValueError, match="no thresholds"):
                rules.relevance(scorer, [0.9], "en", model)

    def test_a_judge_without_thresholds_is_not_labelled_by_anothers(self, rules):
        assert rules.has("judge", "gpt-4o")
        labels = [rules.relevance("judge", [0.45], "en", model)[0].label for model in ("strict", "gpt-4o")]
        assert labels == ["Medium", "Low"]

    def test_by_rank_every_score_can_be_labelled(self):
        by_rank = LabelRules({}, "rank")
        assert by_rank.has("cross_encoder", "some/model")
        assert by_rank.relevance("cross_encoder", [3.0], "en", "some/model")[0].scorer == "rank"

    def test_the_repository_labels_the_offline_measure_and_the_bundled_models_cosine_alone(self):
        rules = LabelRules.read(DATA / "labels.toml")
        assert rules.has("offline_scorer", "offline-scorer")
        assert rules.has("cosine", f"{MINILM}-{MINILM_SHA256[:8]}")
        for other in ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2-00000000", "text-embedding-3-small"):
            assert not rules.has("cosine", other)
        assert not rules.has("cross_encoder", "mixedbread-ai/mxbai-rerank-large-v1")
        (relevance,) = rules.relevance("offline_scorer", [0.99], "es", "offline-scorer")
        assert relevance.rule.startswith(
            "High: offline measure of relevance 0.99, at least 0.98. Of 19 judged passages"
        )
