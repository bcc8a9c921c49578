"""The strategies, each declared once: what it is, its controls, and the stages they build.

To add a strategy, add a Recipe to RECIPES. It then appears in the app, the command line, the tests
and the docs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .errors import ConfigError
from .stages import Bm25, Dense, Mmr, Retrieve, Rrf, Stage, Top, Write
from .strategy import Strategy

MAX_PASSAGES = 100  # upper bound of every candidate count


@dataclass(frozen=True, slots=True)
class Control:
    """A number the user may set; feeds sliders, the command line and the docs.

    Args:
        unit: what is counted; empty for a plain number.
        help: one line: what it does, and where the default comes from.
    """

    name: str
    type: Literal["int", "float"]
    default: float
    min: float
    max: float
    step: float
    unit: str
    help: str

    def parse(self, value: object) -> int | float:
        """A value of this control, from a number or its text.

        Raises:
            ConfigError: not a number, or out of range; the message states the range.
        """
        try:
            number = float(str(value))
        except ValueError:
            number = float("nan")
        whole = self.type == "int"
        if not self.min <= number <= self.max or (whole and number != int(number)):
            kind = "a whole number" if whole else "a number"
            raise ConfigError(
                f"{self.name} must be {kind} from {self.min:g} to {self.max:g}, not {value!r}.",
                f"Its default is {self.default:g}.",
            )
        return int(number) if whole else number + 0.0  # -0.0 is 0.0


Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A strategy's declaration.

    Args:
        name: what code and command line call it.
        title: what screens call it.
        summary: one sentence: how it finds passages.
        source: where strategy and defaults come from.
        stages: builds the stages from a value for every control.
    """

    name: str
    title: str
    summary: str
    source: str
    controls: tuple[Control, ...]
    stages: Callable[[Values], tuple[Stage, ...]]

    def build(self, **values: object) -> Strategy:
        """The strategy with these control values; the others stand at their defaults.

        Raises:
            ConfigError: an unknown control, or a value out of range.
        """
        known = {control.name: control for control in self.controls}
        for name in values:
            if name not in known:
                raise ConfigError(
                    f"{self.name} has no control {name!r}.", f"Its controls: {', '.join(known)}."
                )
        settled = {name: control.parse(values.get(name, control.default)) for name, control in known.items()}
        return Strategy(self.name, self.stages(settled), settled)

    def as_json(self) -> dict[str, Any]:
        """The shape `rag strategies --json` prints."""
        return {
            "name": self.name,
            "title": self.title,
            "summary": self.summary,
            "source": self.source,
            "stages": [{"stage": stage.name, "kind": stage.kind} for stage in self.build().stages],
            "controls": [
                {
                    "name": control.name,
                    "type": control.type,
                    "default": control.parse(control.default),
                    "min": control.min,
                    "max": control.max,
                    "step": control.step,
                    "unit": control.unit,
                    "help": control.help,
                }
                for control in self.controls
            ],
        }


def _count(name: str, default: int, help: str) -> Control:  # noqa: A002  # the field's name
    return Control(name, "int", default, 1, MAX_PASSAGES, 1, "passages", help)


K_FINAL = _count("k_final", 5, "Passages the answer is written from.")

SIMPLE_SEMANTIC = Recipe(
    name="simple_semantic",
    title="Simple semantic",
    summary="Passages whose embedding is nearest to the question's, by cosine similarity.",
    source="The baseline of seed 001 (top 5 by embedding).",
    controls=(K_FINAL,),
    stages=lambda c: (Retrieve((Dense(k=c["k_final"]),)), Write()),
)

BM25 = Recipe(
    name="bm25",
    title="BM25 keywords",
    summary="Passages that share the question's words, rare words counting more.",
    source="Robertson and Zaragoza 2009; k1 and b as in rank_bm25.",
    controls=(
        K_FINAL,
        Control("k1", "float", 1.5, 0.0, 3.0, 0.05, "", "How much a repeated word adds; 0 counts it once."),
        Control(
            "b", "float", 0.75, 0.0, 1.0, 0.05, "", "How much long passages are held back; 0 not at all."
        ),
    ),
    stages=lambda c: (Retrieve((Bm25(k=c["k_final"], k1=c["k1"], b=c["b"]),)), Write()),
)

HYBRID_RRF = Recipe(
    name="hybrid_rrf",
    title="Hybrid RRF + MMR",
    summary="Keyword and embedding search side by side, fused by rank, then picked for variety.",
    source="Seed 002; Cormack et al. 2009 (RRF); Carbonell and Goldstein 1998 (MMR).",
    controls=(
        _count("k_bm25_candidates", 15, "Candidates from keyword search (seed 002: 15)."),
        _count("k_semantic_candidates", 15, "Candidates from embedding search (seed 002: 15)."),
        Control(
            "rrf_k",
            "int",
            60,
            0,
            200,
            1,
            "",
            "RRF constant; higher flattens the first ranks (2009 paper: 60).",
        ),
        _count("k_rrf_pool", 10, "Fused passages that MMR picks from (seed 002: 10)."),
        Control(
            "mmr_lambda",
            "float",
            0.7,
            0.0,
            1.0,
            0.05,
            "",
            "Lower picks for variety (seed 002: 0.7); 0 by novelty alone; 1 leaves MMR out: RRF's order stands.",
        ),
        K_FINAL,
    ),
    stages=lambda c: (
        Retrieve((Bm25(k=c["k_bm25_candidates"]), Dense(k=c["k_semantic_candidates"]))),
        Rrf(k=c["rrf_k"]),
        Top(k=c["k_rrf_pool"]),
        # without a price on repetition there is nothing for MMR to do but undo the fusion
        Mmr(k=c["k_final"], relevance=c["mmr_lambda"]) if c["mmr_lambda"] < 1 else Top(k=c["k_final"]),
        Write(),
    ),
)

RECIPES: Mapping[str, Recipe] = {recipe.name: recipe for recipe in (SIMPLE_SEMANTIC, BM25, HYBRID_RRF)}

Chosen = str | tuple[str, Mapping[str, object]] | Strategy


def build(chosen: Chosen) -> Strategy:
    """A strategy from its name, from (name, control values), or as it is.

    Raises:
        ConfigError: an unknown strategy or control, or a value out of range.
    """
    if isinstance(chosen, Strategy):
        return chosen
    name, values = (chosen, {}) if isinstance(chosen, str) else chosen
    return recipe_of(name).build(**values)


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
