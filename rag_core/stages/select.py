"""Shortening a ranking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..context import Context
from ..errors import ConfigError
from ..types import Hit, Ranking, Vectors, Vote
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
            replace(hits[i], votes=(*hits[i].votes, Vote(self.name, ranking.query.text, rank, value)))
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
    wanted = _cosines(exact, question.astype(float))
    picks: list[tuple[int, float]] = []
    left = list(range(len(vectors)))
    nearest = np.full(len(vectors), -np.inf)  # max similarity to anything picked
    while left and len(picks) < k:
        redundancy = nearest[left] if picks else np.zeros(len(left))
        values = relevance * wanted[left] - (1 - relevance) * redundancy
        best = int(np.argmax(values))
        picks.append((left.pop(best), float(values[best])))
        nearest = np.maximum(nearest, _cosines(exact, exact[picks[-1][0]]))
    return picks


def _cosines(rows: NDArray[np.float64], one: NDArray[np.float64]) -> NDArray[np.float64]:
    """Row by row, so that equal rows give equal values; a matrix product does not promise that."""
    products: NDArray[np.float64] = (rows * one).sum(axis=1)
    return products
