"""From the cost of measured questions to that of a month."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

DAYS = 30  # of a month
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Projection:
    """What a month of questions costs.

    Args:
        n: how many questions were measured.
        per_question: mean cost of a question, in US dollars.
        per_month: `per_question` times the questions of a month.
        low, high: ends of the 95 % interval of `per_month`; None with a single question, whose spread is unknown.
    """

    n: int
    per_question: float
    per_month: float
    low: float | None
    high: float | None


def project(costs: Sequence[float], per_day: float) -> Projection:
    """The cost of `DAYS` days.

    The interval is that of the mean by Student's t, mean ± t(0.975, n − 1) · s / √n, cut at 0: it covers how
    much the measured questions differ, not that other questions may be asked.

    Args:
        costs: US dollars of each measured question, >= 0; at least one.
        per_day: questions a day, >= 0.

    Example:
        >>> month = project([0.01, 0.02, 0.03], 100)
        >>> month.per_month, round(month.low, 2), round(month.high, 2)  # 60 ± 4.3027 · 0.01 / √3 · 3,000
        (60.0, 0.0, 134.52)
    """
    mean, questions = statistics.fmean(costs), per_day * DAYS
    month = mean * questions
    if len(costs) < 2:
        return Projection(1, mean, month, None, None)
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(costs) - 1, (1 + LEVEL) / 2))
    half = quantile * statistics.stdev(costs) / math.sqrt(len(costs)) * questions
    return Projection(len(costs), mean, month, max(0.0, month - half), month + half)
