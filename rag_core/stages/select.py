"""Shortening a ranking."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..context import Context
from ..errors import ConfigError
from ..text import language_of
from ..types import Hit, Ranking, State, Vectors, Vote
from .base import Select


@dataclass(frozen=True)
class Top(Select):
    """The first k hits.

    Args:
        k: >= 1.
    """

    k: int = 5

    def keep(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        """The first k."""
        return ranking.hits[: self.k]


@dataclass(frozen=True)
class AtLeast(Select):
    """The hits whose score is at least θ (seed 004: S_final >= θ). When none is, the state says how near the best came.

    Args:
        score: θ, on the scale of the ranking.
    """

    score: float = 0.5

    def __call__(self, state: State, ctx: Context) -> State:
        """The state with the hits that are left, and why when none is."""
        after = super().__call__(state, ctx)
        best = max((hit.score for ranking in state.rankings for hit in ranking), default=None)
        if best is None or any(ranking.hits for ranking in after.rankings):
            return after
        shown = math.floor(1000 * best) / 1000  # not rounded up to the threshold that it missed
        said = {
            "en": f"The best passage reaches {shown:.3f}, which is below the threshold θ = {self.score:g}.",
            "es": f"El mejor pasaje alcanza {shown:.3f}, por debajo del umbral θ = {self.score:g}.",
        }
        return replace(after, shortfall=said.get(language_of(state.question.text), said["en"]))

    def keep(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        """Those at or above θ."""
        return [hit for hit in ranking if hit.score >= self.score]


@dataclass(frozen=True)
class Mmr(Select):
    """Maximal marginal relevance: pick k hits that are relevant and unlike one another.

    Next pick = argmax over the rest of λ · cos(question, d) − (1 − λ) · max over picked s of cos(d, s).
    Carbonell and Goldstein, "The use of MMR", SIGIR 1998; seed 002 uses λ = 0.7 and k = 5.

    A hit keeps its score; its MMR value at the moment it was picked is its vote.

    Args:
        k: how many to pick, >= 1.
        relevance: λ; 1 orders by relevance alone, 0 by novelty alone.
    """

    k: int = 5
    relevance: float = 0.7

    def __post_init__(self) -> None:
        if not 0 <= self.relevance <= 1:
            raise ConfigError(f"Mmr: relevance must be from 0 to 1, not {self.relevance}.")

    def keep(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        """The picked hits, in the order they were picked."""
        hits = sorted(ranking, key=lambda hit: hit.id)  # argmax takes the first of equals: ties by id
        if not hits:
            return ()
        question = ctx.embed((ranking.query.text,))[0]
        picks = mmr_order(question, ctx.index.vectors([hit.id for hit in hits]), self.k, self.relevance)
        return [
            hits[i].voted(Vote(self.name, ranking.query.text, rank, value))
            for rank, (i, value) in enumerate(picks, start=1)
        ]


def mmr_order(
    question: NDArray[np.float32], vectors: Vectors, k: int, relevance: float
) -> list[tuple[int, float]]:
    """Rows of `vectors` in MMR order, each with its value when it was picked.

    Args:
        question: (d,) L2-normalised.
        vectors: (n, d), rows L2-normalised.

    Returns:
        At most k pairs (row, value). The first pick has nothing to be compared with: its value is
        λ · relevance. Equal values go to the lower row.
    """
    exact = vectors.astype(float)
    # rounded far below float32's precision, so that equal passages stay equal whatever the product's order
    wanted = np.round(exact @ question.astype(float), 9)
    between = np.round(exact @ exact.T, 9)
    picks: list[tuple[int, float]] = []
    nearest = np.full(len(vectors), -np.inf)  # max similarity to anything picked
    values = relevance * wanted
    for _ in range(min(k, len(vectors))):
        best = int(np.argmax(values))
        picks.append((best, float(values[best])))
        nearest = np.maximum(nearest, between[best])
        values = relevance * wanted - (1 - relevance) * nearest
        values[[row for row, _ in picks]] = -np.inf
    return picks
