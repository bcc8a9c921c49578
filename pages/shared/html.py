"""A column of the Compare page drawn as HTML. Everything from a question, document or model is escaped.

Citations are plain links to their passage: the browser opens the folded passage by itself.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from html import escape

import rag_core
from pages.shared.bills import seconds
from pages.shared.live import Column

ROOM = '<small class="rl-room" aria-hidden="true">{}</small>'
WAITING = {
    "AnalyseQueryByLlm": "Analysing the question…",
    "Generate": "Writing the answer…",
    "Rewrite": "Rewriting the question…",
    "Rephrase": "Rewriting the question…",
    "Hyde": "Writing a passage that might answer…",
    "Rerank": "Reranking the passages…",
    "LlmRerank": "Judging the passages…",
}
VERDICTS = {True: "", False: "unsupported", None: "not checked"}  # of a citation


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
    """The column's stages, each done, running or to come; a mark and a time to come have their room already."""
    parts = []
    for position, stage in enumerate(column.strategy.stages):
        state, mark, time = "todo", ROOM.format("✓"), ROOM.format("0.00 s")
        if position < len(column.steps):
            step = column.steps[position]
            took = "kept from before" if step.reused else seconds(step.seconds)
            state, mark, time = "done", "✓", f"<small>{took}</small>"
        elif position == len(column.steps) and column.error:
            state, mark = "failed", "✕"
        elif position == len(column.steps) and column.running:
            state, mark = "now", '<span class="rl-spin"></span>'
        parts.append(f'<li class="rl-{state}">{mark} {escape(stage.name)} {time}</li>')
    badge = '<span class="rl-changed">settings changed</span>' if changed else ""
    return f'{badge}<ol class="rl-stages">{"".join(parts)}</ol>'


def answer(column: Column, position: int, engine_state: str) -> str:
    """The answer as far as it has come, with why it went no further; or what the column is waiting for."""
    done = column.trace.answer if column.trace else None
    if done and done.abstained:
        return f'<div class="rl-box rl-thin"><b>{escape(done.text)}</b><br>{escape(done.reason)}</div>'
    if done:
        return f'<div class="rl-answer">{_cited(done, position)}</div>'
    said = f'<div class="rl-answer{"" if column.settled else " rl-live"}">{escape(column.text)}</div>'
    said = said if column.text else ""
    if column.error:
        what = "The answer broke off here:" if said else "This strategy failed."
        return (
            f'{said}<div class="rl-box rl-bad" role="alert"><b>{what}</b> {escape(_reason(column.error))}'
            f"<br>{escape(column.error.next_step)}{_spent(column.error)}</div>"
        )
    if column.stopped:
        what = "The answer broke off here:" if said else "Stopped:"
        return (
            f'{said}<div class="rl-box rl-thin"><b>{what}</b> {escape(column.stopped)}. '
            "Finished results are kept.</div>"
        )
    return f'<div class="rl-said">{said}<div class="rl-wait">{escape(_waiting(column, engine_state))}</div></div>'


def _reason(error: rag_core.RagError) -> str:
    """What went wrong; which strategy and stage it was can be seen around it."""
    cause = error.__cause__
    return cause.message if isinstance(cause, rag_core.RagError) else error.message


def _waiting(column: Column, engine_state: str) -> str:
    """What the column is waiting for, and for how long it has been."""
    if column.stopping:
        what = "Stopping…"
    elif column.steps or column.running or engine_state == "ready":
        what = doing(column)
    else:
        what = f"The engine is warming up ({engine_state}); this question is next."
    return f"{what} {column.waited} s" if column.waited else what


def doing(column: Column) -> str:
    """What the stage that runs now does."""
    return WAITING.get(column.running, "Looking for passages…")


def _spent(error: rag_core.RagError) -> str:
    """What a failed run had sent before it failed."""
    cost = rag_core.Cost.of(error.calls)
    if not (cost.known or cost.unpriced):
        return ""
    return f"<br><small>Sent before that: {len(error.calls)} calls, {cost}.</small>"


def rewrites(column: Column) -> str:
    """The queries a strategy wrote; empty when it searched with the question itself."""
    if not column.steps:
        return ""
    queries = column.steps[-1].after.queries
    analysed = next(
        (
            query.note
            for step in column.steps
            if step.stage.startswith("AnalyseQuery")
            for query in step.after.queries
        ),
        "",
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
    beside = " <small>averaged with the question</small>" if query.question_text else ""
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
    told = column.trace.warnings if column.trace else [w for step in column.steps for w in step.warnings]
    return "".join(f'<p class="rl-box rl-thin">{escape(note)}</p>' for note in told)


def _cited(answer: rag_core.Answer, position: int) -> str:
    """The answer, its markers as links; those that no words support say so."""
    of = {place: one for one in answer.citations for place in one.markers}
    places = itertools.count()

    def link(match: re.Match[str]) -> str:
        one = of.get(next(places))
        verdict = VERDICTS[one.supported] if one else ""
        said = f", {verdict}" if verdict else ""
        shown = f" <small>{verdict}</small>" if verdict else ""
        css = "rl-cite rl-doubt" if verdict else "rl-cite"
        return (
            f'<a class="{css}" href="#c{position}-p{match[1]}" '
            f'aria-label="Open passage {match[1]}{said}">{match[1]}{shown}</a>'
        )

    return re.sub(r"\[(\d+)\]", link, escape(answer.text))
