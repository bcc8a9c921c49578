"""Making one ranking of several."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..errors import ConfigError
from ..types import Ranking, Scale
from .base import Fuse


@dataclass(frozen=True)
class Rrf(Fuse):
    """Reciprocal rank fusion: score(d) = Σ over rankings of weight / (k + rank), rank from 1.

    Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods", SIGIR 2009, who use k = 60. The weight is the query's.

    Args:
        k: >= 0; the larger, the less the first ranks stand out.
    """

    k: int = 60
    scale: ClassVar[Scale] = "rrf"

    def __post_init__(self) -> None:
        if self.k < 0:
            raise ConfigError(f"Rrf: k must be at least 0, not {self.k}.")

    def fuse(self, rankings: Sequence[Ranking]) -> dict[str, float]:
        """Passage id -> Σ weight / (k + rank)."""
        shares: dict[str, list[float]] = defaultdict(list)
        for ranking in rankings:
            for rank, hit in enumerate(ranking, start=1):
                shares[hit.id].append(ranking.query.weight / (self.k + rank))
        # fsum rounds once, so that equal ranks in another order of the lists are a tie
        return {identity: math.fsum(parts) for identity, parts in shares.items()}
