"""The strategies, each declared once: what it is, its controls, and the stages they build.

A new one is a `Recipe`: listed in RECIPES below, brought by a package's entry point, or passed to `register`
(see `registry`). It then appears in the app, on the command line and in the docs; `rag_core.testing` checks it.
"""

from collections.abc import Collection, Mapping

from ..pipeline.strategy import Strategy
from ..values.errors import ConfigError
from ..values.message import Message
from .advanced import CONTEXTUAL, ENSEMBLE, MULTI_QUERY_REWRITER, RAG_MSR
from .basic import BM25, HYBRID_RRF, HYDE, QUESTION_INDEX, SIMPLE_SEMANTIC
from .presets import SavedPresets, preset_of, presets_of, saved_presets, spelled
from .prompt_controls import PromptText, Templates
from .recipe import (
    MAX_PASSAGES,
    Choice,
    Control,
    Number,
    Preset,
    Recipe,
    Switch,
    Values,
    Weights,
    count,
    format_value,
)
from .registry import Registry

RECIPES = Registry(
    (
        SIMPLE_SEMANTIC,
        BM25,
        HYDE,
        QUESTION_INDEX,
        HYBRID_RRF,
        MULTI_QUERY_REWRITER,
        CONTEXTUAL,
        RAG_MSR,
        ENSEMBLE,
    )
)
register = RECIPES.register
unregister = RECIPES.unregister

StrategySpec = str | tuple[str, Mapping[str, object]] | Strategy


def build(chosen: StrategySpec, /, **controls: object) -> Strategy:
    """A strategy from its name, or from (name, control values); a `Strategy` is returned as it is.

    A name can include a preset, as in "rag_msr@raw"; control values override the preset's. Saved presets are those of
    the state folder that RAG_HOME names (see `presets`).

    Args:
        controls: further control values, which override the others.

    Raises ConfigError for an unknown strategy, preset or control, a value out of range, or controls for a strategy that
    is already built, and DataError if the saved presets cannot be read.

    >>> build("bm25").fingerprint == build(("bm25", {"k1": 1.5})).fingerprint  # its default
    True
    >>> build("bm25").fingerprint == build(("bm25", {"k1": 1.2})).fingerprint
    False
    """
    if isinstance(chosen, Strategy):
        if controls:
            raise ConfigError(
                Message("{name} is already built, so its controls cannot be set.", name=chosen.name),
                Message("Pass its name instead."),
            )
        return chosen
    name, values = _named(chosen)
    return recipe_of(name).build(**{**values, **controls})


def build_all(chosen: Mapping[str, StrategySpec]) -> dict[str, Strategy]:
    """Strategies by label; raises ConfigError as `build` does, or if there is none."""
    check_chosen(chosen)
    return {label: build(one) for label, one in chosen.items()}


def check_chosen(chosen: Collection[object]) -> None:
    """Raise ConfigError if no strategy was chosen."""
    if not chosen:
        raise ConfigError(Message("No strategy was chosen."), Message("Strategies: {known}.", known=", ".join(RECIPES)))


def describe_changes(chosen: StrategySpec) -> str:
    """How a strategy differs from its defaults, in a few words: "λ 0.3, passages used 8"; empty when it does not.

    Idle controls are left out. Wrong values, and strategies outside the catalogue, are not errors.
    """
    name, values = _named(chosen)
    recipe = RECIPES.get(name)
    changes = recipe.changes(values) if recipe else ()
    return Message.joined(changes) if changes else ""


def describe(chosen: StrategySpec) -> str:
    """A strategy's title and how it differs from its defaults: "Hybrid RRF + MMR · λ 0.3, passages used 8"."""
    name, _ = _named(chosen)
    title = Message(RECIPES[name].title) if name in RECIPES else name
    return Message.joined((part for part in (title, describe_changes(chosen)) if part), " · ")


def _named(chosen: StrategySpec) -> tuple[str, Mapping[str, object]]:
    if isinstance(chosen, Strategy):
        return chosen.name, chosen.controls
    written, values = (chosen, {}) if isinstance(chosen, str) else chosen
    name, at, preset = written.partition("@")
    return name, {**(preset_of(recipe_of(name), preset).values if at else {}), **values}


def recipe_of(name: str) -> Recipe:
    """A strategy's declaration; raises ConfigError if there is no such strategy."""
    if name not in RECIPES:
        missing = "".join(f" {failure}" for failure in RECIPES.failed)
        raise ConfigError(
            Message("There is no strategy {name!r}.", name=name),
            Message("Strategies: {known}.{missing}", known=", ".join(RECIPES), missing=missing),
        )
    return RECIPES[name]
