import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


class TestTheFormulas:
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
        calibration = Calibration(-1.0, (2.0, 0.0, 0.0, 0.0, 0.5, 0.0))
        signals = Signals(sentence=0.4, cosine=0.9, words=0.5, covered=1.0, same_language=1.0, length=2.0)
        assert calibration(signals) == pytest.approx(1 / (1 + math.exp(1 - 0.8 - 0.5)))

    @given(st.lists(st.floats(-1e6, 1e6), min_size=7, max_size=7))
    def test_a_calibration_gives_a_probability(self, weights):
        signals = Signals(0.4, 0.6, 0.3, 0.5, 1.0, 1.5)
        assert 0.0 <= Calibration(weights[0], tuple(weights[1:]))(signals) <= 1.0
