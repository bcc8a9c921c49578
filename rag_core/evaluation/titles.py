"""What the strategies of a run are called on screen: title and settings instead of labels."""

from __future__ import annotations

from collections.abc import Mapping

from ..catalog import RECIPES, Number, describe
from .manifest import Manifest, RunFile
from .statistics import Comparison


def titles(manifest: Manifest) -> dict[str, str]:
    """Label -> title and settings, such as "Hybrid RRF + MMR · λ 0.3"; duplicates also show their label."""
    plain = {label: strategy_title(label, manifest) for label in manifest.strategies}
    all_titles = list(plain.values())
    return {
        label: f"{title} ({label})" if all_titles.count(title) > 1 else title
        for label, title in plain.items()
    }


def strategy_title(label: str, manifest: Manifest) -> str:
    """Title and settings of one strategy of a run, without the counts of passages that its depth raised."""
    entry = manifest.strategies[label]
    if isinstance(entry, RunFile):
        return f"{label} (rankings of another system, {entry.fingerprint})"
    recipe, depth = RECIPES.get(entry.strategy), manifest.depth
    raised = {
        control.name
        for control in (recipe.controls if recipe and depth is not None else ())
        if isinstance(control, Number)
        and control.unit == "passages"
        and entry.controls.get(control.name) == depth
    }
    return describe(
        (entry.strategy, {name: value for name, value in entry.controls.items() if name not in raised})
    )


def verdict_with_titles(pair: Comparison, names: Mapping[str, str]) -> str:
    """The verdict of a comparison, with titles in place of labels."""
    for first, second in ((pair.a, pair.b), (pair.b, pair.a)):
        for link in (" is better than ", " and "):
            opening = f"{first}{link}{second} "
            if pair.verdict.startswith(opening):
                return f"{names[first]}{link}{names[second]} {pair.verdict.removeprefix(opening)}"
    return pair.verdict
