"""Ranked passages as HTML, each with its label, score and path through the stages; drawn by passages.html."""

import functools
import urllib.parse
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

import rag_core
from pages.drawing.fragments import render, tagged
from pages.drawing.translate import declared, language, plural, t, translated, words_for
from pages.shared import corpora, country, whole_document
from pages.shared.live import Column
from pages.shared.whole_document import with_lists
from rag_core.documents.documents import BUILTIN
from rag_core.explain import query_title, stage_title
from rag_core.language.highlight import highlight
from rag_core.safety import urgency
from rag_core.stages import Asked
from rag_core.values.sources import age_years, is_old, source_line, source_names

SCALES = words_for("scales")
WEIGHTS = {"s_final": "α", "mmr": "λ"}  # symbol for the weight of the first term
TERMS = words_for("terms")


def summand(name: str) -> str:
    """What a part of a score is called: who searched and who wrote the query, or what is weighed."""
    pieces = (TERMS.get(one) or query_title(stage_title(one)) for one in name.split(" · "))
    return " · ".join(translated(one) for one in pieces)


MOST_QUOTES = 5  # in the address of a document
NO_LABEL = declared(
    "No relevance label: the model that scored this passage has no calibrated thresholds, or time ran out. "
    "This says nothing about the passage itself. The notes on this strategy give the reason."
)
NOT_LABELLED_YET = declared(
    "No relevance label: a strategy labels its passages when it writes the answer, and this one has written none."
)


def passages(
    column: Column,
    position: int,
    question: str,
    also: Mapping[str, str] | None = None,
    *,
    blind: bool = False,
    most: int | None = None,
    beside: Mapping[str, Markup] | None = None,
    opened: Collection[str] = (),
) -> Markup:
    """The ranked passages, collapsed, with the quoted sentences underlined; what they open is drawn by `opened`.

    Candidates still to be reranked or cut are only counted; space is reserved for the final passages.

    Args:
        also: id of a passage -> the other columns that found it.
        most: how many to list; all by default.
        beside: id of every passage -> what stands below its text.
        opened: ids of those that are shown open.
    """
    final: int = column.strategy.controls.get("k_final", 5)
    if not (column.ranked or column.settled):
        coming = t("Passages")
        if found := column.candidates:
            coming = t("{found:,} candidates, to be narrowed down to {final:,}", found=found, final=final)
        return render("passages.coming", words=coming, rows=final)
    ranking = column.ranking
    if ranking is None:
        return Markup()
    if not ranking.hits:
        return render("passages.none_found")
    hits = ranking.hits if column.ranked else ranking.hits[:final]
    shown = Shown(column, position, question, blind, hits)
    rows = [
        ShownPassage(
            hit, shown, (also or {}).get(hit.id, ""), beside[hit.id] if beside else "", hit.id in opened
        )
        for hit in hits[:most]
    ]  # fmt: skip
    head = t("Passages") if blind else plural("{count:,} passage", "{count:,} passages", len(hits))
    if len(hits) < len(ranking) and not blind:
        head = t(
            "The first {shown} of {count} candidates, before {stage}",
            shown=len(hits),
            count=len(ranking),
            stage=column.strategy.stages[len(column.steps)].name,
        )
    order = "" if blind else t("ordered by {scale}", scale=translated(SCALES[hits[0].scale]))
    return render("passages.ranked", head=head, order=order, rows=rows)


def opened(column: Column, position: int, question: str, *, blind: bool = False) -> Markup:
    """What citations and passages open, drawn apart, so that it stays when the list changes: cards, and quoted documents."""
    hits = column.ranking.hits if column.ranking else ()
    shown = Shown(column, position, question, blind, hits)
    return render("passages.opened", rows=[ShownPassage(hit, shown) for hit in hits])


def same(passage_id: str) -> str:
    """The class that a passage has in every column."""
    return f"rl-same-{zlib.crc32(passage_id.encode()):d}"


@dataclass(frozen=True)
class Shown:
    """A column as its passages are shown; columns count from 0."""

    column: Column
    position: int
    question: str
    blind: bool
    hits: Sequence[rag_core.Hit]

    @property
    def answer(self) -> rag_core.Answer | None:
        return self.column.trace.answer if self.column.trace else None

    @functools.cached_property
    def ranks(self) -> Mapping[str, int]:
        return {hit.id: rank for rank, hit in enumerate(self.hits, start=1)}


@dataclass(frozen=True)
class ShownPassage:
    """A passage as the templates show it; texts are empty, and the rest None, where there is nothing.

    `also` says which other columns found it; `below` stands below its text.
    """

    hit: rag_core.Hit
    shown: Shown
    also: str = ""
    below: str = ""
    opened: bool = False

    @property
    def passage(self) -> rag_core.Passage:
        return self.hit.passage

    @property
    def rank(self) -> int:
        return self.shown.ranks[self.hit.id]

    @property
    def css(self) -> str:
        return same(self.hit.id)

    @functools.cached_property
    def quotes(self) -> Sequence[str]:
        """The sentences that the answer rests on: those of its citations, and those behind its sentences."""
        answer = self.shown.answer
        if answer is None:
            return []
        cited = [one.quote for one in answer.citations if one.n == self.rank and one.supported]
        behind = [quote for one in answer.sentences if one.n == self.rank and one.by for quote in one.quote]
        return list(dict.fromkeys((*cited, *behind)))

    @functools.cached_property
    def document(self) -> rag_core.Document | None:
        """The document that a drawer shows: that of a passage with such sentences, if it is still here."""
        trace = self.shown.column.trace
        return whole_document.find(trace.corpus, self.passage.doc_id) if trace and self.quotes else None

    @property
    def whole(self) -> Markup:
        return whole_document.at_quotes(self.document, self.quotes) if self.document else Markup()

    @property
    def urgent(self) -> urgency.UrgentNotice | None:
        trace = self.shown.column.trace
        return urgency.urgent_notice(trace.triage, country.numbers()) if trace else None

    @property
    def address(self) -> str:
        """The page of its document, with the same sentences highlighted, and what to do at once on it too."""
        trace = self.shown.column.trace
        assert trace is not None  # only a finished column has ways to documents
        place = {"corpus": corpora.title(trace.corpus)} if trace.corpus != BUILTIN else {}
        if trace.triage.urgent:
            place |= {"asked": trace.question, "country": trace.country}
        place |= {"document": self.passage.doc_id}
        return "documents?" + urllib.parse.urlencode({**place, "quote": self.quotes[:MOST_QUOTES]}, doseq=True)

    @property
    def marked(self) -> Markup:
        return _marked(self.passage.text, self.shown.question, self.passage.language, tuple(self.quotes))

    @property
    def doubts(self) -> Iterable[Markup]:
        answer = self.shown.answer
        return doubts(one for one in answer.citations if one.context_id == self.hit.id) if answer else ()

    @property
    def asked(self) -> str:
        """The known question by which it was found, the nearest if several queries found it so."""
        votes = [vote for vote in self.hit.votes if vote.stage == Asked.__name__]
        return "" if self.shown.blind or not votes else max(votes, key=lambda vote: vote.score).note

    @property
    def rule(self) -> str:
        """The rule behind its label, or why it has none in a settled column; empty while hidden or still open."""
        if self.shown.blind or not (self.hit.relevance or self.shown.column.settled):
            return ""
        if self.hit.relevance:
            return translated(self.hit.relevance.rule)
        return translated(NO_LABEL if self.shown.answer else NOT_LABELLED_YET)

    @property
    def sources(self) -> str:
        return " · ".join(dict.fromkeys(source.in_language(language()) for source in self.passage.sources))

    @property
    def source_line(self) -> str:
        return source_line(self.passage.sources, language()) or self.passage.source

    @property
    def age_years(self) -> int | None:
        return age_years(self.passage.sources) if is_old(self.passage.sources) else None

    @property
    def difference(self) -> str:
        """That guidance differs, and which of it leads in the country of the question."""
        if not self.passage.differs_from:
            return ""
        trace = self.shown.column.trace
        leading = source_names(self.passage.leading(trace.country if trace else ""), language())
        applies = t(" In the country you chose: {sources}.", sources=leading) if leading else ""
        return self.passage.difference_in(language()) + applies

    def formula(self, vote: rag_core.Vote) -> str:
        """A score as the sum that it is."""
        summands = []
        for term in vote.terms:
            sign, ranks = "−" if term.weight < 0 else "+", self.shown.ranks
            other = t(" to #{rank:d}", rank=ranks[term.passage]) if term.passage in ranks else ""
            summands.append(f"{sign} {abs(term.weight):.2f} · {summand(term.name)}{other} {term.value:.4f}")
        return " ".join(summands).removeprefix("+ ")

    def weight(self, vote: rag_core.Vote) -> str:
        """What the first part of a score is weighted by, if a control says so."""
        return f"{WEIGHTS[vote.scale]} = {vote.terms[0].weight:g}" if vote.scale in WEIGHTS else ""


@functools.lru_cache(maxsize=500)  # a line and a card show the same, and so does every move of a slider
def _marked(text: str, question: str, language: str, quotes: tuple[str, ...]) -> Markup:
    return with_lists(highlight(text, question, language, quotes))


def doubts(cited: Iterable[rag_core.Citation]) -> Iterable[Markup]:
    """What to say of citations that a passage does not support, each once."""
    return dict.fromkeys(
        tagged(
            "<b>Unclear citation.</b> The answer cites this passage, but it is not clear whether the passage supports it."
        )
        if one.supported is None
        else tagged(
            "<b>Unsupported citation.</b> The answer cites this passage, but the passage does not support it. The "
            "closest sentence is “{quote}”",
            quote=one.quote,
        )
        for one in cited
        if not one.supported
    )
