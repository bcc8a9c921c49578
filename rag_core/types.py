"""Values that flow through a strategy. All are immutable; none knows about a model or an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]  # (n, d), rows L2-normalised
Scale = Literal[
    "cosine", "bm25", "rrf", "weighted_cosine", "cross_encoder", "offline_scorer", "judge", "s_final"
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
        beside: a question whose embedding is averaged with those of the passages; empty for none.
        place: position of its template among those asked for, from 0; it keeps it when another drops out.
        form: "sentence" or "keywords", where a query analysis has looked; else empty.
        note: what the reader should know about how it was made; may be empty.
    """

    text: str
    origin: str = "question"
    weight: float = 1.0
    passages: tuple[str, ...] = ()
    beside: str = ""
    place: int = 0
    form: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Vote:
    """One score a passage received: at which stage, for which query, at which rank (from 1)."""

    stage: str
    query: str
    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class Relevance:
    """How relevant a passage is to the question, and which score says so.

    Args:
        scorer: the scale of `score`, or "rank" for the seed's rule by position.
        rule: one sentence for the reader: the threshold, and how often it was right.
    """

    label: Label
    scorer: Scorer
    score: float
    rule: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage with its present score and every vote it collected on the way."""

    passage: Passage
    score: float
    scale: Scale
    votes: tuple[Vote, ...] = ()
    relevance: Relevance | None = None

    @property
    def id(self) -> str:
        """The passage's id."""
        return self.passage.id

    def voted(self, *votes: Vote) -> Hit:
        """The same hit with further votes; sweeps make millions, and `replace` takes four times as long."""
        return Hit(self.passage, self.score, self.scale, self.votes + votes, self.relevance)

    def vote(self, stage: str) -> Vote | None:
        """The last vote of a stage; None when it gave none."""
        return next((vote for vote in reversed(self.votes) if vote.stage == stage), None)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits for one query, best first. The rank of a hit is its position; it is never stored."""

    query: Query
    hits: tuple[Hit, ...]

    @classmethod
    def sort(cls, query: Query, hits: Iterable[Hit], stage: str) -> Ranking:
        """Order by (-score, passage id) and add one vote to each hit.

        The tie rule is the only one in the library: equal scores never depend on input order.
        """
        ordered = sorted(hits, key=lambda hit: (-hit.score, hit.id))
        return cls(query, ordered_votes(ordered, query, stage))

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


def ordered_votes(hits: Iterable[Hit], query: Query, stage: str) -> tuple[Hit, ...]:
    """Give hits, in the order they come, the votes of `stage`: ranks from 1 and their scores."""
    return tuple(
        hit.voted(Vote(stage, query.text, rank, hit.score)) for rank, hit in enumerate(hits, start=1)
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
class Citation:
    """The answer's marker [n] stands for passage `context_id`; `quote` is its supporting sentence."""

    n: int
    context_id: str
    quote: str


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

    @property
    def ranking(self) -> Ranking:
        """The one ranking left after fusion; an empty one before retrieval."""
        if not self.rankings:
            return Ranking(self.question, ())
        (only,) = self.rankings
        return only
