"""Values drawn as HTML. Everything that comes from a question, document or model is escaped here.

Citations are plain links to their passage: the browser opens the folded passage by itself.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

import rag_core
from pages.shared.live import Column

SCALES = {
    "cosine": "cosine",
    "bm25": "BM25",
    "rrf": "RRF",
    "weighted_cosine": "weighted cosine",
    "cross_encoder": "cross-encoder",
    "offline_scorer": "offline scorer",
    "judge": "judge",
    "s_final": "S_final",
}
SCALE_HELP = {
    "cosine": "Cosine similarity of question and passage: 1 is the same direction, 0 unrelated.",
    "bm25": "BM25: grows with every shared rare word, has no upper end; compare only within one list.",
    "rrf": "Reciprocal rank fusion: Σ 1 / (k + rank) over the lists that found the passage; "
    "it orders passages and says nothing about how relevant they are.",
    "weighted_cosine": "Cosine of the passage and a rewrite, times the rewrite's weight, combined over the rewrites "
    "that found it.",
    "cross_encoder": "A cross-encoder's reading of query and passage together; compare only within one list.",
    "offline_scorer": "The offline scorer's measure of query and passage: no cross-encoder, no language model.",
    "judge": "The judge's score of question and passage, 0 to 1.",
    "s_final": "S_final = α · cosine + (1 − α) · judge, compared with θ.",
}


WAITING = {
    "Write": "Writing the answer…",
    "Rewrite": "Rewriting the question…",
    "Rephrase": "Rewriting the question…",
    "Hypothesise": "Writing a passage that might answer…",
    "Rescore": "Reranking the passages…",
    "Judge": "Judging the passages…",
}


def engine_badge(engine: Mapping[str, str | None] | None, state: str, error: rag_core.RagError | None) -> str:
    """The line that says which models answer, and that this is no medical advice."""
    kind, role = "", "status"
    if error:
        kind, role = " rl-bad", "alert"
        body = f"<span><b>Not ready.</b> {escape(str(error))}</span>"
    elif engine is None:
        body = f'<span class="rl-spin"></span><span>Warming up: {escape(state)}</span>'
    else:
        offline = str(engine["llm"]).startswith("offline")
        answers = "offline engine: no language model" if offline else str(engine["llm"])
        body = (
            f'<span class="rl-dot"></span><span>Answers: <b>{escape(answers)}</b> · embeddings: '
            f"{escape(str(engine['embedding']))} · index: {escape(str(engine['index']))}</span>"
        )
    return (
        f'<div class="rl-engine{kind}" role="{role}">{body}<span class="rl-advice">A demonstration, not medical '
        "advice. In an emergency call your local emergency number.</span></div>"
    )


def asked(question: str) -> str:
    """The question that the results below belong to."""
    return f'<p class="rl-question"><b>Results for:</b> {escape(question)}</p>'


def progress(column: Column, *, changed: bool) -> str:
    """The column's stages, each done, running or to come."""
    parts = []
    for position, stage in enumerate(column.strategy.stages):
        name = escape(stage.name)
        if position < len(column.steps):
            step = column.steps[position]
            how = "kept from before" if step.reused else _seconds(step.seconds)
            parts.append(f'<li class="rl-done">✓ {name} <small>{how}</small></li>')
        elif column.error and position == len(column.steps):
            parts.append(f'<li class="rl-failed">✕ {name}</li>')
        elif column.stopped:
            parts.append(f'<li class="rl-todo">{name}</li>')
        elif column.running and position == len(column.steps):
            parts.append(f'<li class="rl-now"><span class="rl-spin"></span> {name}</li>')
        else:
            parts.append(f'<li class="rl-todo">{name}</li>')
    badge = '<span class="rl-changed">settings changed</span>' if changed else ""
    return f'{badge}<ol class="rl-stages">{"".join(parts)}</ol>'


def answer(column: Column, position: int, engine_state: str) -> str:
    """The answer as far as it has come, the abstention, the failure, or that it was stopped."""
    if column.error:
        return (
            f'<div class="rl-box rl-bad" role="alert"><b>This strategy failed.</b> {escape(column.error.message)}'
            f"<br>{escape(column.error.next_step)}{_spent(column.error)}</div>"
        )
    done = column.trace.answer if column.trace else None
    if done and done.abstained:
        return f'<div class="rl-box rl-thin"><b>{escape(done.text)}</b><br>{escape(done.reason)}</div>'
    if done:
        return f'<div class="rl-answer">{_cited(done.text, position)}</div>'
    stopped = (
        '<div class="rl-box rl-thin"><b>Stopped.</b> What had finished is kept.</div>'
        if column.stopped
        else ""
    )
    if column.text:
        return f'<div class="rl-answer rl-live">{escape(column.text)}</div>{stopped}'
    if column.steps or column.running or engine_state == "ready":
        waiting = WAITING.get(column.running, "Looking for passages…")
    else:
        waiting = f"The engine is warming up ({engine_state}); this question is next."
    return stopped or f'<div class="rl-wait">{escape(waiting)}</div>'


def _spent(error: rag_core.RagError) -> str:
    """What a failed run had sent before it failed."""
    calls = error.calls if isinstance(error, rag_core.StageError) else ()
    if not any(call.cost_usd != 0 for call in calls):
        return ""
    return f"<br><small>Sent before that: {len(calls)} calls, {_dollars(calls)}.</small>"


def rewrites(column: Column) -> str:
    """The queries a strategy wrote; empty when it searched with the question itself."""
    if not column.steps:
        return ""
    queries = column.steps[-1].after.queries
    analysed = next(
        (query.note for step in column.steps if step.stage == "Analyse" for query in step.after.queries), ""
    )
    decided = f'<p class="rl-note">Query analysis: {escape(analysed)}.</p>' if analysed else ""
    if all(query.origin == "question" for query in queries):
        return decided
    found = _found(column)
    rows = "".join(_rewrite(query, found) for query in queries)
    return f'<div class="rl-rewrites"><b>Searched with</b>{decided}<ul>{rows}</ul></div>'


def _rewrite(query: rag_core.Query, found: Mapping[str, set[str]]) -> str:
    """A query with its weight, what it found, and what only it found."""
    mine = found.get(query.text, set())
    others = {one for text, ids in found.items() if text != query.text for one in ids}
    parts = [f"weight {query.weight:g}"] if query.weight != 1 else []
    if mine:
        parts.append(
            f"{len(mine)} passages" + (f", {len(mine - others)} only it found" if len(found) > 1 else "")
        )
    lost = f' <small class="rl-lost">{escape(query.note)}</small>' if query.note.startswith("lost") else ""
    beside = " <small>averaged with the question</small>" if query.beside else ""
    return (
        f"<li><b>{escape(query.origin)}</b>{beside} <small>{escape(' · '.join(parts))}</small>{lost}"
        f"<br>{escape(query.text)}</li>"
    )


def _found(column: Column) -> dict[str, set[str]]:
    """Query text -> ids of the passages its search returned."""
    searched = next((step for step in column.steps if step.kind == "retrieve"), None)
    found: dict[str, set[str]] = {}
    for ranking in searched.after.rankings if searched else ():
        found.setdefault(ranking.query.text, set()).update(hit.id for hit in ranking)
    return found


def warnings(column: Column) -> str:
    """What the strategy wants the reader to know."""
    notes = [note for step in column.steps for note in step.warnings]
    return "".join(f'<p class="rl-box rl-thin">{escape(note)}</p>' for note in notes)


def passages(column: Column, position: int, question: str) -> str:
    """The ranked passages, folded; the question's words marked, quoted sentences underlined."""
    ranking = column.ranking
    if ranking is None:
        return ""
    if not ranking.hits:
        return '<p class="rl-none">No passage was found.</p>'
    quotes: dict[str, list[str]] = {}
    if column.trace and column.trace.answer:
        for citation in column.trace.answer.citations:
            quotes.setdefault(citation.context_id, []).append(citation.quote)
    rows = [
        _passage(hit, rank, f"c{position}-p{rank}", question, quotes.get(hit.id, []))
        for rank, hit in enumerate(ranking, start=1)
    ]
    return f'<div class="rl-passages"><b>{len(rows)} passages</b>{"".join(rows)}</div>'


def shared(columns: Sequence[Column]) -> str:
    """Which passages which strategies found, with their ranks; those found by most first."""
    ranks: dict[str, dict[int, int]] = {}
    titles: dict[str, str] = {}
    for position, column in enumerate(columns):
        for rank, hit in enumerate(column.trace.ranking if column.trace else (), start=1):
            ranks.setdefault(hit.id, {})[position] = rank
            titles[hit.id] = hit.passage.full_title
    order = sorted(ranks, key=lambda name: (-len(ranks[name]), min(ranks[name].values()), name))
    head = "".join(f"<th>{escape(_title(column))}</th>" for column in columns)
    body = "".join(
        f"<tr><td>{escape(titles[name])}</td>"
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


def bill(trace: rag_core.Trace) -> str:
    """Time, tokens and cost of every stage, and where the numbers come from."""
    rows = "".join(
        f"<tr><td>{escape(step.stage)}{' <small>kept</small>' if step.reused else ''}</td>"
        f"<td>{_seconds(step.seconds)}</td>{_tokens(step.calls)}<td>{_dollars(step.calls)}</td></tr>"
        for step in trace.steps
    )
    total = (
        f"<tr class='rl-total'><td>total</td><td>{_seconds(trace.seconds)}</td>{_tokens(trace.calls)}"
        f"<td>{_dollars(trace.calls)}</td></tr>"
    )
    counted = sorted({call.counted_by for call in trace.calls})
    note = f"<p class='rl-note'>Tokens counted by: {escape(', '.join(counted) or 'nobody, no model was called')}.</p>"
    return (
        '<div class="rl-scroll"><table class="rl-table"><thead><tr><th>Stage</th><th>Time</th><th>Tokens in</th>'
        f"<th>out</th><th>Cost</th></tr></thead><tbody>{rows}{total}</tbody></table></div>{note}"
    )


def cost_note(traces: Sequence[rag_core.Trace]) -> str:
    """What the comparison cost altogether; calls that strategies shared are counted once."""
    calls = tuple({id(call): call for trace in traces for call in trace.calls}.values())
    total = rag_core.total_cost(calls)
    if total is None:
        return "Cost: n/a, because the price of a model is not in data/prices.toml."
    if not total:
        return "Cost: $0, everything ran on this machine."
    return f"Cost of this comparison: ${total:.6f}; calls the strategies shared are counted once."


def _passage(hit: rag_core.Hit, rank: int, anchor: str, question: str, quotes: Iterable[str]) -> str:
    passage = hit.passage
    label = ""
    if hit.relevance:
        label = tip(hit.relevance.label, hit.relevance.rule, f"rl-label rl-{hit.relevance.label.lower()}")
    score = tip(f"{SCALES[hit.scale]} {hit.score:.3f}", SCALE_HELP.get(hit.scale, ""), "rl-score")
    several = len({vote.query for vote in hit.votes} - {question}) > 0
    votes = "".join(
        f"<tr><td>{escape(vote.stage)}</td><td>#{vote.rank}</td><td>{vote.score:.4f}</td>"
        + (f'<td class="rl-query">{escape(vote.query)}</td>' if several else "")
        + "</tr>"
        for vote in hit.votes
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
        f'<div class="rl-body" id="{anchor}" tabindex="-1"><p class="rl-text">'
        f"{_marked(passage, question, quotes)}</p>{context}{source}"
        f'<p class="rl-note">Passage {escape(hit.id)}, in {escape(passage.language)}</p>'
        f'<table class="rl-table rl-votes"><thead><tr><th>Stage</th><th>Rank</th><th>Score there</th>'
        f"{'<th>Query</th>' if several else ''}</tr></thead>"
        f"<tbody>{votes}</tbody></table></div></details>"
    )


def tip(text: str, explanation: str, css: str) -> str:
    """A word with an explanation on hover and on focus."""
    return (
        f'<span class="rl-tip {css}" tabindex="0">{escape(text)}'
        f'<span role="tooltip">{escape(explanation)}</span></span>'
    )


def _cited(text: str, position: int) -> str:
    return re.sub(
        r"\[(\d+)\]",
        lambda match: (
            f'<a class="rl-cite" href="#c{position}-p{match[1]}" '
            f'aria-label="Open passage {match[1]}">{match[1]}</a>'
        ),
        escape(text),
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


def _title(column: Column) -> str:
    return rag_core.RECIPES[column.strategy.name].title


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.1f} ms"


def _tokens(calls: Sequence[rag_core.ModelCall]) -> str:
    sent, received = sum(call.input_tokens for call in calls), sum(call.output_tokens for call in calls)
    return f"<td>{sent:,}</td><td>{received:,}</td>" if calls else "<td>–</td><td>–</td>"


def _dollars(calls: Sequence[rag_core.ModelCall]) -> str:
    if not calls:
        return "–"
    cost = rag_core.total_cost(tuple(calls))
    return "n/a" if cost is None else f"${cost:.6f}" if cost else "$0"
