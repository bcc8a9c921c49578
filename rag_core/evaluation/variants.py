"""What the strategies of a run are: shown by title and settings, and matched between runs by these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..catalog import RECIPES, Number, describe
from .metrics import Metric
from .records import RunFolder
from .results import scores
from .statistics import Comparison, compare_all


def titles(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Label -> what it stands for: "Hybrid RRF + MMR · λ 0.3"; the label too where two are the same.

    Args:
        manifest: from `runner.describe`, also of an older version. Counts of passages that its depth raised
            are left out: the depth says them.
    """
    named = {label: _variant(label, row, manifest) for label, row in manifest["strategies"].items()}
    held = list(named.values())
    return {label: f"{title} ({label})" if held.count(title) > 1 else title for label, title in named.items()}


def in_words(pair: Mapping[str, Any], names: Mapping[str, str]) -> str:
    """The verdict of a stored comparison, with titles in place of labels."""
    verdict = str(pair["verdict"])
    for first, second in ((pair["a"], pair["b"]), (pair["b"], pair["a"])):
        for link in (" is better than ", " and "):
            said = f"{first}{link}{second} "
            if verdict.startswith(said):
                return f"{names[first]}{link}{names[second]} {verdict.removeprefix(said)}"
    return verdict


@dataclass(frozen=True, slots=True)
class VariantChange:
    """A strategy with its settings in two runs.

    Args:
        older: mean over the older run's questions; None when it is not in that run, or failed throughout.
        comparison: newer − older on the questions both have; None when it is in one run only.
    """

    title: str
    older: float | None
    newer: float | None
    comparison: Comparison | None


def compare_runs(older: RunFolder, newer: RunFolder, metric: Metric) -> list[VariantChange]:
    """The strategies of two runs, matched by what they are, whatever their labels; then those of one only."""
    before, after = _variants(older), _variants(newer)
    old, new = scores(older, metric), scores(newer, metric)
    both = [name for name in after if name in before]
    held = {f"{name} (older)": old[before[name]] for name in both}
    held |= {f"{name} (newer)": new[after[name]] for name in both}
    pairs = compare_all(metric.title, held, [(f"{name} (newer)", f"{name} (older)") for name in both])
    compared = dict(zip(both, pairs, strict=True))
    return [
        VariantChange(
            name,
            _mean(old[before[name]]) if name in before else None,
            _mean(new[after[name]]) if name in after else None,
            compared.get(name),
        )
        for name in [*both, *(name for name in {**before, **after} if name not in compared)]
    ]


def _variants(run: RunFolder) -> dict[str, str]:
    """What a strategy is -> its label; of two that are the same, the first."""
    found: dict[str, str] = {}
    for label, row in run.manifest["strategies"].items():
        found.setdefault(_variant(label, row, run.manifest), label)
    return found


def _variant(label: str, row: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    if "run_file" in row:
        return f"{label} (rankings of another system, {row['fingerprint']})"
    recipe, depth = RECIPES.get(row["strategy"]), manifest["depth"]
    raised = {
        control.name
        for control in (recipe.controls if recipe and depth is not None else ())
        if isinstance(control, Number)
        and control.unit == "passages"
        and row["controls"].get(control.name) == depth
    }
    return describe(
        (row["strategy"], {name: value for name, value in row["controls"].items() if name not in raised})
    )


def _mean(values: Mapping[str, float]) -> float | None:
    return float(np.mean(list(values.values()))) if values else None
