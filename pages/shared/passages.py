"""Ranked passages drawn as HTML: each with its label, score and way through the stages."""

from __future__ import annotations

import itertools
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape

import rag_core
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
    "cosine": "Cosine similarity of question and passage: 1 is the same direction, 0 unrelated.",
    "bm25": "BM25: grows with every shared rare word, has no upper end; compare only within one list.",
    "rrf": "Reciprocal rank fusion: Σ 1 / (k + rank) over the lists that found the passage; "
    "it orders passages and says nothing about how relevant they are.",
    "weighted_cosine": "Cosine of the passage and a rewrite, times the rewrite's weight, combined over the rewrites "
    "that found it.",
    "mmr": "Maximal marginal relevance: λ · cosine to the question − (1 − λ) · cosine to the passage above that "
    "it is most like; the first passage has nothing to be compared with.",
    "cross_encoder": "A cross-encoder's reading of query and passage together; compare only within one list.",
    "offline_scorer": "The offline scorer's measure of query and passage: no cross-encoder, no language model.",
    "judge": "The judge's score of question and passage, 0 to 1.",
    "s_final": "S_final = α · cosine + (1 − α) · judge, compared with θ.",
}

WEIGHTS = {"s_final": "α", "mmr": "λ"}  # what the weight of a sum's first term is called
FIRST_WORDS = 60  # characters that tell passages of one title apart
NO_LABEL = (
    "No relevance label: no score of this passage was calibrated for the model that gave it, or there was no time. "
    "It says nothing about the passage. The notes on this strategy name the reason."
)


def passages(column: Column, position: int, question: str) -> str:
    """The ranked passages, folded; the question's words marked, supporting sentences underlined.

    Candidates still to be reranked or cut are only counted, in the room the final passages will need.
    """
    final: int = column.strategy.controls.get("k_final", 5)
    if not (column.ranked or column.settled):
        found = column.candidates
        head = f"{found} candidates, to be narrowed down to {final}" if found else "Passages"
        rows = '<div class="rl-coming"></div>' * final
        return f'<div class="rl-passages"><b>{head}</b>{rows}</div>'
    ranking = column.ranking
    if ranking is None:
        return ""
    if not ranking.hits:
        return '<p class="rl-none">No passage was found.</p>'
    cited: dict[str, list[rag_core.Citation]] = {}
    if column.trace and column.trace.answer:
        for citation in column.trace.answer.citations:
            cited.setdefault(citation.context_id, []).append(citation)
    hits = ranking.hits if column.ranked else ranking.hits[:final]
    ranks = {hit.id: rank for rank, hit in enumerate(hits, start=1)}
    rows = "".join(
        _passage(hit, ranks, position, question, cited.get(hit.id, []), done=bool(column.trace))
        for hit in hits
    )
    head = f"{len(hits)} passages"
    if len(hits) < len(ranking):
        head = f"The first {len(hits)} of {len(ranking)} candidates, before {column.unfinished}"
    order = f"ordered by {SCALES[hits[0].scale]}"
    return f'<div class="rl-passages"><b>{escape(head)}</b> <small>{order}</small>{rows}</div>'


def shared(columns: Sequence[Column]) -> str:
    """Which passages which strategies found, with their ranks; those found by most first."""
    ranks: dict[str, dict[int, int]] = {}
    found: dict[str, rag_core.Passage] = {}
    for position, column in enumerate(columns):
        for rank, hit in enumerate(column.trace.ranking if column.trace else (), start=1):
            ranks.setdefault(hit.id, {})[position] = rank
            found[hit.id] = hit.passage
    order = sorted(ranks, key=lambda name: (-len(ranks[name]), min(ranks[name].values()), name))
    titles = Counter(passage.full_title for passage in found.values())
    head = "".join(
        f'<th class="rl-rank">{escape(rag_core.describe(column.strategy))}</th>' for column in columns
    )
    body = "".join(
        f"<tr><td>{_named(found[name], titles)}</td>"
        + "".join(
            f'<td class="rl-rank"><a href="#c{position}-p{ranks[name][position]}">#{ranks[name][position]}</a></td>'
            if position in ranks[name]
            else '<td class="rl-rank rl-absent">–</td>'
            for position in range(len(columns))
        )
        + "</tr>"
        for name in order
    )
    return (
        '<div class="rl-scroll"><table class="rl-table"><thead><tr><th>Passage</th>'
        f"{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _named(passage: rag_core.Passage, titles: Mapping[str, int]) -> str:
    """A passage's title, and its first words where another passage has the same title."""
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
    *,
    done: bool,
) -> str:
    passage, rank = hit.passage, ranks[hit.id]
    label = ""
    if hit.relevance:
        label = tip(hit.relevance.label, hit.relevance.rule, f"rl-label rl-{hit.relevance.label.lower()}")
    elif done:
        label = tip("No label", NO_LABEL, "rl-label rl-unlabelled")
    score = tip(f"{SCALES[hit.scale]} {hit.score:.3f}", SCALE_HELP.get(hit.scale, ""), "rl-score")
    several = len({vote.query for vote in hit.votes} - {question}) > 0
    votes = "".join(
        f"<tr><td>{escape(vote.stage)}</td><td>#{vote.rank}</td><td>{_vote(vote, ranks)}</td>"
        + (f'<td class="rl-query">{escape(vote.query)}</td>' if several else "")
        + "</tr>"
        for vote in hit.votes
    )
    reasons = "".join(
        f'<p class="rl-note"><b>Reason the {SCALES[vote.scale]} gave:</b> {escape(vote.note)}</p>'
        for vote in hit.votes
        if vote.note
    )
    context = f'<p class="rl-note">Indexed with: {escape(passage.context)}</p>' if passage.context else ""
    source = (
        f'<p class="rl-note">Sources named by the document: {escape(passage.source)}.</p>'
        if passage.source
        else ""
    )
    return (
        f'<details class="rl-passage"><summary><span class="rl-n">{rank}</span>{label}{score}'
        f'<span class="rl-title">{escape(passage.full_title)}</span></summary>'
        f'<div class="rl-body" id="c{position}-p{rank}" tabindex="-1"><p class="rl-text">'
        f"{_marked(passage, question, [one.quote for one in cited if one.supported])}</p>"
        f"{_doubts(cited)}{context}{source}"
        f'<p class="rl-note">Passage {escape(hit.id)}, in {escape(passage.language)}</p>{reasons}'
        f'<table class="rl-table rl-votes"><thead><tr><th>Stage</th><th>Rank</th><th>Score there</th>'
        f"{'<th>Query</th>' if several else ''}</tr></thead>"
        f"<tbody>{votes}</tbody></table></div></details>"
    )


def _vote(vote: rag_core.Vote, ranks: Mapping[str, int]) -> str:
    """A score with its scale; that of a weighted sum with the sum."""
    score = f"{SCALES[vote.scale]} {vote.score:.4f}"
    if not vote.terms:
        return score
    summands = []
    for term in vote.terms:
        sign = "−" if term.weight < 0 else "+"
        other = f" to #{ranks[term.passage]}" if term.passage in ranks else ""
        summands.append(f"{sign} {abs(term.weight):.2f} · {escape(term.name)}{other} {term.value:.4f}")
    weight = f"{WEIGHTS[vote.scale]} = {vote.terms[0].weight:g}" if vote.scale in WEIGHTS else ""
    return f"{score}<br><small>= {' '.join(summands).removeprefix('+ ')}<br>{weight}</small>"


def _doubts(cited: Sequence[rag_core.Citation]) -> str:
    """What the reader should know of citations of this passage that no words support."""
    notes = dict.fromkeys(
        "<b>Citation not checked.</b> The answer cites this passage; words cannot tell whether it supports the answer."
        if one.supported is None
        else "<b>Unsupported citation.</b> The answer cites this passage, but no sentence of it shares enough words "
        f"with the answer. The closest is “{escape(one.quote)}”"
        for one in cited
        if not one.supported
    )
    return "".join(f'<p class="rl-note">{note}</p>' for note in notes)


def tip(text: str, explanation: str, css: str) -> str:
    """A word with an explanation on hover and on focus."""
    return (
        f'<span class="rl-tip {css}" tabindex="0">{escape(text)}'
        f'<span role="tooltip">{escape(explanation)}</span></span>'
    )


def _marked(passage: rag_core.Passage, question: str, quotes: Iterable[str]) -> str:
    """The passage's text with <mark> on the question's words and <u> on quoted sentences."""
    text = passage.text
    words = rag_core.matches(text, question, passage.language)
    sentences = [
        match.span()
        for quote in quotes
        if (match := re.search(r"\s+".join(map(re.escape, quote.split())), text)) and quote
    ]
    cuts = sorted({0, len(text), *(edge for span in (*words, *sentences) for edge in span)})
    parts = []
    for start, end in itertools.pairwise(cuts):
        piece = escape(text[start:end])
        if _inside(start, words):
            piece = f"<mark>{piece}</mark>"
        if _inside(start, sentences):
            piece = f"<u>{piece}</u>"
        parts.append(piece)
    return "".join(parts)


def _inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)
