"""Retrieval: dense (embeddings) and BM25."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from ..runtime.context import Context
from ..values.errors import ConfigError
from ..values.message import Message
from ..values.types import Hit, Passage, Query, Ranking, Scale, State, Vectors
from .base import Flow, Retriever, Stage


class _IndexRetriever(Retriever):
    """Searches the plain or enriched index of a corpus for k hits; `control` names k to users."""

    k: int
    enriched: bool

    @property
    def variant(self) -> str:
        return "enriched" if self.enriched else "plain"

    @property
    def most(self) -> int:
        return self.k


@dataclass(frozen=True)
class Dense(_IndexRetriever):
    """Dense retrieval: the passages with the highest cosine similarity of embeddings. k is at least 1.

    A query with passages (HyDE) is embedded as the normalised mean of their embeddings and its question text's, if any.

    >>> from rag_core.testing import sample_context
    >>> [(hit.id, hit.scale) for hit in Dense(k=2).search(Query("Horses sleep"), sample_context())]
    [('p11', 'cosine'), ('p12', 'cosine')]
    """

    name: ClassVar[str] = "dense"
    scale: ClassVar[Scale] = "cosine"
    waits: ClassVar[bool] = True
    k: int = 5
    enriched: bool = False
    control: str = field(default="k of dense", compare=False, repr=False)

    def search(self, query: Query, ctx: Context) -> Sequence[Hit]:
        return ctx.index_for(enriched=self.enriched).dense(self.vector(query, ctx), self.k)

    def vector(self, query: Query, ctx: Context) -> Vectors:
        """The (d,) L2-normalised vector that stands for a query."""
        vectors = ctx.embed(query.passages, "passage") if query.passages else ctx.embed((query.text,))
        if query.question_text:
            vectors = np.vstack([vectors, ctx.embed((query.question_text,))])
        mean: Vectors = vectors.mean(axis=0)
        return mean / max(float(np.linalg.norm(mean)), 1e-12)


@dataclass(frozen=True)
class Bm25(_IndexRetriever):
    """BM25 (Okapi) keyword retrieval; every hit contains a query term.

    Robertson and Zaragoza 2009; defaults as in rank_bm25.

    Args:
        k: number of hits, >= 1.
        k1: term frequency saturation, >= 0; 0 ignores how often a term occurs.
        b: length normalisation, 0 (none) to 1 (full).

    >>> from rag_core.testing import sample_context  # three of its passages have the word
    >>> [(hit.id, hit.scale) for hit in Bm25(k=5).search(Query("stable"), sample_context())]
    [('p11', 'bm25'), ('p12', 'bm25'), ('p13', 'bm25')]
    """

    name: ClassVar[str] = "bm25"
    scale: ClassVar[Scale] = "bm25"
    k: int = 5
    k1: float = 1.5
    b: float = 0.75
    enriched: bool = False
    control: str = field(default="k of bm25", compare=False, repr=False)

    def search(self, query: Query, ctx: Context) -> Sequence[Hit]:
        """Searches for the gloss too; words in half of the passages or more (in a few, all can be) have an idf <= 0."""
        ctx.note_readings((query.text,))
        hits = ctx.index_for(enriched=self.enriched).lexical(ctx.as_searched(query.text), self.k, self.k1, self.b)
        if hits and hits[0].score <= 0:
            ctx.warn("BM25 cannot rank these passages: the words of the question weigh nothing in so few documents.")
        return hits


@dataclass(frozen=True)
class Asked(Retriever):
    """The passages with the questions that are most like the query; each vote names the nearest question.

    People or a model wrote down what each passage answers (doc2query, Nogueira et al. 2019; HyPE; QuOTE, arXiv
    2502.10976): a question is more like a question than like the text that answers it. k is at least 1. `alone`:
    whether it is the only search, so that a corpus without known questions is worth a warning.

    >>> from rag_core.testing import sample_context  # each of its passages answers "What about" and its text
    >>> [(hit.id, hit.note) for hit in Asked(k=1).search(Query("What about fish?"), sample_context())]
    [('p10', 'What about Fish swim in schools and never close their eyes.')]
    """

    name: ClassVar[str] = "asked"
    scale: ClassVar[Scale] = "likeness"
    waits: ClassVar[bool] = True
    k: int = 5
    alone: bool = False
    control: str = field(default="k of asked", compare=False, repr=False)

    @property
    def most(self) -> int | None:
        """Its k; None beside other searches, since few passages may have known questions."""
        return self.k if self.alone else None

    def search(self, query: Query, ctx: Context) -> Sequence[Hit]:
        asked = ctx.services.asked
        if asked is not None:
            return asked.search(ctx.as_read(query.text), self.k)
        if self.alone:
            ctx.warn(Message("No questions are known that this corpus's passages answer."))
        return ()


@dataclass(frozen=True)
class Retrieve(Stage):
    """Runs every query on every retriever, in parallel; one ranking each.

    With `deduplicate`, passages of equal text count as one (`one_per_text`): a search that finds copies gives fewer.

    >>> from rag_core.testing import sample_context
    >>> after = Retrieve((Bm25(k=5), Dense(k=3)))(State.start("stable"), sample_context())
    >>> [(ranking.retriever, len(ranking)) for ranking in after.rankings]  # each found an equal text as well
    [('bm25', 2), ('dense', 2)]
    """

    retrievers: tuple[Retriever, ...]
    deduplicate: bool = True
    kind: ClassVar[str] = "retrieve"

    def __repr__(self) -> str:
        # results stored before equal texts were one have the fingerprint without it
        apart = "" if self.deduplicate else ", deduplicate=False"
        return f"Retrieve(retrievers={self.retrievers}{apart})"

    @property
    def name(self) -> str:
        return " ∥ ".join(type(retriever).__name__ for retriever in self.retrievers)

    @property
    def names(self) -> tuple[str, ...]:
        """Names for the retrievers' rankings, with the variant where two share a name."""
        kinds = [retriever.name for retriever in self.retrievers]
        return tuple(
            one.name if kinds.count(one.name) == 1 else f"{one.name} {one.variant}".strip() for one in self.retrievers
        )

    def flow(self, before: Flow) -> Flow:
        """One ranking for one question and retriever; raises ConfigError if retrievers share a name."""
        if len(set(self.names)) < len(self.names):
            raise ConfigError(
                f"{self.name}: two retrievers have the same name: {', '.join(sorted(self.names))}.",
                "Keep one, with the larger k, or give them different variants.",
            )
        one = before.content == "the question" and len(self.retrievers) == 1
        scales = {name: one.scale for name, one in zip(self.names, self.retrievers, strict=True)}
        return replace(before, content="a ranking" if one else "rankings", scales=scales)

    def __call__(self, state: State, ctx: Context) -> State:
        def search(one: tuple[Query, Retriever, str]) -> Ranking:
            query, retriever, name = one
            ctx.run.check_stop()
            started = ctx.run.elapsed()
            hits = tuple(retriever.search(query, ctx))
            return Ranking(query, hits, name, ctx.run.elapsed() - started, started)

        named = list(zip(self.retrievers, self.names, strict=True))
        searches = [(query, retriever, name) for query in state.queries for retriever, name in named]
        # those that wait for an embedding begin first; the others run meanwhile
        order = sorted(range(len(searches)), key=lambda place: not searches[place][1].waits)
        found = dict(zip(order, ctx.map(search, [searches[place] for place in order]), strict=True))
        rankings = [found[place] for place in range(len(searches))]
        lists = one_per_text(rankings) if self.deduplicate else rankings
        each = zip(searches, rankings, lists, strict=True)
        return replace(
            state,
            rankings=tuple(
                replace(ranking, hits=Ranking.sort(query, hits, type(retriever).__name__).hits)
                for (query, retriever, _), ranking, hits in each
            ),
        )


def one_per_text(lists: Sequence[Iterable[Hit]]) -> Sequence[Iterable[Hit]]:
    """Lists of hits in which passages of equal text are the one of the lowest id, which names the others.

    Multi-Query Rewriter RAG, Core Processing Function, compares the first 100 characters; here it is the whole text,
    and the patient, since one sentence can be about a mother in one document and her baby in another. In each list
    a passage has the best score of its copies.

    >>> from rag_core.values.types import Passage
    >>> hits = [Hit(Passage(one, one, "", "Call us."), 0.5, "cosine") for one in ("b", "a")]
    >>> [[(hit.id, len(hit.passage.copies)) for hit in found] for found in one_per_text([hits, hits[:1]])]
    [[('a', 1)], [('a', 1)]]
    """
    passages = {hit.id: hit.passage for hits in lists for hit in hits}
    equal: dict[tuple[str, str], list[Passage]] = defaultdict(list)
    for _, passage in sorted(passages.items()):
        equal[passage.text, passage.patient].append(passage)
    if len(equal) == len(passages):
        return lists
    one: dict[str, Passage] = {}
    for copies in equal.values():
        one |= dict.fromkeys((copy.id for copy in copies), copies[0].with_copies(copies[1:]))
    merged = []
    for hits in lists:
        best: dict[str, Hit] = {}
        for hit in hits:
            passage = one[hit.id]
            kept = hit if passage is hit.passage else replace(hit, passage=passage)
            if kept.id not in best or kept.score > best[kept.id].score:
                best[kept.id] = kept
        merged.append(best.values())
    return merged
