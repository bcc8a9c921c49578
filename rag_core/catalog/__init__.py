"""The strategies, each declared once: what it is, its controls, and the stages they build.

To add a strategy, add a Recipe to RECIPES. It then appears in the app, the command line, the tests
and the docs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import ConfigError
from ..strategy import Strategy
from .basic import BM25, HYBRID_RRF, HYDE, SIMPLE_SEMANTIC
from .controls import MAX_PASSAGES, Choice, Control, Number, Switch, Templates, Values, Weights, written
from .recipe import Preset, Recipe
from .rewriting import CONTEXTUAL, MULTI_QUERY_REWRITER, RAG_MSR

__all__ = [
    "MAX_PASSAGES",
    "RECIPES",
    "Choice",
    "Chosen",
    "Control",
    "Number",
    "Preset",
    "Recipe",
    "Switch",
    "Templates",
    "Values",
    "Weights",
    "build",
    "build_all",
    "recipe_of",
    "written",
]

RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (SIMPLE_SEMANTIC, BM25, HYDE, HYBRID_RRF, MULTI_QUERY_REWRITER, CONTEXTUAL, RAG_MSR)
}

Chosen = str | tuple[str, Mapping[str, object]] | Strategy


def build(chosen: Chosen) -> Strategy:
    """A strategy from its name, from (name, control values), or as it is.

    A name may go with a preset, as in "rag_msr@raw"; the control values stand above the preset's.

    Raises:
        ConfigError: an unknown strategy, preset or control, or a value out of range.
    """
    if isinstance(chosen, Strategy):
        return chosen
    written, values = (chosen, {}) if isinstance(chosen, str) else chosen
    name, at, preset = written.partition("@")
    recipe = recipe_of(name)
    return recipe.build(**{**(recipe.preset(preset).values if at else {}), **values})


def recipe_of(name: str) -> Recipe:
    """A strategy's declaration.

    Raises:
        ConfigError: there is none of this name.
    """
    if name not in RECIPES:
        raise ConfigError(f"There is no strategy {name!r}.", f"Strategies: {', '.join(RECIPES)}.")
    return RECIPES[name]


def build_all(chosen: Sequence[Chosen]) -> list[Strategy]:
    """Strategies in order; at least one.

    Raises:
        ConfigError: as for `build`, or nothing was chosen.
    """
    if not chosen:
        raise ConfigError("No strategy was chosen.", f"Strategies: {', '.join(RECIPES)}.")
    return [build(one) for one in chosen]
