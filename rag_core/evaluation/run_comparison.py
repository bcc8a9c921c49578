"""Two runs side by side: their strategies matched by what they are, whatever their labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .metrics import Metric
from .results import scores
from .run_folder import RunFolder
from .statistics import Comparison, compare_all
from .titles import strategy_title


@dataclass(frozen=True, slots=True)
class StrategyInTwoRuns:
    """A strategy with its settings, as two runs scored it.

    Args:
        older: mean over the older run's questions; None when it is not in that run, or always failed.
        newer: the same for the newer run.
        comparison: newer − older on the questions of both; None when it is in one run only.
    """

    title: str
    older: float | None
    newer: float | None
    comparison: Comparison | None


def compare_runs(older: RunFolder, newer: RunFolder, metric: Metric) -> list[StrategyInTwoRuns]:
    """The strategies in both runs, then those in one only."""
    before, after = _labels_by_title(older), _labels_by_title(newer)
    old, new = scores(older, metric), scores(newer, metric)
    both = [title for title in after if title in before]
    paired = {f"{title} (older)": old[before[title]] for title in both}
    paired |= {f"{title} (newer)": new[after[title]] for title in both}
    pairs = compare_all(metric.title, paired, [(f"{title} (newer)", f"{title} (older)") for title in both])
    compared = dict(zip(both, pairs, strict=True))
    return [
        StrategyInTwoRuns(
            title,
            _mean(old[before[title]]) if title in before else None,
            _mean(new[after[title]]) if title in after else None,
            compared.get(title),
        )
        for title in [*both, *(title for title in {**before, **after} if title not in compared)]
    ]


def _labels_by_title(run: RunFolder) -> dict[str, str]:
    """Title and settings -> label; the first of several that are the same."""
    found: dict[str, str] = {}
    for label in run.labels:
        found.setdefault(strategy_title(label, run.manifest), label)
    return found


def _mean(values: Mapping[str, float]) -> float | None:
    return float(np.mean(list(values.values()))) if values else None
