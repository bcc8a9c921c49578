"""Ranked passages drawn as HTML, each with its label, score and path through the stages."""

import functools
import urllib.parse
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import rag_core
from pages.drawing.pieces import note, tip
from pages.drawing.translate import LANGUAGES, declared, language, plural, t, translated, words_for
from pages.drawing.untrusted import escape
from pages.shared import corpora, country, whole_document
from pages.shared.live import Column
from pages.shared.whole_document import with_lists
from rag_core.documents.documents import BUILTIN
from rag_core.explain import query_title, stage_title
from rag_core.language.highlight import highlight
from rag_core.safety import urgency
from rag_core.stages import Asked
from rag_core.values.prompt_injection import GIVES_ORDERS
from rag_core.values.sources import age_note, age_years, home_pages, is_old, source_line, source_names

SCALES = words_for("scales")
SCALE_HELP = words_for("scale_help")
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
    beside: Mapping[str, str] | None = None,
    opened: Collection[str] = (),
) -> str:
    """The ranked passages, collapsed, with the quoted sentences underlined; what they open is drawn by `opened`.

    Candidates still to be reranked or cut are only counted; space is reserved for the final passages.

    Args:
        also: id of a passage -> the other columns that found it.
        most: how many to list; all by default.
        beside: id of every passage -> what stands below its text, as HTML.
        opened: ids of those that are shown open.
    """
    final: int = column.strategy.controls.get("k_final", 5)
    if not (column.ranked or column.settled):
        coming = t("Passages")
        if found := column.candidates:
            coming = t("{found:,} candidates, to be narrowed down to {final:,}", found=found, final=final)
        rows = '<div class="rl-coming"></div>' * final
        return f'<div class="rl-passages"><b>{coming}</b>{rows}</div>'
    ranking = column.ranking
    if ranking is None:
        return ""
    if not ranking.hits:
        return f'<p class="rl-none">{t("No passages found.")}</p>'
    hits = ranking.hits if column.ranked else ranking.hits[:final]
    shown = _Shown(column, position, question, blind, hits)
    rows = ""
    for hit in hits[:most]:
        below = beside[hit.id] if beside else ""
        rows += _passage(hit, shown, (also or {}).get(hit.id, ""), below, opened=hit.id in opened)
    head = t("Passages") if blind else plural("{count:,} passage", "{count:,} passages", len(hits))
    if len(hits) < len(ranking) and not blind:
        head = t(
            "The first {shown} of {count} candidates, before {stage}",
            shown=len(hits),
            count=len(ranking),
            stage=column.strategy.stages[len(column.steps)].name,
        )
    order = t("ordered by {scale}", scale=translated(SCALES[hits[0].scale]))
    return f'<div class="rl-passages"><b>{escape(head)}</b>{"" if blind else f" <small>{order}</small>"}{rows}</div>'


def opened(column: Column, position: int, question: str, *, blind: bool = False) -> str:
    """What citations and passages open, drawn apart, so that it stays when the list changes: cards, and quoted documents."""
    hits = column.ranking.hits if column.ranking else ()
    shown = _Shown(column, position, question, blind, hits)
    return "".join(f"{_card(hit, shown)}{_drawer(hit, shown)}" for hit in hits)


def same(passage_id: str) -> str:
    """The class that a passage has in every column."""
    return f"rl-same-{zlib.crc32(passage_id.encode()):d}"


@dataclass(frozen=True)
class _Shown:
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

    def quotes(self, hit: rag_core.Hit) -> list[str]:
        """The sentences of a passage that the answer rests on: those of its citations, and those behind its sentences."""
        if self.answer is None:
            return []
        n = self.ranks[hit.id]
        cited = [one.quote for one in self.answer.citations if one.n == n and one.supported]
        behind = [quote for one in self.answer.sentences if one.n == n and one.by for quote in one.quote]
        return list(dict.fromkeys((*cited, *behind)))

    def source(self, hit: rag_core.Hit) -> rag_core.Document | None:
        """The document that a drawer shows: that of a passage with such sentences, if it is still here."""
        trace = self.column.trace
        return whole_document.find(trace.corpus, hit.passage.doc_id) if trace and self.quotes(hit) else None

    def drawer(self, hit: rag_core.Hit) -> str:
        return f"c{self.position:d}-d{self.ranks[hit.id]:d}"


def _passage(hit: rag_core.Hit, shown: _Shown, also: str, beside: str, *, opened: bool) -> str:
    """A passage as a line that opens: one tab stop."""
    passage, trace = hit.passage, shown.column.trace
    context = passage.context and t("Context added for indexing: {context}", context=passage.context)
    line = source_line(passage.sources, language()) or passage.source
    cited = t("Source: {source}.", source=escape(line))
    source = f'<p class="rl-note">{cited}{_homes(passage)}</p>' if line else ""
    if age := age_note(passage.sources):
        source += f'<p class="rl-note rl-strong">{escape(translated(age))}</p>'
    elsewhere = f'<span class="rl-also">{escape(also)}</span>' if also else ""
    title = escape(passage.full_title)
    if passage.gives_orders:
        title += f' <small class="rl-ordered">{t("gives orders to a model")}</small>'
    return (
        f'<details class="rl-passage {same(hit.id)}"{" open" if opened else ""}><summary><span class="rl-n">{shown.ranks[hit.id]:d}</span>'
        f'{_label(hit, shown)}{elsewhere}<span class="rl-title">{title}</span>{_asked(hit, shown)}{_origin(passage)}</summary>'
        f'<div class="rl-body">{_text(hit, shown)}{beside}{note(_rule(hit, shown))}{note(context)}{source}'
        f"{_difference(passage, trace.country if trace else '')}"
        f'<p class="rl-note">{t("Passage {id}, language {language}", id=escape(hit.id), language=escape(LANGUAGES.get(passage.language, passage.language)))}</p>'
        f"{'' if shown.blind else _way(hit, shown)}</div></details>"
    )


def _card(hit: rag_core.Hit, shown: _Shown) -> str:
    """A passage as a card beside the sentence that cites it, its source on top."""
    rank, passage = shown.ranks[hit.id], hit.passage
    name = f"c{shown.position:d}-p{rank:d}"
    return (
        f'<div popover class="rl-card" id="{name}" role="dialog" aria-label="{t("Passage {rank:d}", rank=rank)}">'
        f'<button type="button" class="rl-close" popovertarget="{name}" popovertargetaction="hide" '
        f'aria-label="{t("Close passage {rank:d}", rank=rank)}">✕</button>'
        f'{_origin(passage)}<p class="rl-note">{_homes(passage)}</p><p class="rl-card-title"><b>{rank:d}</b> {escape(passage.full_title)} '
        f"{_label(hit, shown)}</p>{_text(hit, shown)}</div>"
    )


def _drawer(hit: rag_core.Hit, shown: _Shown) -> str:
    """The whole document over the page, open at the quoted sentence, with what to do at once still in front."""
    document, trace = shown.source(hit), shown.column.trace
    if document is None or trace is None:
        return ""
    name = escape(shown.drawer(hit))
    title = escape(document.title or document.id)
    quotes = shown.quotes(hit)
    notice = urgency.urgent_notice(trace.triage, country.numbers())
    urgent = f'<p class="rl-alarm">{escape(notice.title)} {escape(notice.action)}</p>' if notice else ""
    page = f'<a href="{_address(hit.passage, quotes, trace)}">{t("Open it on the page Documents")}</a>'
    return (
        f'<div popover class="rl-drawer" id="{name}" role="dialog" aria-label="{title}"><div class="rl-drawer-head">'
        f'<button type="button" class="rl-close" popovertarget="{name}" popovertargetaction="hide" '
        f'aria-label="{t("Close the document")}">✕</button>{urgent}'
        f'<p class="rl-card-title"><b>{title}</b></p><p class="rl-note">{page}</p></div>'
        f"{whole_document.at_quotes(document, quotes)}</div>"
    )


def _text(hit: rag_core.Hit, shown: _Shown) -> str:
    answer, trace, passage = shown.answer, shown.column.trace, hit.passage
    quotes = shown.quotes(hit)
    cited = [one for one in answer.citations if one.context_id == hit.id] if answer else []
    whole = _whole(hit, shown) if trace else ""
    orders = f'<p class="rl-orders">{escape(translated(GIVES_ORDERS))}</p>' if passage.gives_orders else ""
    return f'{orders}<div class="rl-text">{_marked(passage.text, shown.question, passage.language, tuple(quotes))}</div>{_doubts(cited)}{whole}'


def _asked(hit: rag_core.Hit, shown: _Shown) -> str:
    """The known question by which the passage was found, the nearest if several queries found it so."""
    votes = [vote for vote in hit.votes if vote.stage == Asked.__name__]
    if shown.blind or not votes:
        return ""
    nearest = max(votes, key=lambda vote: vote.score)
    return f'<span class="rl-origin">{t("asked as: {question}", question=escape(translated(nearest.note)))}</span>'


def _label(hit: rag_core.Hit, shown: _Shown) -> str:
    """How relevant the passage is; the rule behind it on hover, and in words where the passage is open."""
    if not (rule := _rule(hit, shown)):
        return ""
    if hit.relevance:
        css = f"rl-label rl-{escape(hit.relevance.label.lower())}"
        return tip(translated(hit.relevance.label), rule, css, stop=False)
    return tip(t("No label"), rule, "rl-label rl-unlabelled", stop=False)


def _rule(hit: rag_core.Hit, shown: _Shown) -> str:
    """The rule behind a label, or why a passage of a settled column has none; empty while hidden or still open."""
    if shown.blind or not (hit.relevance or shown.column.settled):
        return ""
    if hit.relevance:
        return translated(hit.relevance.rule)
    return translated(NO_LABEL if shown.answer else NOT_LABELLED_YET)


def _way(hit: rag_core.Hit, shown: _Shown) -> str:
    several = len({vote.query for vote in hit.votes} - {shown.question}) > 0
    votes = "".join(
        f"<tr><td>{escape(translated(stage_title(vote.stage)))}</td><td>#{vote.rank:d}</td><td>{_vote(vote, shown.ranks)}</td>"
        + (f'<td class="rl-query">{escape(vote.query)}</td>' if several else "")
        + "</tr>"
        for vote in hit.votes
    )
    reasons = "".join(
        f'<p class="rl-note"><b>{t("Reason given by the {scale}:", scale=translated(SCALES[vote.scale]))}</b> {escape(vote.note)}</p>'
        for vote in hit.votes
        if vote.note and vote.scale == "judge"
    )
    score = f"{translated(SCALES[hit.scale])} {hit.score:.3f}"
    return (
        f'{reasons}<p class="rl-note"><b>{score}.</b> {escape(translated(SCALE_HELP.get(hit.scale, "")))}</p>'
        f'<table class="rl-table rl-votes"><thead><tr><th>{t("Stage")}</th><th>{t("Rank")}</th><th>{t("Score")}</th>'
        f"{'<th>' + t('Query') + '</th>' if several else ''}</tr></thead><tbody>{votes}</tbody></table>"
    )


def _origin(passage: rag_core.Passage) -> str:
    """Organisation, year and jurisdiction of each source, and what to mind: another opinion, or age."""
    if not passage.sources:
        return ""
    differs = f' <span class="rl-mind">{t("guidance differs")}</span>' if passage.differs_from else ""
    years = t("{age:d} years old", age=age_years(passage.sources))
    old = f' <span class="rl-mind">{years}</span>' if is_old(passage.sources) else ""
    listed = " · ".join(dict.fromkeys(source.in_language(language()) for source in passage.sources))
    return f'<span class="rl-origin">{escape(listed)}{differs}{old}</span>'


def _homes(passage: rag_core.Passage) -> str:
    return "".join(
        f' <a href="{escape(home)}" target="_blank" rel="noopener noreferrer">{escape(name)} ↗</a>'
        for name, home in home_pages(passage.sources).items()
    )


def _difference(passage: rag_core.Passage, country: str) -> str:
    if not passage.differs_from:
        return ""
    leading = source_names(passage.leading(country), language())
    applies = t(" In the country you chose: {sources}.", sources=leading) if leading else ""
    return f'<p class="rl-note rl-strong">{escape(passage.difference_in(language()) + applies)}</p>'


def _vote(vote: rag_core.Vote, ranks: Mapping[str, int]) -> str:
    score = f"{translated(SCALES[vote.scale])} {vote.score:.4f}"
    if not vote.terms:
        return score
    summands = []
    for term in vote.terms:
        sign = "−" if term.weight < 0 else "+"
        other = t(" to #{rank:d}", rank=ranks[term.passage]) if term.passage in ranks else ""
        summands.append(f"{sign} {abs(term.weight):.2f} · {escape(summand(term.name))}{other} {term.value:.4f}")
    weight = f"{WEIGHTS[vote.scale]} = {vote.terms[0].weight:g}" if vote.scale in WEIGHTS else ""
    return f"{score}<br><small>= {' '.join(summands).removeprefix('+ ')}<br>{weight}</small>"


def _whole(hit: rag_core.Hit, shown: _Shown) -> str:
    """The way to the whole document: a drawer at the sentences that the answer rests on, or else its page."""
    words = t("Read it in the whole document")
    if shown.source(hit):
        way = f'<button type="button" class="rl-open" popovertarget="{escape(shown.drawer(hit))}">{words}</button>'
    else:
        assert shown.column.trace is not None  # only a finished column has ways to documents
        way = f'<a href="{_address(hit.passage, shown.quotes(hit), shown.column.trace)}">{words}</a>'
    return f'<p class="rl-note">{way}</p>'


def _address(passage: rag_core.Passage, quotes: Sequence[str], trace: rag_core.Trace) -> str:
    """The page of a document, with the same sentences highlighted, and what to do at once on it too."""
    place = {"corpus": corpora.title(trace.corpus)} if trace.corpus != BUILTIN else {}
    if trace.triage.urgent:
        place |= {"asked": trace.question, "country": trace.country}
    return "documents?" + escape(
        urllib.parse.urlencode({**place, "document": passage.doc_id, "quote": quotes[:MOST_QUOTES]}, doseq=True)
    )


def _doubts(cited: Sequence[rag_core.Citation]) -> str:
    notes = dict.fromkeys(
        t(
            "<b>Unclear citation.</b> The answer cites this passage, but it is not clear whether the passage supports it."
        )
        if one.supported is None
        else t(
            "<b>Unsupported citation.</b> The answer cites this passage, but the passage does not support it. The "
            "closest sentence is “{quote}”",
            quote=escape(one.quote),
        )
        for one in cited
        if not one.supported
    )
    return "".join(f'<p class="rl-note">{note}</p>' for note in notes)


@functools.lru_cache(maxsize=500)  # a line and a card show the same, and so does every move of a slider
def _marked(text: str, question: str, language: str, quotes: tuple[str, ...]) -> str:
    return with_lists(highlight(text, question, language, quotes))
