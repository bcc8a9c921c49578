"""The Pareto front of quality, time and cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from .results import Results

SLOWER = 1.1  # times within this ratio count as equal


class Measured(Protocol):
    """What is compared: a mean score, seconds per question, and US dollars per question or None if unknown."""

    @property
    def mean(self) -> float: ...
    @property
    def seconds(self) -> float: ...
    @property
    def cost_usd(self) -> float | None: ...


@dataclass(frozen=True, slots=True)
class Point:
    """A strategy or setting by quality, time and cost.

    Args:
        seconds: per question.
        cost_usd: US dollars per question; None when unknown.
        front: whether it is on the Pareto front.
    """

    name: str
    mean: float
    seconds: float
    cost_usd: float | None
    front: bool = False


def on_front(points: Sequence[Measured]) -> list[bool]:
    """Whether each point is on the front: no other is better in one respect and worse in none.

    An unknown cost counts as 0.
    """
    return [not any(_dominates(other, point) for other in points) for point in points]


def pareto_front(results: Results) -> list[Point]:
    """The strategies that ran here, by their primary metric, time and cost."""
    points = [
        Point(label, mean, row.seconds_per_query, row.cost_per_query)
        for label, mean in results.primary_means.items()
        if (row := results.strategies[label]).seconds_per_query is not None
    ]
    return [
        Point(point.name, point.mean, point.seconds, point.cost_usd, front)
        for point, front in zip(points, on_front(points), strict=True)
    ]


def _dominates(a: Measured, b: Measured) -> bool:
    cost_a, cost_b = a.cost_usd or 0.0, b.cost_usd or 0.0
    worse = a.mean < b.mean or a.seconds > SLOWER * b.seconds or cost_a > cost_b
    better = a.mean > b.mean or SLOWER * a.seconds < b.seconds or cost_a < cost_b
    return better and not worse
