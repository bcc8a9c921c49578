"""Values that flow through a strategy. All are immutable; none knows about a model or an index."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]  # (n, d), rows L2-normalised
Scale = Literal[
    "cosine",
    "bm25",
    "rrf",
    "weighted_cosine",
    "mmr",
    "cross_encoder",
    "offline_scorer",
    "judge",
    "s_final",
    "external",  # of a LlamaIndex retriever
    "postprocessor",  # of a LlamaIndex node postprocessor
]
Label = Literal["High", "Medium", "Low"]
Scorer = Literal["cosine", "cross_encoder", "offline_scorer", "judge", "rank"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of a document, the unit that is retrieved, shown and cited.

    Args:
        id: document id + position + content hash; never derived from a prefix of the text.
        doc_id: the document it comes from.
        title: title of the document; may be empty.
        heading: path of headings below the title, joined by " › "; may be empty.
        text: the words themselves, without title and heading.
        language: ISO 639-1 code of the text, such as "en".
        source: one line naming where the document's facts come from; may be empty.
        context: one or two sentences that situate it in its document, in an enriched collection only.
    """

    id: str
    doc_id: str
    title: str
    text: str
    heading: str = ""
    language: str = "en"
    source: str = ""
    context: str = ""

    @property
    def full_title(self) -> str:
        """Title and heading path in one line."""
        return " › ".join(part for part in (self.title, self.heading) if part)

    @property
    def indexed_text(self) -> str:
        """What is embedded and searched: title and headings, the context if there is one, the text."""
        return "\n".join(part for part in (self.full_title, self.context, self.text) if part)


@dataclass(frozen=True, slots=True)
class Query:
    """A text to search with.

    Args:
        text: what is searched.
        origin: which transform wrote it; "question" for the user's own words.
        weight: weight of its votes when rankings are fused, >= 0.
        passages: texts to embed instead of `text`, averaged (HyDE); empty for an ordinary query.
        question_text: a question whose embedding is averaged with those of the passages; empty for none.
        template_index: position of its template among those asked for, from 0; it keeps it when another drops out.
        form: "sentence" or "keywords", where a query analysis has looked; else empty.
        note: what the reader should know about how it was made; may be empty.
    """

    text: str
    origin: str = "question"
    weight: float = 1.0
    passages: tuple[str, ...] = ()
    question_text: str = ""
    template_index: int = 0
    form: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """One summand of a score, weight · value.

    Args:
        name: "cosine" to the question, "judge", or "similarity": the cosine to another passage.
        weight: negative where the value counts against the passage.
        passage: id of that other passage; else empty.
    """

    name: str
    value: float
    weight: float
    passage: str = ""


@dataclass(frozen=True, slots=True)
class Vote:
    """One score a passage received: at which stage, for which query, at which rank (from 1).

    Args:
        note: the judge's reason; else empty.
        terms: the summands of a score that is a weighted sum of others (S_final, MMR); else none.
    """

    stage: str
    query: str
    rank: int
    score: float
    scale: Scale
    note: str = ""
    terms: tuple[Term, ...] = ()


@dataclass(frozen=True, slots=True)
class Relevance:
    """How relevant a passage is to the question, and which score says so.

    Args:
        scorer: the scale of `score`, or "rank" for the rule by position.
        rule: one sentence for the reader: the threshold, and how often it was right.
    """

    label: Label
    scorer: Scorer
    score: float
    rule: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage with its present score and every vote it collected on the way.

    Args:
        note: of the present score, as of a vote.
        terms: of the present score, as of a vote.
    """

    passage: Passage
    score: float
    scale: Scale
    votes: tuple[Vote, ...] = ()
    relevance: Relevance | None = None
    note: str = ""
    terms: tuple[Term, ...] = ()

    @property
    def id(self) -> str:
        """The passage's id."""
        return self.passage.id

    def with_votes(self, *votes: Vote) -> Hit:
        """The same hit with further votes; sweeps make millions, and `replace` takes four times as long."""
        return Hit(
            self.passage,
            self.score,
            self.scale,
            self.votes + votes,
            self.relevance,
            self.note,
            self.terms,
        )

    def with_score(self, score: float, scale: Scale, note: str = "", terms: tuple[Term, ...] = ()) -> Hit:
        """The same hit with another score; its votes stay."""
        return Hit(self.passage, score, scale, self.votes, self.relevance, note, terms)

    def vote(self, stage: str) -> Vote | None:
        """The last vote of a stage; None when it gave none."""
        return next((vote for vote in reversed(self.votes) if vote.stage == stage), None)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits for one query, best first. The rank of a hit is its position; it is never stored.

    Args:
        retriever: name of the retriever that found them, such as "bm25"; empty once several were fused.
        seconds: of that one search, the embedding of its query included; 0 for a ranking made of others.
    """

    query: Query
    hits: tuple[Hit, ...]
    retriever: str = ""
    seconds: float = field(default=0.0, compare=False)

    @classmethod
    def sort(cls, query: Query, hits: Iterable[Hit], stage: str, retriever: str = "") -> Ranking:
        """Order by (-score, passage id) and add one vote to each hit.

        The tie rule is the only one in the library: equal scores never depend on input order.
        """
        ordered = sorted(hits, key=lambda hit: (-hit.score, hit.id))
        return cls(query, ordered_votes(ordered, query, stage), retriever)

    @property
    def scale(self) -> Scale | None:
        """What its scores are; None for an empty ranking."""
        return self.hits[0].scale if self.hits else None

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


def ordered_votes(hits: Iterable[Hit], query: Query, stage: str) -> tuple[Hit, ...]:
    """Give hits, in the order they come, the votes of `stage`: ranks from 1 and their scores."""
    return tuple(
        hit.with_votes(Vote(stage, query.text, rank, hit.score, hit.scale, hit.note, hit.terms))
        for rank, hit in enumerate(hits, start=1)
    )


@dataclass(frozen=True, slots=True, eq=False)
class ModelCall:
    """One call to a model. Two equal calls are two bills, so identity decides equality.

    Args:
        purpose: "answer", "rewrite", "judge", "embed", ...
        cost_usd: US dollars; None when no price is known, never 0 for "unknown".
        counted_by: who counted the tokens.
        note: what the reader of the result should know of it.
    """

    purpose: str
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    counted_by: Literal["provider", "tokenizer"]
    note: str = ""

    @property
    def of_language_model(self) -> bool:
        """Whether a language model, or the offline engine in its place, was asked."""
        return self.purpose not in ("embed", "rerank")


@dataclass(frozen=True, slots=True)
class Cost:
    """What model calls cost: the one rule for sums in which a price may be unknown.

    Args:
        known: US dollars of the calls whose price is known.
        unpriced: how many calls have no known price.
    """

    known: float = 0.0
    unpriced: int = 0

    @classmethod
    def of(cls, calls: Iterable[ModelCall]) -> Cost:
        """The cost of calls, each counted once however often it is given."""
        prices = [call.cost_usd for call in dict.fromkeys(calls)]
        return cls(math.fsum(price for price in prices if price is not None), prices.count(None))

    @property
    def usd(self) -> float | None:
        """The sum in US dollars; None when a price is unknown, for the sum of the others is not the cost."""
        return None if self.unpriced else self.known

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.known + other.known, self.unpriced + other.unpriced)

    def __str__(self) -> str:
        known = f"${self.known:.4f}" if self.known >= 0.01 else f"${self.known:.6f}" if self.known else "$0"
        if not self.unpriced:
            return known
        without = f"{self.unpriced:,} call{'s' if self.unpriced > 1 else ''} of unknown price"
        return f"{known} and {without}" if self.known else without


def spent(calls: Iterable[ModelCall]) -> str:
    """What calls have cost so far, as a sentence; empty when they were free."""
    billed = [call for call in dict.fromkeys(calls) if call.cost_usd != 0]
    if not billed:
        return ""
    cost, count = Cost.of(billed), len(billed)
    how_many = "" if cost.unpriced else f" for {count:,} call{'s' if count > 1 else ''}"
    return f"Spent so far: {cost}{how_many}."


@dataclass(frozen=True, slots=True)
class Citation:
    """The answer's marker [n] stands for passage `context_id`; `quote` is the sentence closest to its claim.

    Args:
        supported: whether the quote shares enough words with the claim (`grounding.resolve_citations`); None
            where words cannot tell: another language, or a claim of hardly a word.
        markers: which of the answer's markers stand for it, counted from 0 in the order of the text.
    """

    n: int
    context_id: str
    quote: str
    supported: bool | None = True
    markers: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """A cited answer, or an abstention with its reason.

    Args:
        text: the answer with [n] markers, or the sentence that says there is none.
        citations: in the order of the text; n is the context's rank.
        abstained: True when the evidence did not suffice.
        reason: why it abstained; empty otherwise.
        evidence: hash of the contexts in the prompt (`grounding.evidence_hash`); empty when no
            prompt was sent.
        invalid_citations: markers the model wrote that named no context, and were taken out.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    abstained: bool = False
    reason: str = ""
    evidence: str = ""
    invalid_citations: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """Everything a strategy holds between two stages.

    Args:
        shortfall: why no passage is left, for the abstention; empty when there is no more to say.
    """

    question: Query
    queries: tuple[Query, ...]
    rankings: tuple[Ranking, ...] = ()
    answer: Answer | None = None
    shortfall: str = ""

    @classmethod
    def start(cls, question: str) -> State:
        """The state before the first stage: the question is its own only query."""
        query = Query(question)
        return cls(question=query, queries=(query,))

    def asked(self, ranking: Ranking) -> Query:
        """What a ranking of this state is scored anew against: see `stages.RerankStage`."""
        return ranking.query if len(self.rankings) > 1 else self.question

    @property
    def ranking(self) -> Ranking:
        """The one ranking left after fusion; an empty one before retrieval."""
        if not self.rankings:
            return Ranking(self.question, ())
        (only,) = self.rankings
        return only
