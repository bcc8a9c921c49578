"""What changed: the questions that a strategy answers better or worse than a baseline, and strategies between runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .manifest import strategy_title
from .metrics import Metric
from .results import Scores, scores
from .run_folder import RunFolder
from .statistics import Comparison, compare_all

Verdict = Literal["better", "worse", "different", "same", "failed"]


@dataclass(frozen=True, slots=True)
class Change:
    """One question's score under a strategy, compared with the baseline's.

    Args:
        verdict: "different" when the scores are equal but the first `cutoff` documents are not.
        baseline: None when it failed, as for `score`.
    """

    question: str
    verdict: Verdict
    baseline: float | None
    score: float | None

    @property
    def difference(self) -> float:
        """Score minus baseline; minus infinity after a failure, so that failures sort first."""
        if self.score is None or self.baseline is None:
            return -math.inf
        return self.score - self.baseline


def changes(run: RunFolder, metric: Metric, baseline: str, label: str) -> list[Change]:
    """Every question's change, worst first: what a mean hides."""
    found = scores(run, metric)
    rows = [
        _change(run, metric, question.id, baseline, label, found)
        for question in run.judged.measured
        if question.id in run.records[baseline] and question.id in run.records[label]
    ]
    return sorted(rows, key=lambda change: (change.difference, change.question))


def _change(
    run: RunFolder, metric: Metric, question: str, baseline: str, label: str, found: Scores
) -> Change:
    before, after = found[baseline].get(question), found[label].get(question)
    if before is None or after is None:
        return Change(question, "failed", before, after)
    if abs(after - before) > 1e-9:
        return Change(question, "better" if after > before else "worse", before, after)
    top = slice(metric.cutoff)
    same = run.records[baseline][question].ranked[top] == run.records[label][question].ranked[top]
    return Change(question, "same" if same else "different", before, after)


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
