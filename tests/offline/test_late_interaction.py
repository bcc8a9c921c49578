"""Texts encoded token by token, and the formulas of the offline scorer."""

from __future__ import annotations

import math
import threading
from collections import Counter

import numpy as np
import pytest
from helpers.anti_d import ANTI_D, TEXTS
from hypothesis import given
from hypothesis import strategies as st

from rag_core.offline.late_interaction import WINDOW, EncodedText, TokenEncoder, best_window, max_sim
from rag_core.offline.scorer import (
    TERMS,
    Calibration,
    Signals,
    bm25_among,
    feedback,
    feedback_terms,
    smoothed,
    standardised,
)


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
        one = TokenEncoder(minilm).encode([(TEXTS[0], "en")])[0].megabytes
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
            threading.Thread(target=encoder.encode, args=([(text, "en") for text in TEXTS],))
            for _ in range(4)
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
