"""The Pareto front of quality, time and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SLOWER = 1.1  # times within this ratio are the same time


def mark_front(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mark the points that no other one beats in one thing without losing in another.

    Args:
        points: each with "mean", "seconds" and "cost_usd"; an unknown cost counts as none.

    Returns:
        The points, each with "front".
    """
    for point in points:
        point["front"] = not any(_dominates(other, point) for other in points)
    return points


def pareto_front(results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The strategies of a results file that ran here, by their first metric, with the front marked."""
    rows = (
        (label, row, row["metrics"][results["primary"]])
        for label, row in results["strategies"].items()
        if row["controls"] is not None
    )
    return mark_front(
        [
            {
                "name": label,
                "mean": score["mean"],
                "seconds": row["seconds_per_query"],
                "cost_usd": None if row["cost_usd"] is None else row["cost_usd"] / row["queries"],
            }
            for label, row, score in rows
            if score
        ]
    )


def _dominates(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    cost_a, cost_b = a["cost_usd"] or 0.0, b["cost_usd"] or 0.0
    worse = a["mean"] < b["mean"] or a["seconds"] > SLOWER * b["seconds"] or cost_a > cost_b
    better = a["mean"] > b["mean"] or SLOWER * a["seconds"] < b["seconds"] or cost_a < cost_b
    return better and not worse
