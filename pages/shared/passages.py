"""Ranked passages drawn as HTML, each with its label, score and path through the stages."""

from __future__ import annotations

import textwrap
import urllib.parse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import rag_core
from pages.shared.foreign import escape
from pages.shared.live import Column

SCALES = {
    "cosine": "cosine",
    "bm25": "BM25",
    "rrf": "RRF",
    "weighted_cosine": "weighted cosine",
    "mmr": "MMR",
    "cross_encoder": "cross-encoder",
    "offline_scorer": "offline scorer",
    "judge": "judge",
    "s_final": "S_final",
    "external": "external",
    "postprocessor": "postprocessor",
}
SCALE_HELP = {
    "cosine": "Cosine similarity of question and passage embeddings: 1 is the same direction, 0 is unrelated.",
    "bm25": "BM25: higher when question and passage share rarer words; no upper limit. Compare only within one list.",
    "rrf": "Reciprocal rank fusion: Σ 1 / (k + rank) over the lists that contain the passage. "
    "It orders passages; it does not say how relevant they are.",
    "weighted_cosine": "Cosine of passage and rewrite times the rewrite's weight, combined over the rewrites "
    "that found the passage.",
    "mmr": "Maximal marginal relevance: λ · cosine to the question − (1 − λ) · cosine to the most "
    "similar passage above it. The first passage has none above it.",
    "cross_encoder": "A cross-encoder's score for query and passage, read together. Compare only within one list.",
    "offline_scorer": "The offline scorer's score for query and passage; no cross-encoder or language model is involved.",
    "judge": "The judge's relevance score for the passage, 0 to 1.",
    "s_final": "S_final = α · cosine + (1 − α) · judge, compared with the threshold θ.",
}

WEIGHTS = {"s_final": "α", "mmr": "λ"}  # symbol for the weight of the first term
MOST_QUOTES = 5  # in the address of a document
FIRST_WORDS = 60  # characters shown to tell passages with the same title apart
NO_LABEL = (
    "No relevance label: the model that scored this passage has no calibrated thresholds, or time ran out. "
    "This says nothing about the passage itself. The notes on this strategy give the reason."
)


def passages(column: Column, position: int, question: str) -> str:
    """The ranked passages, collapsed; the question's words highlighted, quoted sentences underlined.

    Candidates still to be reranked or cut are only counted; space is reserved for the final passages.
    """
    final: int = column.strategy.controls.get("k_final", 5)
    if not (column.ranked or column.settled):
        found = column.candidates
        coming = f"{found:,} candidates, to be narrowed down to {final:,}" if found else "Passages"
        rows = '<div class="rl-coming"></div>' * final
        return f'<div class="rl-passages"><b>{coming}</b>{rows}</div>'
    ranking = column.ranking
    if ranking is None:
        return ""
    if not ranking.hits:
        return '<p class="rl-none">No passages found.</p>'
    cited: dict[str, list[rag_core.Citation]] = {}
    answer = column.trace.answer if column.trace else None
    for citation in answer.citations if answer else ():
        cited.setdefault(citation.context_id, []).append(citation)
    corpus = _corpus(column.trace) if column.trace else ""
    hits = ranking.hits if column.ranked else ranking.hits[:final]
    ranks = {hit.id: rank for rank, hit in enumerate(hits, start=1)}
    rows = "".join(
        _passage(
            hit,
            ranks,
            position,
            question,
            cited.get(hit.id, []),
            _quotes(answer, ranks[hit.id]) if answer else (),
            done=bool(column.trace),
            corpus=corpus,
            country=column.trace.country if column.trace else "",
        )
        for hit in hits
    )
    head = f"{len(hits)} passages"
    if len(hits) < len(ranking):
        head = f"The first {len(hits)} of {len(ranking)} candidates, before {column.unfinished}"
    order = f"ordered by {SCALES[hits[0].scale]}"
    return f'<div class="rl-passages"><b>{escape(head)}</b> <small>{order}</small>{rows}</div>'


def shared(columns: Sequence[Column]) -> str:
    """A table of the passages and their rank in each strategy, the most widely found first."""
    rows = rag_core.shared_passages([column.trace.ranking if column.trace else None for column in columns])
    titles = Counter(row.passage.full_title for row in rows)
    head = "".join(
        f'<th class="rl-rank">{escape(rag_core.describe(column.strategy))}</th>' for column in columns
    )
    body = "".join(
        f"<tr><td>{_title(row.passage, titles)}</td>"
        + "".join(
            f'<td class="rl-rank"><a href="#c{position}-p{row.ranks[position]:d}">#{row.ranks[position]:d}</a></td>'
            if position in row.ranks
            else '<td class="rl-rank rl-absent">–</td>'
            for position in range(len(columns))
        )
        + "</tr>"
        for row in rows
    )
    return (
        '<div class="rl-scroll"><table class="rl-table"><thead><tr><th>Passage</th>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _title(passage: rag_core.Passage, titles: Mapping[str, int]) -> str:
    """A passage's title, with its first words where another passage has the same title."""
    title = escape(passage.full_title)
    if titles[passage.full_title] < 2:
        return title
    return f"{title} <small>“{escape(textwrap.shorten(passage.text, FIRST_WORDS, placeholder='…'))}”</small>"


def _passage(
    hit: rag_core.Hit,
    ranks: Mapping[str, int],
    position: int,
    question: str,
    cited: Sequence[rag_core.Citation],
    quotes: Sequence[str],
    *,
    done: bool,
    corpus: str,
    country: str,
) -> str:
    passage, rank = hit.passage, ranks[hit.id]
    label = ""
    if hit.relevance:
        label = tip(
            hit.relevance.label, hit.relevance.rule, f"rl-label rl-{escape(hit.relevance.label.lower())}"
        )
    elif done:
        label = tip("No label", NO_LABEL, "rl-label rl-unlabelled")
    score = tip(f"{SCALES[hit.scale]} {hit.score:.3f}", SCALE_HELP.get(hit.scale, ""), "rl-score")
    several = len({vote.query for vote in hit.votes} - {question}) > 0
    votes = "".join(
        f"<tr><td>{escape(vote.stage)}</td><td>#{vote.rank:d}</td><td>{_vote(vote, ranks)}</td>"
        + (f'<td class="rl-query">{escape(vote.query)}</td>' if several else "")
        + "</tr>"
        for vote in hit.votes
    )
    reasons = "".join(
        f'<p class="rl-note"><b>Reason given by the {SCALES[vote.scale]}:</b> {escape(vote.note)}</p>'
        for vote in hit.votes
        if vote.note
    )
    context = (
        f'<p class="rl-note">Context added for indexing: {escape(passage.context)}</p>'
        if passage.context
        else ""
    )
    source = f'<p class="rl-note">Source: {escape(passage.source)}.</p>' if passage.source else ""
    orders = ordered = ""
    if passage.gives_orders:
        orders = f'<p class="rl-orders">{escape(rag_core.GIVES_ORDERS)}</p>'
        ordered = ' <small class="rl-ordered">gives orders to a model</small>'
    if note := rag_core.age_note(passage.sources):
        source += f'<p class="rl-note rl-strong">{escape(note)}</p>'
    return (
        f'<details class="rl-passage"><summary><span class="rl-n">{rank:d}</span>{label}{score}'
        f'<span class="rl-title">{escape(passage.full_title)}{ordered}</span>{_origin(passage)}</summary>'
        f'<div class="rl-body" id="c{position}-p{rank:d}" tabindex="-1">{orders}<p class="rl-text">'
        f"{_marked(passage, question, quotes)}</p>"
        f"{_doubts(cited)}{_whole(passage, quotes, corpus) if corpus else ''}{context}{source}{_difference(passage, country)}"
        f'<p class="rl-note">Passage {escape(hit.id)}, language {escape(passage.language)}</p>{reasons}'
        f'<table class="rl-table rl-votes"><thead><tr><th>Stage</th><th>Rank</th><th>Score</th>'
        f"{'<th>Query</th>' if several else ''}</tr></thead>"
        f"<tbody>{votes}</tbody></table></div></details>"
    )


def _origin(passage: rag_core.Passage) -> str:
    """Organisation, year and jurisdiction of each source, and what to mind: another opinion, or age."""
    if not passage.sources:
        return ""
    differs = ' <span class="rl-mind">guidance differs</span>' if passage.differs_from else ""
    age = rag_core.age_years(passage.sources)
    old = f' <span class="rl-mind">{age:d} years old</span>' if rag_core.is_old(passage.sources) else ""
    listed = " · ".join(dict.fromkeys(source.short for source in passage.sources))
    return f'<span class="rl-origin">{escape(listed)}{differs}{old}</span>'


def _difference(passage: rag_core.Passage, country: str) -> str:
    """Both sides where guidance differs, and which one applies in the country that was chosen."""
    if not passage.differs_from:
        return ""
    leading = rag_core.source_names(passage.leading(country))
    applies = f" In the country you chose: {leading}." if leading else ""
    return f'<p class="rl-note rl-strong">{escape(passage.difference + applies)}</p>'


def _vote(vote: rag_core.Vote, ranks: Mapping[str, int]) -> str:
    """A score with its scale; a weighted sum with its terms."""
    score = f"{SCALES[vote.scale]} {vote.score:.4f}"
    if not vote.terms:
        return score
    summands = []
    for term in vote.terms:
        sign = "−" if term.weight < 0 else "+"
        other = f" to #{ranks[term.passage]:d}" if term.passage in ranks else ""
        summands.append(f"{sign} {abs(term.weight):.2f} · {escape(term.name)}{other} {term.value:.4f}")
    weight = f"{WEIGHTS[vote.scale]} = {vote.terms[0].weight:g}" if vote.scale in WEIGHTS else ""
    return f"{score}<br><small>= {' '.join(summands).removeprefix('+ ')}<br>{weight}</small>"


def _quotes(answer: rag_core.Answer, n: int) -> list[str]:
    """The sentences of passage `n` that the answer rests on: those of its citations, and those behind its sentences."""
    cited = [one.quote for one in answer.citations if one.n == n and one.supported]
    behind = [quote for one in answer.sentences if one.n == n and one.by for quote in one.quote]
    return list(dict.fromkeys((*cited, *behind)))


def _corpus(trace: rag_core.Trace) -> str:
    """The corpus that its passages are from."""
    return str(trace.engine.get("index")).partition(",")[0]


def _whole(passage: rag_core.Passage, quotes: Sequence[str], corpus: str) -> str:
    """A link to the whole document, with the same sentences highlighted."""
    place = {"corpus": corpus} if corpus != rag_core.BUILTIN else {}
    address = urllib.parse.urlencode(
        {**place, "document": passage.doc_id, "quote": quotes[:MOST_QUOTES]}, doseq=True
    )
    return f'<p class="rl-note"><a href="documents?{escape(address)}">Read it in the whole document</a></p>'


def _doubts(cited: Sequence[rag_core.Citation]) -> str:
    """Notes on the citations of this passage that are unsupported or unclear."""
    notes = dict.fromkeys(
        "<b>Unclear citation.</b> The answer cites this passage, but it is not clear whether the passage supports it."
        if one.supported is None
        else "<b>Unsupported citation.</b> The answer cites this passage, but the passage does not support it. The "
        f"closest sentence is “{escape(one.quote)}”"
        for one in cited
        if not one.supported
    )
    return "".join(f'<p class="rl-note">{note}</p>' for note in notes)


def tip(text: str, explanation: str, css: str) -> str:
    """A word that shows an explanation on hover and on focus."""
    return (
        f'<span class="rl-tip {css}" tabindex="0">{escape(text)}'
        f'<span role="tooltip">{escape(explanation)}</span></span>'
    )


def _marked(passage: rag_core.Passage, question: str, quotes: Iterable[str]) -> str:
    """The passage's text with <mark> on the question's words and <u> on quoted sentences."""
    parts = []
    for segment in rag_core.highlight(passage.text, question, passage.language, quotes):
        piece = escape(segment.text)
        if segment.matched:
            piece = f"<mark>{piece}</mark>"
        if segment.quoted:
            piece = f"<u>{piece}</u>"
        parts.append(piece)
    return "".join(parts)
