"""What the strategies of a run are called on screen: title and settings instead of labels."""

from __future__ import annotations

from ..catalog import RECIPES, Number, describe
from ..values.message import Message
from .manifest import BUILTIN_DATA, Manifest, RunFile


def titles(manifest: Manifest) -> dict[str, str]:
    """Label -> title and settings, such as "Hybrid RRF + MMR · λ 0.3"; duplicates also show their label."""
    plain = {label: strategy_title(label, manifest) for label in manifest.strategies}
    all_titles = list(plain.values())
    return {
        label: Message("{title} ({label})", title=title, label=label)
        if all_titles.count(title) > 1
        else title
        for label, title in plain.items()
    }


def strategy_title(label: str, manifest: Manifest) -> str:
    """Title and settings of one strategy of a run, without the counts of passages that its depth raised."""
    entry = manifest.strategies[label]
    if isinstance(entry, RunFile):
        return Message(
            "{label} (rankings of another system, {fingerprint})", label=label, fingerprint=entry.fingerprint
        )
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


def data_title(data: str) -> str:
    """What a set of questions is called: the built-in ones by name, a BEIR folder as it is."""
    return Message("Built-in questions") if data == BUILTIN_DATA else data
