"""The values that flow through a strategy: immutable, and independent of models and indexes."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from .answers import Answer
from .message import Message
from .prompt_injection import any_gives_orders
from .sources import Source, difference, leading
from .translation import translate
from .triage import ROUTINE, Triage

if TYPE_CHECKING:  # loading numpy takes longer than the rest of a command that needs no model
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"  # (n, d), rows L2-normalised
Scale = Literal[
    "cosine",
    "bm25",
    "rrf",
    "weighted_cosine",
    "mmr",
    "cross_encoder",
    "offline_scorer",
    "likeness",  # to known questions
    "known_questions",
    "judge",
    "s_final",
    "external",  # from a LlamaIndex retriever
    "postprocessor",  # from a LlamaIndex node postprocessor
]
Label = Literal["High", "Medium", "Low"]
Scorer = Literal["cosine", "cross_encoder", "offline_scorer", "judge", "rank"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk of a document, the unit that is retrieved, shown and cited.

    Args:
        id: document id, position and content hash.
        heading: path of headings below the title, joined by " › "; may be empty.
        text: the text itself, without title and heading.
        language: ISO 639-1 code of the text, such as "en".
        source: one line on where its facts come from; may be empty.
        context: one or two sentences that place it in its document; enriched indexes only.
        sources: the publications behind `source`; empty for passages of documents that list none.
        differs_from: those of them whose guidance differs from that of the others; usually empty.
        patient: "baby", "bereaved" (parents whose baby died), "child" or "partner" if its document says that it is
            about them; otherwise empty.
        copies: those of equal text that it stands for; `source`, `sources` and `differs_from` are theirs as well.
        metadata: (name, value) of its document, as `Document.metadata`.
    """

    id: str
    doc_id: str
    title: str
    text: str
    heading: str = ""
    language: str = "en"
    source: str = ""
    context: str = ""
    sources: tuple[Source, ...] = ()
    differs_from: tuple[Source, ...] = ()
    patient: str = ""
    copies: tuple[Passage, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()

    def with_copies(self, copies: Sequence[Passage]) -> Passage:
        """The same passage for others of equal text, with the sources of all."""
        if not copies:
            return self
        also = translate(self.language, "Also in")
        titles = [one.full_title or one.doc_id for one in (self, *copies)]
        if len({*titles}) < len(titles):  # only the files tell them apart
            titles = [f"{title} [{one.doc_id}]" for title, one in zip(titles, (self, *copies), strict=True)]
        own, *others = (translate(self.language, "“{title}”", title=title) for title in titles)
        others = [f"{name} ({one.source})" if one.source else name for name, one in zip(others, copies, strict=True)]
        return replace(
            self,
            source=f"{self.source or own}. {also} {', '.join(dict.fromkeys(others))}",
            sources=_all(one.sources for one in (self, *copies)),
            differs_from=_all(one.differs_from for one in (self, *copies)),
            copies=tuple(copies),
        )

    @property
    def full_title(self) -> str:
        return " › ".join(part for part in (self.title, self.heading) if part)

    @property
    def gives_orders(self) -> bool:
        """Whether it gives orders to a language model; see `values.prompt_injection`."""
        return any_gives_orders(self.full_title, self.text, self.doc_id)

    @property
    def agreeing(self) -> tuple[Source, ...]:
        """The sources that `differs_from` differs from: the other side."""
        return tuple(one for one in self.sources if one not in self.differs_from)

    @property
    def difference(self) -> str:
        return self.difference_in("en")

    def difference_in(self, language: str) -> str:
        return difference(self.agreeing, self.differs_from, language)

    def leading(self, country: str) -> tuple[Source, ...]:
        """The sources of a country that lead where guidance differs; usually empty."""
        return leading(self.agreeing, self.differs_from, country) if self.differs_from else ()

    @property
    def indexed_text(self) -> str:
        """What is embedded and searched: title and headings, context if any, and text."""
        return "\n".join(part for part in (self.full_title, self.context, self.text) if part)


def _all(sources: Iterable[Iterable[Source]]) -> tuple[Source, ...]:
    return tuple(dict.fromkeys(itertools.chain.from_iterable(sources)))


def document_ids(passages: Iterable[Passage]) -> tuple[str, ...]:
    """The documents that passages are in, in their order, each once; a copy's as well."""
    return tuple(dict.fromkeys(one.doc_id for passage in passages for one in (passage, *passage.copies)))


def text_key(passage: Passage) -> str:
    """Names a passage by its text alone, in 16 hexadecimal digits: a judgement of it holds as long as nobody changes that."""
    return hashlib.sha256(passage.text.encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Query:
    """A text to search with.

    Args:
        origin: the transform that wrote it; "question" for the user's own words.
        weight: its weight in fusion, >= 0.
        passages: texts to embed instead of `text`, averaged (HyDE); empty for an ordinary query.
        question_text: a question whose embedding is averaged with those of the passages; empty for none.
        template_index: position of its template in the request, from 0, also when other templates failed.
        form: "sentence" or "keywords" after query analysis; otherwise empty.
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
        name: "cosine" to the question, "judge", "similarity": the cosine to another passage; "standardised": the score
            before, less the list's mean and in its standard deviations; "known questions": the likeness to them;
            "their words": how well the words of these tell the passage from the other leading ones.
        weight: negative where the value counts against the passage.
        passage: id of that other passage; otherwise empty.
    """

    name: str
    value: float
    weight: float
    passage: str = ""


@dataclass(frozen=True, slots=True)
class Vote:
    """A passage's score and rank (from 1) at one stage, for one query; `terms` are the summands of a weighted sum.

    `note` is the judge's reason, or the known question that a search matched.
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
    """How relevant a passage is to the question, by a score on the scale `scorer` ("rank" for labels by rank).

    `rule` is one sentence for the reader: the threshold, and how often it was right.
    """

    label: Label
    scorer: Scorer
    score: float
    rule: str


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage with its current score, whose `note` and `terms` these are (see `Vote`), and every vote so far."""

    passage: Passage
    score: float
    scale: Scale
    votes: tuple[Vote, ...] = ()
    relevance: Relevance | None = None
    note: str = ""
    terms: tuple[Term, ...] = ()

    @property
    def id(self) -> str:
        return self.passage.id

    def with_votes(self, *votes: Vote) -> Hit:
        """The same hit with more votes. Sweeps create millions; `replace` would take four times as long."""
        return Hit(self.passage, self.score, self.scale, self.votes + votes, self.relevance, self.note, self.terms)

    def with_score(self, score: float, scale: Scale, note: str = "", terms: tuple[Term, ...] = ()) -> Hit:
        return Hit(self.passage, score, scale, self.votes, self.relevance, note, terms)

    def vote(self, stage: str) -> Vote | None:
        """The last vote from a stage; None when there is none."""
        return next((vote for vote in reversed(self.votes) if vote.stage == stage), None)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Hits for one query, best first. A hit's rank is its position and is never stored.

    Args:
        retriever: name of the retriever, such as "bm25"; empty after fusion.
        seconds: duration of the search, including embedding the query; 0 for a fused ranking.
        started: seconds after its run began; None for a fused ranking, or when unknown.
    """

    query: Query
    hits: tuple[Hit, ...]
    retriever: str = ""
    seconds: float = field(default=0.0, compare=False)
    started: float | None = field(default=None, compare=False)

    @classmethod
    def sort(cls, query: Query, hits: Iterable[Hit], stage: str, retriever: str = "") -> Ranking:
        """Order by (-score, passage id), the library's only tie-break, and add one vote to each hit."""
        ordered = sorted(hits, key=lambda hit: (-hit.score, hit.id))
        return cls(query, ordered_votes(ordered, query, stage), retriever)

    @property
    def scale(self) -> Scale | None:
        return self.hits[0].scale if self.hits else None

    def __repr__(self) -> str:
        return f"<Ranking for {self.query.text!r}: {', '.join(f'{hit.id!r} {hit.score:.4g}' for hit in self.hits) or 'none'}>"

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


def ordered_votes(hits: Iterable[Hit], query: Query, stage: str) -> tuple[Hit, ...]:
    """Add a vote from `stage` to each hit, ranked from 1 in the given order."""
    return tuple(
        hit.with_votes(Vote(stage, query.text, rank, hit.score, hit.scale, hit.note, hit.terms))
        for rank, hit in enumerate(hits, start=1)
    )


@dataclass(frozen=True, slots=True)
class Outranked:
    """The hits that MMR left out of one list, as they stood against its last pick; a row each, in columns.

    In columns because a slider leaves out thousands: as hits they would take longer to make than to compare.

    Args:
        relevance: cosines to the question.
        near: ids of the picks that they are most like; empty for none.
        similarity: the cosines to those; 0 for none.
    """

    ids: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    relevance: tuple[float, ...] = ()
    near: tuple[str, ...] = ()
    similarity: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ModelCall:
    """One call to a model. Equal calls are billed twice, so equality is identity.

    Args:
        purpose: "answer", "rewrite", "judge", "embed", ...
        cost_usd: US dollars; None, never 0, when the price is unknown.
        finish: why a language model's reply ended, in the provider's words; only "stop" is a complete reply.
        started: seconds after its run began; None when unknown.
        seconds: from sending it to the end of its reply, repeated requests included; None when unknown, as for
            one of several requests that were timed together.
    """

    purpose: str
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    counted_by: Literal["provider", "tokenizer"]
    note: str = ""
    finish: str = "stop"
    started: float | None = None
    seconds: float | None = None

    @property
    def of_language_model(self) -> bool:
        """Whether it went to a language model, or to the offline engine in its place."""
        return self.purpose not in ("embed", "rerank")


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of model calls: US dollars of those with a known price, and the number of those without one."""

    known: float = 0.0
    unpriced: int = 0

    @classmethod
    def of(cls, calls: Iterable[ModelCall]) -> Cost:
        """The cost of calls; repeated calls count once."""
        prices = [call.cost_usd for call in dict.fromkeys(calls)]
        return cls(math.fsum(price for price in prices if price is not None), prices.count(None))

    @property
    def usd(self) -> float | None:
        """The total in US dollars; None when any price is unknown."""
        return None if self.unpriced else self.known

    @property
    def free(self) -> bool:
        """Whether nothing was billed, as far as prices are known."""
        return not (self.known or self.unpriced)

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.known + other.known, self.unpriced + other.unpriced)

    def __str__(self) -> str:
        known = f"${self.known:.4f}" if self.known >= 0.01 else f"${self.known:.6f}" if self.known else "$0"
        if not self.unpriced:
            return known
        without = f"{self.unpriced:,} call{'s' if self.unpriced > 1 else ''} of unknown price"
        return f"{known} and {without}" if self.known else without


def token_counts(calls: Iterable[ModelCall]) -> tuple[int, int]:
    """Input and output tokens of calls."""
    counts = [(call.input_tokens, call.output_tokens) for call in calls]
    return sum(sent for sent, _ in counts), sum(received for _, received in counts)


def spent_so_far(calls: Iterable[ModelCall]) -> str:
    """What calls have cost so far, as a sentence; empty when they were free."""
    billed = [call for call in dict.fromkeys(calls) if call.cost_usd != 0]
    if not billed:
        return ""
    cost, count = Cost.of(billed), len(billed)
    if cost.unpriced:
        return Message("Spent so far: {cost}.", cost=cost)
    if count == 1:
        return Message("Spent so far: {cost} for 1 call.", cost=cost)
    return Message("Spent so far: {cost} for {count:,} calls.", cost=cost, count=count)


@dataclass(frozen=True, slots=True)
class State:
    """A strategy's state between two stages, with the triage of the question as typed.

    `shortfall` says why no passage is left, for the abstention; `dropped` are the passages, if a threshold dropped all.
    """

    question: Query
    queries: tuple[Query, ...]
    rankings: tuple[Ranking, ...] = ()
    answer: Answer | None = None
    shortfall: str = ""
    dropped: tuple[Hit, ...] = ()
    triage: Triage = ROUTINE

    @property
    def passage_count(self) -> int:
        return len({hit.id for ranking in self.rankings for hit in ranking})

    @classmethod
    def start(cls, question: str, triage: Triage = ROUTINE) -> State:
        """The state before the first stage, with the question as the only query."""
        query = Query(question)
        return cls(question=query, queries=(query,), triage=triage)

    def scoring_query(self, ranking: Ranking) -> Query:
        """The query to rescore a ranking of this state against; see `stages.RerankStage`."""
        return ranking.query if len(self.rankings) > 1 else self.question

    @property
    def ranking(self) -> Ranking:
        """The single ranking after fusion; empty before retrieval."""
        if not self.rankings:
            return Ranking(self.question, ())
        (only,) = self.rankings
        return only
