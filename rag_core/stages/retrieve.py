"""Searching the index: by meaning and by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..context import Context
from ..types import Hit, Query, Ranking, State
from .base import Retriever, Stage


@dataclass(frozen=True)
class Dense(Retriever):
    """Nearest passages by cosine similarity of embeddings.

    A query with passages (HyDE) is embedded as the normalised mean of theirs, and of the question's beside
    them if there is one.

    Args:
        k: number of hits, >= 1.
        enriched: search the passages embedded with their contexts.
    """

    k: int = 5
    enriched: bool = False

    def search(self, query: Query, ctx: Context) -> Sequence[Hit]:
        """The k nearest passages; scale "cosine"."""
        index = ctx.over(enriched=self.enriched)
        vectors = ctx.embed(query.passages, "passage") if query.passages else ctx.embed((query.text,))
        if query.beside:
            vectors = np.vstack([vectors, ctx.embed((query.beside,))])
        mean = vectors.mean(axis=0)
        return index.dense(mean / max(float(np.linalg.norm(mean)), 1e-12), self.k)


@dataclass(frozen=True)
class Bm25(Retriever):
    """BM25 (Okapi); a hit contains a term of the query.

    Robertson and Zaragoza 2009; the defaults are rank_bm25's.

    Args:
        k: number of hits, >= 1.
        k1: saturation of term frequency, >= 0; 0 counts a term once.
        b: length normalisation, 0 (none) to 1 (full).
        enriched: search the passages' words together with those of their contexts.
    """

    k: int = 5
    k1: float = 1.5
    b: float = 0.75
    enriched: bool = False

    def search(self, query: Query, ctx: Context) -> Sequence[Hit]:
        """The k best hits; scale "bm25"."""
        return ctx.over(enriched=self.enriched).lexical(query.text, self.k, self.k1, self.b)


@dataclass(frozen=True)
class Retrieve(Stage):
    """Search for every query with every retriever, at the same time; one ranking each."""

    retrievers: tuple[Retriever, ...]
    kind: ClassVar[str] = "retrieve"

    @property
    def name(self) -> str:
        """The retrievers' names, joined when they run side by side."""
        return " ∥ ".join(type(retriever).__name__ for retriever in self.retrievers)

    def __call__(self, state: State, ctx: Context) -> State:
        def search(pair: tuple[Query, Retriever]) -> Ranking:
            query, retriever = pair
            ctx.check_stop()
            return Ranking.sort(query, retriever.search(query, ctx), type(retriever).__name__)

        pairs = [(query, retriever) for query in state.queries for retriever in self.retrievers]
        return replace(state, rankings=tuple(ctx.map(search, pairs)))
