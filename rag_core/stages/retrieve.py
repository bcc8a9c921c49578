"""Searching the index: by meaning and by words."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ..runtime.context import Context
from ..values.errors import ConfigError
from ..values.types import Hit, Query, Ranking, Scale, State
from .base import Flow, Retriever, Stage


@dataclass(frozen=True)
class Dense(Retriever):
    """Nearest passages by cosine similarity of embeddings.

    A query with passages (HyDE) is embedded as the normalised mean of their embeddings and, when the query
    has a question text, of its embedding too.

    Args:
        k: number of hits, >= 1.
        enriched: search the passages embedded with their contexts.
        control: the name users see for k.

    Example:
        >>> from rag_core.testing import sample_context
        >>> [(hit.id, hit.scale) for hit in Dense(k=2).search(Query("Horses sleep"), sample_context())]
        [('p11', 'cosine'), ('p12', 'cosine')]
    """

    name: ClassVar[str] = "dense"
    scale: ClassVar[Scale] = "cosine"
    k: int = 5
    enriched: bool = False
    control: str = field(default="k of dense", compare=False, repr=False)

    @property
    def variant(self) -> str:
        """Which of the two indexes it searches."""
        return "enriched" if self.enriched else "plain"

    @property
    def most(self) -> int:
        """K."""
        return self.k

    def search(self, query: Query, ctx: Context) -> Sequence[Hit]:
        """The k nearest passages; scale "cosine"."""
        index = ctx.index_for(enriched=self.enriched)
        vectors = ctx.embed(query.passages, "passage") if query.passages else ctx.embed((query.text,))
        if query.question_text:
            vectors = np.vstack([vectors, ctx.embed((query.question_text,))])
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
        enriched: search the words of passages and of their contexts.
        control: the name users see for k.

    Example:
        >>> from rag_core.testing import sample_context  # two of its passages have the word
        >>> [(hit.id, hit.scale) for hit in Bm25(k=5).search(Query("stable"), sample_context())]
        [('p11', 'bm25'), ('p12', 'bm25')]
    """

    name: ClassVar[str] = "bm25"
    scale: ClassVar[Scale] = "bm25"
    k: int = 5
    k1: float = 1.5
    b: float = 0.75
    enriched: bool = False
    control: str = field(default="k of bm25", compare=False, repr=False)

    @property
    def variant(self) -> str:
        """Which of the two indexes it searches."""
        return "enriched" if self.enriched else "plain"

    @property
    def most(self) -> int:
        """K."""
        return self.k

    def search(self, query: Query, ctx: Context) -> Sequence[Hit]:
        """The k best hits; scale "bm25"."""
        return ctx.index_for(enriched=self.enriched).lexical(query.text, self.k, self.k1, self.b)


@dataclass(frozen=True)
class Retrieve(Stage):
    """Search for every query with every retriever, at the same time; one ranking each.

    Example:
        >>> from rag_core.testing import sample_context
        >>> after = Retrieve((Bm25(k=5), Dense(k=3)))(State.start("stable"), sample_context())
        >>> [(ranking.retriever, len(ranking)) for ranking in after.rankings]
        [('bm25', 2), ('dense', 3)]
    """

    retrievers: tuple[Retriever, ...]
    kind: ClassVar[str] = "retrieve"

    @property
    def name(self) -> str:
        """The retrievers' names, joined when they run side by side."""
        return " ∥ ".join(type(retriever).__name__ for retriever in self.retrievers)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the retrievers' rankings; two of one kind are distinguished by variant."""
        kinds = [retriever.name for retriever in self.retrievers]
        return tuple(
            one.name if kinds.count(one.name) == 1 else f"{one.name} {one.variant}".strip()
            for one in self.retrievers
        )

    def flow(self, before: Flow) -> Flow:
        """One ranking for the question searched once, else several.

        Raises:
            ConfigError: two retrievers have the same name.
        """
        if len(set(self.names)) < len(self.names):
            raise ConfigError(
                f"{self.name}: two retrievers are called {', '.join(sorted(self.names))}.",
                "Search once, as deep as both, or give them variants.",
            )
        one = before.content == "the question" and len(self.retrievers) == 1
        scales = {name: one.scale for name, one in zip(self.names, self.retrievers, strict=True)}
        return replace(before, content="a ranking" if one else "rankings", scales=scales)

    def __call__(self, state: State, ctx: Context) -> State:
        def search(one: tuple[Query, Retriever, str]) -> Ranking:
            query, retriever, name = one
            ctx.run.check_stop()
            started = time.perf_counter()
            hits = retriever.search(query, ctx)
            seconds = time.perf_counter() - started
            return replace(Ranking.sort(query, hits, type(retriever).__name__, name), seconds=seconds)

        named = list(zip(self.retrievers, self.names, strict=True))
        searches = [(query, retriever, name) for query in state.queries for retriever, name in named]
        return replace(state, rankings=tuple(ctx.map(search, searches)))
