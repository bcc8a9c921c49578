"""Exams by simulated judges of known error, 2,000 of each kind: the intervals hold, and agreement is as arithmetic expects.

A question has ten pooled passages, whose true grades are 0, 1 and 2 with probabilities 0.6, 0.2 and 0.2. Strategy A ranks them
by their grade with an error of standard deviation 1, B with 2. A judge says the true grade but for a share e of the time,
in which both others are as likely; who is contrary says 2 minus it. One question in four is judged twice, and the lower counts.
The estimate is the mean of questions as these judges judge them: errors of judges are no errors of sampling, so that an interval
holds that mean, and the true one only as far as the judges are right. Of 30 November 2026, with 40 questions:

judges     A − B as they judge   interval of it holds   the true A − B, 0.166, lies in it
careful    0.152                 94.8 %                 92.8 %
hasty      0.113                 95.2 %                 74.4 %
contrary   −0.111                95.5 %                 0 %
"""

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest
from numpy.typing import NDArray

from rag_core.evaluation.metrics import parse_metric
from rag_core.evaluation.statistics import interval, intervals
from rag_core.sessions.exam.exam import Exam, ExamQuestion, Tick
from rag_core.sessions.exam.judgements import Judgements, agreement
from rag_core.values.types import Passage, text_key

EXAMS, QUESTIONS, PASSAGES, DEPTH = 2_000, 40, 10, 5
NOW = datetime(2026, 11, 30, tzinfo=UTC)
Grades = NDArray[np.int64]
Judge = Callable[[Grades, np.random.Generator], Grades]


def wrong(share: float) -> Judge:
    def judge(truth: Grades, rng: np.random.Generator) -> Grades:
        other = (truth + rng.integers(1, 3, truth.shape)) % 3
        return np.where(rng.random(truth.shape) < share, other, truth)

    return judge


JUDGES: dict[str, Judge] = {"careful": wrong(0.05), "hasty": wrong(0.2), "contrary": lambda truth, rng: 2 - truth}


def simulate(judge: Judge, questions: int, rng: np.random.Generator):
    """True grades, what the first and the second judge say (−1 where there is none), and both strategies' orders."""
    truth = rng.choice(3, size=(questions, PASSAGES), p=[0.6, 0.2, 0.2])
    second = judge(truth, rng)
    second[np.arange(1, questions + 1) % 4 != 0] = -1  # as Exam.judges spreads a share of 0.25
    orders = [np.argsort(-(truth + rng.normal(0, noise, truth.shape)), axis=1) for noise in (1, 2)]
    return truth, judge(truth, rng), second, orders


def counting(first: Grades, second: Grades) -> Grades:
    """The grades that count: the lower one where there are two."""
    return np.where(second < 0, first, np.minimum(first, second))


def ndcg(grades: Grades, order: Grades) -> NDArray[np.float64]:
    """nDCG@5 of each question; 0 where no passage answers, of which there is one in 165 (0.6^10)."""
    discounts = 1 / np.log2(np.arange(2, DEPTH + 2))
    found = np.take_along_axis(grades, order, axis=1)[:, :DEPTH] @ discounts
    best = -np.sort(-grades, axis=1)[:, :DEPTH] @ discounts
    return np.divide(found, best, out=np.zeros(len(best)), where=best > 0)


def alpha(first: Grades, second: Grades) -> NDArray[np.float64]:
    """Krippendorff's ordinal alpha of each row, of two judges, from the table of their coincidences."""
    pairs = np.stack([[(first == a) & (second == b) for b in range(3)] for a in range(3)]).sum(axis=-1)  # (3, 3, rows)
    table = pairs + pairs.transpose(1, 0, 2)
    each = table.sum(axis=1)  # (3, rows)
    n = each.sum(axis=0)
    d01, d12 = ((each[:2] + each[1:]) / 2) ** 2
    d02 = (each[0] / 2 + each[1] + each[2] / 2) ** 2
    observed = (table[0, 1] * d01 + table[1, 2] * d12 + table[0, 2] * d02) / n
    expected = (each[0] * each[1] * d01 + each[1] * each[2] * d12 + each[0] * each[2] * d02) / (n * (n - 1))
    return 1 - observed / expected


def as_stored(first: Grades, second: Grades) -> Judgements:
    """What the judges say, as an exam has it."""
    questions, ticks = [], []
    for number, (one, other) in enumerate(zip(first.tolist(), second.tolist(), strict=True), start=1):
        passages = tuple(Passage(f"d:{place}:{number}", "d", "", f"{number} {place}") for place in range(PASSAGES))
        questions.append(ExamQuestion(number, "Why?", "en", "written", passages))
        for person, said in (("first", one), ("second", other)):
            ticks += [
                Tick(number, text_key(p), person, grade, "", NOW)
                for p, grade in zip(passages, said, strict=True)
                if grade >= 0
            ]
    return Judgements(Exam("", "", "", NOW, DEPTH, 0.25), tuple(questions), tuple(ticks))


@pytest.mark.parametrize("kind", JUDGES)
def test_the_simulation_counts_as_an_exam_does(kind):
    _, first, second, (order, _) = simulate(JUDGES[kind], QUESTIONS, np.random.default_rng(1))
    judged = as_stored(first, second)
    assert [judged.exam.judges(number) for number in (3, 4, 5, 8)] == [1, 2, 1, 2]
    assert judged.standing.complete == QUESTIONS
    metric, scores = parse_metric(f"ndcg@{DEPTH}"), ndcg(counting(first, second), order)
    for question, ranked, score in zip(judged.questions, order, scores, strict=True):
        keys = [text_key(question.passages[place]) for place in ranked]
        grades = judged.qrels[question.id]
        assert any(grades.values())
        assert metric(keys, grades) == pytest.approx(score)
    twice = second[:, 0] >= 0
    (found,) = alpha(first[twice].reshape(1, -1), second[twice].reshape(1, -1))
    assert judged.standing.agreement == pytest.approx(found)


@pytest.mark.parametrize("kind", JUDGES)
def test_intervals_hold_the_mean_as_these_judges_judge(kind):
    rng, judge = np.random.default_rng(20_261_130), JUDGES[kind]

    def figures(questions: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(2, questions) of A, and of A − B, as judged; and of A − B in truth."""
        truth, first, second, orders = simulate(judge, questions, rng)
        a, b = (ndcg(counting(first, second), order) for order in orders)
        true_a, true_b = (ndcg(truth, order) for order in orders)
        return np.stack([a, a - b]), true_a - true_b

    many, true_many = figures(400_000)  # their standard error is below 0.001
    expected, true_difference = many.mean(axis=1), float(true_many.mean())
    judged, _ = figures(EXAMS * QUESTIONS)
    columns = judged.reshape(2, EXAMS, QUESTIONS)
    assert intervals(columns[0, :1].T)[0].low == pytest.approx(interval(columns[0, 0]).low, abs=0.02)
    covered, of_truth = [], 0.0
    for values, mean in zip(columns, expected, strict=True):
        spans = [span for part in np.split(values.T, 8, axis=1) for span in intervals(part)]
        covered.append(np.mean([span.low <= mean <= span.high for span in spans]))
        of_truth = np.mean([span.low <= true_difference <= span.high for span in spans])
    # The Monte-Carlo error of a share of 0.95 in 2,000 is sqrt(0.95 * 0.05 / 2000) = 0.0049. The intervals themselves are known
    # to hold in 93.2 to 95.6 % (`intervals`): so a share must be within three errors of these.
    error = (0.95 * 0.05 / EXAMS) ** 0.5
    assert all(0.932 - 3 * error <= share <= 0.956 + 3 * error for share in covered)
    assert of_truth == pytest.approx(
        {"careful": 0.928, "hasty": 0.744, "contrary": 0}[kind], abs=3 * (0.25 / EXAMS) ** 0.5
    )
    if kind == "contrary":
        assert expected[1] < 0 < true_difference  # the order is turned round, which their agreement cannot show
    else:
        assert 0 < expected[1] <= true_difference  # errors of judges make strategies more alike, never the worse better


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        # Of grades that are 0, 1 and 2 equally often, ordinal distances are as 1 : 1 : 4, those of an interval scale, and alpha
        # is the correlation of what two judges say. One who errs in a share e says 1 + (1 - 3e/2)(t - 1) of a true t on average:
        # t with 1 - e, the other two with e/2 each. So two such judges have the product of their 1 - 3e/2, and one who is
        # contrary has -1.
        ("careful", "careful", (1 - 3 * 0.05 / 2) ** 2),  # 0.856
        ("careful", "hasty", (1 - 3 * 0.05 / 2) * (1 - 3 * 0.2 / 2)),  # 0.648
        ("hasty", "hasty", (1 - 3 * 0.2 / 2) ** 2),  # 0.49
        ("careful", "contrary", -(1 - 3 * 0.05 / 2)),  # -0.925
        ("contrary", "contrary", 1.0),
    ],
)
def test_agreement_is_as_arithmetic_expects_of_the_error_rate(one, other, expected):
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 3, (EXAMS, QUESTIONS * PASSAGES))
    first, second = JUDGES[one](truth, rng), JUDGES[other](truth, rng)
    found = alpha(first, second)
    said = [
        [Tick(1, "p", "a", a, "", NOW), Tick(1, "p", "b", b, "", NOW)]
        for a, b in zip(first[0].tolist(), second[0].tolist(), strict=True)
    ]
    assert agreement(said) == pytest.approx(found[0])  # as the exam has it
    # 400 passages an exam: the Monte-Carlo error of the mean of 2,000, and the bias of alpha, of the order of one in 800 judgements
    error = found.std() / EXAMS**0.5
    assert found.mean() == pytest.approx(expected, abs=3 * error + 2 / 800)
