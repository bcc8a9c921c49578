"""Intervals, paired tests and verdicts: enumeration by hand, scipy's values, and simulations.

The simulations draw scores like real ones: many exact 0 and 1, skewed, half of the differences 0. Their
rates are those of the fixed seeds here; the comments give the rate expected of any seed.
"""

from itertools import product
from math import sqrt

import numpy as np
import pytest
from helpers.looping import for_each
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from rag_core.evaluation.statistics import (
    FEWEST,
    Interval,
    compare_all,
    holm,
    interval,
    intervals,
    minimum_detectable,
    questions_needed,
    randomisation_p,
)

Floats = NDArray[np.float64]


def ndcg_like(draw: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """35 % zeros and a skewed rest, as on NFCorpus; mean 0.65 · 1.2 / 3.2."""
    return np.where(draw.random(shape) < 0.35, 0.0, draw.beta(1.2, 2, shape))


def recall_like(draw: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Found of 1 to 4 relevant documents, most often all; mean 1.5 / 2.1."""
    relevant = draw.integers(1, 5, shape)
    return draw.binomial(relevant, draw.beta(1.5, 0.6, shape)) / relevant


def hit_like(draw: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return (draw.random(shape) < 0.85).astype(float)


def difference_like(draw: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Half exact zeros; mean 0.5 · 0.04."""
    return np.where(draw.random(shape) < 0.5, 0.0, draw.normal(0.04, 0.25, shape))


def by_question(values: Floats) -> dict[str, float]:
    return {f"q{i}": value for i, value in enumerate(values.tolist())}


def test_an_interval_by_hand():
    # 0 and 1 drawn twice with replacement: means 0, 1/2, 1/2, 1; with n = 2 the percentiles are the ends
    assert interval([0.0, 1.0]) == Interval(mean=0.5, low=0.0, high=1.0, n=2)
    assert interval([0.25]) == Interval(mean=0.25, low=0.25, high=0.25, n=1)
    for value, n in product((0.1, -0.1), range(2, 40)):  # n times 0.1 is not always n / 10 in floating point
        span = interval([value] * n)
        assert span.low <= span.mean <= span.high
        assert (span.low, span.high) == (pytest.approx(value), pytest.approx(value))


def test_an_interval_is_the_percentiles_of_all_resamples():
    values = [0.0, 0.0, 0.2, 0.5, 0.9, 1.0]
    means = np.array([np.mean(draw) for draw in product(values, repeat=6)])  # all 6^6 equally likely
    # Student's t at 97.5 % with 5 degrees of freedom is 2.5706
    tail = stats.norm.cdf(-2.5706 * sqrt(6 / 5))
    span = interval(values)
    assert span.mean == pytest.approx(2.6 / 6)
    assert span.low == pytest.approx(np.quantile(means, tail), abs=0.02)
    assert span.high == pytest.approx(np.quantile(means, 1 - tail), abs=0.02)


def test_an_interval_agrees_with_scipy_on_many_questions():
    values = ndcg_like(np.random.default_rng(4), (323,))
    theirs = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=20_000, rng=4)
    span = interval(values)
    assert span.low == pytest.approx(theirs.confidence_interval.low, abs=0.003)
    assert span.high == pytest.approx(theirs.confidence_interval.high, abs=0.003)
    narrow = intervals(values[:, np.newaxis], level=0.5)[0]
    assert span.low < narrow.low < narrow.mean < narrow.high < span.high


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_an_interval_holds_its_mean_and_stays_within_the_values(values):
    span = interval(values)
    assert min(values) - 1e-12 <= span.low <= span.mean <= span.high <= max(values) + 1e-12
    assert span == interval(values[::-1])
    values.sort()
    assert intervals(np.column_stack([values, values]))[1].low == pytest.approx(span.low, abs=1e-12)


@for_each("measure", [interval, randomisation_p, minimum_detectable, questions_needed])
@for_each("values", [[], [0.5, float("nan")], [0.5, float("inf")]])
def test_no_questions_and_values_that_are_no_numbers_are_refused(measure, values):
    with pytest.raises(ValueError, match=r"no questions|not finite"):
        measure(values)


@for_each("n", [20, 184])
@for_each(
    ("scores", "mean"),
    [
        (ndcg_like, 0.65 * 1.2 / 3.2),
        (recall_like, 1.5 / 2.1),
        (hit_like, 0.85),
        (difference_like, 0.5 * 0.04),
    ],
)
def test_intervals_cover_the_true_mean_in_93_to_97_of_100(scores, mean, n):
    spans = intervals(scores(np.random.default_rng(n), (n, 1_000)))
    covered = sum(span.low <= mean <= span.high for span in spans)
    assert 930 <= covered <= 970  # of these seeds


def test_p_by_enumeration():
    # sums of ±1 ±2 ±3: 6, 4, 2, 0, 0, -2, -4, -6; at least as far from 0 as 6, 4, 2, 0: 2, 4, 6, 8 of 8
    assert randomisation_p([1, 2, 3]) == 2 / 8
    assert randomisation_p([-1, 2, 3]) == 4 / 8
    assert randomisation_p([1, -2, 3]) == 6 / 8
    assert randomisation_p([1, 2, -3]) == 1
    assert randomisation_p([0.1, 0.2, -0.3]) == 1  # 0.1 + 0.2 - 0.3 is not 0 in floating point
    many = [1.0] * 20 + [-0.6, 0.2, -0.4] * 30
    assert randomisation_p(many) == randomisation_p(sorted(many)) == randomisation_p([-value for value in many])
    assert randomisation_p([0.5]) == 1  # both flips of one difference are as far
    assert randomisation_p([1] * 10) == 2 / 2**10
    assert randomisation_p([0.0] * 5) == randomisation_p([0.0] * 500) == 1


@pytest.mark.parametrize("n", [5, 12, 13])
def test_p_is_scipys_where_all_flips_are_counted(n):
    differences = np.random.default_rng(n).normal(0.3, 1, n)
    theirs = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert randomisation_p(differences) == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize(("n", "shift"), [(14, 0.8), (60, 0.2), (150, 0.15)])
def test_p_is_scipys_within_sampling_error_where_flips_are_drawn(n, shift):
    differences = np.random.default_rng(n).normal(shift, 1, n)
    theirs = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=10_000, vectorized=True, rng=4
    ).pvalue
    error = sqrt(theirs * (1 - theirs) * 2 / 10_000)
    assert randomisation_p(differences) == pytest.approx(theirs, abs=4 * error)


def test_a_drawn_p_is_never_zero():
    # 2^100 flips, two of them as far: none of the 10,000 drawn is, so only the one that happened counts
    assert randomisation_p([1.0] * 100) == 1 / 10_001


def test_holm_by_hand():
    # sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1: 0.02, 0.03, 0.06, 0.04, the last raised to 0.06
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.5]) == [1.0, 1.0]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


def test_minimum_detectable_and_questions_needed_by_hand():
    # n 10, mean 0.5, squared deviations 10 · 0.25: sd = sqrt(2.5 / 9)
    differences = [0.0, 1.0] * 5
    sd = sqrt(2.5 / 9)
    assert minimum_detectable(differences) == pytest.approx((1.959964 + 0.841621) * sd / sqrt(10))
    assert minimum_detectable(differences, power=0.5, level=0.01) == pytest.approx(2.575829 * sd / sqrt(10))
    # (2.801585 · 0.527046 / 0.5)² = 8.72, and nothing is concluded from fewer than 10
    assert questions_needed(differences) == FEWEST
    differences = [0.7, -0.5] * 10  # mean 0.1, each 0.6 from it: sd = sqrt(20 · 0.36 / 19) = 0.615587
    assert questions_needed(differences) == 298  # (2.801585 · 0.615587 / 0.1)² = 297.43
    assert questions_needed(differences, power=0.5) == 146  # (1.959964 · 0.615587 / 0.1)² = 145.57
    assert questions_needed([0.5, -0.5]) is None
    with pytest.raises(ValueError, match="one difference"):
        minimum_detectable([0.5])


def test_a_comparison_by_hand():
    # b loses 8 questions by 0.5, wins 1 by 0.1, and 1 differs by rounding only
    a = by_question(np.array([0.75] * 8 + [0.4, 0.3]))
    b = by_question(np.array([0.25] * 8 + [0.5, 0.3 + 1e-12]))
    (pair,) = compare_all("nDCG@10", {"a": a, "b": b | {"only b": 1.0}})
    assert (pair.metric, pair.a, pair.b, pair.n) == ("nDCG@10", "a", "b", 10)
    assert (pair.wins, pair.ties, pair.losses) == (8, 1, 1)
    assert pair.difference == pytest.approx((8 * 0.5 - 0.1) / 10)
    # of the 2^9 flips of the nine that count: all +, all but the 0.1, and their mirrors: 4 of 512
    assert pair.p == pair.p_holm == 4 / 512
    assert pair.different
    assert pair.more_questions is None
    assert pair.minimum_detectable == pytest.approx(minimum_detectable([0.5] * 8 + [-0.1, 0]))
    (span,) = intervals(np.array([[0.5]] * 8 + [[-0.1], [0]]))  # in the order of the questions' ids
    assert (pair.low, pair.high) == (pytest.approx(span.low), pytest.approx(span.high))
    numbers = f"by 0.390 nDCG@10 (95 % {span.low:.3f} to {span.high:.3f}), probably real: p 0.008."
    assert pair.verdict == "a is better than b " + numbers
    (mirrored,) = compare_all("nDCG@10", {"b": b, "a": a})
    assert mirrored.verdict == pair.verdict
    assert (mirrored.difference, mirrored.wins) == (pytest.approx(-0.39), 1)
    assert (mirrored.low, mirrored.high) == (pytest.approx(-span.high), pytest.approx(-span.low))


def test_verdicts():
    draw = np.random.default_rng(4)
    base = ndcg_like(draw, (100,))
    near = base + np.where(np.arange(100) % 2, 0.23, -0.2)  # mean difference 0.015, each 0.215 from it

    (pair,) = compare_all("MRR", {"near-by": by_question(near), "base": by_question(base)})
    assert not pair.different
    assert pair.p is not None
    assert pair.p > 0.3
    # sd = 0.215 · sqrt(100 / 99) = 0.216083; (2.801585 · 0.216083 / 0.015)² = 1,628.8 in all
    assert pair.more_questions == 1629 - 100
    assert pair.verdict.startswith("near-by and base cannot be told apart on MRR: difference +0.015 (95 % −0.0")
    assert pair.verdict.endswith("; about 1,500 more questions would settle a difference of this size.")
    assert f"+{pair.high:.3f}), p {pair.p:.3f};" in pair.verdict

    (pair,) = compare_all("MRR", {"far": by_question(base + 0.3), "base": by_question(base)})
    assert pair.verdict == "far is better than base by 0.300 MRR (95 % 0.300 to 0.300), probably real: p < 0.001."

    (pair,) = compare_all("MRR", {"a": by_question(base), "b": by_question(base + 1e-12)})
    assert pair.verdict == "a and b are equal on every question."
    assert (pair.p, pair.different, pair.minimum_detectable, pair.more_questions) == (1, False, None, None)

    # differences that cancel out: no number of questions settles them
    (pair,) = compare_all("MRR", {"a": by_question(np.array([0.5, -0.5] * 10)), "b": by_question(np.zeros(20))})
    assert pair.more_questions is None
    assert pair.verdict.endswith("difference +0.000 (95 % −0.250 to +0.250), p 1.000.")


def test_the_level_of_a_difference_is_5_percent():
    b = by_question(np.zeros(10))
    (six,) = compare_all("MRR", {"a": by_question(np.array([1.0] * 6 + [0.0] * 4)), "b": b})
    assert (six.p, six.different) == (2 / 2**6, True)  # 0.031
    (five,) = compare_all("MRR", {"a": by_question(np.array([1.0] * 5 + [0.0] * 5)), "b": b})
    assert (five.p, five.different) == (2 / 2**5, False)  # 0.0625
    # (2.801585 · sqrt(2.5 / 9) / 0.5)² = 8.7: ten should be enough, but were not
    assert five.verdict.endswith("; about 1 more question would settle a difference of this size.")


@pytest.mark.parametrize(("n", "words"), [(9, "9 questions"), (1, "1 question"), (0, "0 questions")])
def test_too_few_questions_conclude_nothing(n, words):
    (pair,) = compare_all("MRR", {"a": by_question(np.ones(n)), "b": by_question(np.zeros(n)) | {"x": 1.0}})
    assert pair.verdict == f"too few to conclude: {words}."
    assert (pair.n, pair.wins, pair.different) == (n, n, False)
    assert (pair.p, pair.p_holm, pair.minimum_detectable, pair.more_questions) == (None, None, None, None)
    assert pair.difference == (1 if n else None)


def test_all_pairs_are_corrected_together_and_each_has_its_own_questions():
    draw = np.random.default_rng(4)
    scores = {name: by_question(ndcg_like(draw, (40,))) for name in "abc"}
    scores["c"] = {question: score + 0.15 for question, score in list(scores["c"].items())[:25]}
    scores["few"] = {"q0": 0.5}
    pairs = compare_all("m", scores)
    assert pairs == compare_all("m", {name: dict(reversed(row.items())) for name, row in scores.items()})
    assert [(pair.a, pair.b, pair.n) for pair in pairs] == [
        *[("a", "b", 40), ("a", "c", 25), ("a", "few", 1)],
        *[("b", "c", 25), ("b", "few", 1), ("c", "few", 1)],
    ]
    tested = [pair for pair in pairs if pair.n >= FEWEST]
    for pair in tested:
        values = [scores[pair.a][q] - scores[pair.b][q] for q in scores["c"] if q in scores[pair.b]]
        if pair.n == 25:
            assert pair.p == randomisation_p(values)
            expected = questions_needed(values, level=0.05 / 3)
            assert pair.more_questions == (None if pair.different or not expected else max(expected - 25, 1))
            assert pair.minimum_detectable == pytest.approx(minimum_detectable(values, level=0.05 / 3))
    # the pairs with too few questions take no part in the correction
    assert [pair.p_holm for pair in tested] == holm([pair.p for pair in tested if pair.p is not None])
    assert all("corrected for 3 pairs" in pair.verdict for pair in tested)


def test_a_score_that_is_no_number_is_never_compared():
    scores = by_question(np.ones(12))
    with pytest.raises(ValueError, match="not finite"):
        compare_all("m", {"a": scores, "b": scores | {"q3": float("nan")}})


def test_only_the_named_pairs_are_compared_and_corrected_for():
    questions = [f"q{i}" for i in range(12)]
    scores = {
        name: {question: (i % 4 + shift) / 8 for i, question in enumerate(questions)}
        for name, shift in (("a", 0), ("b", 1), ("c", 2), ("d", 3))
    }
    every = {(pair.a, pair.b): pair for pair in compare_all("nDCG@10", scores)}
    named = compare_all("nDCG@10", scores, [("b", "a"), ("c", "d")])
    assert [(pair.a, pair.b) for pair in named] == [("b", "a"), ("c", "d")]
    # every difference has one sign: 2 of the 4,096 flips are as extreme
    assert [pair.p for pair in named] == [2 / 4096] * 2
    assert [pair.p_holm for pair in named] == [2 * 2 / 4096] * 2
    assert every["a", "b"].p_holm == 6 * 2 / 4096
