"""Which questions a strategy answers better or worse than a baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from .metrics import Metric
from .results import Scores, scores
from .run_folder import RunFolder

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
