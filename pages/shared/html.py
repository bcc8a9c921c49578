"""A column of the Compare page drawn as HTML. Everything from a question, document or model is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import rag_core
from pages.shared.answers import finished
from pages.shared.bills import seconds
from pages.shared.foreign import escape
from pages.shared.live import Column

ROOM = '<small class="rl-room" aria-hidden="true">{}</small>'
WAITING = {
    "AnalyseQueryByLlm": "Analysing the question…",
    "Generate": "Writing the answer…",
    "Rewrite": "Rewriting the question…",
    "Rephrase": "Rewriting the question…",
    "Hyde": "Drafting a hypothetical answer…",
    "Rerank": "Reranking the passages…",
    "LlmRerank": "Judging the passages…",
}
CUT_OFF = "The answer was cut off here."


def engine_badge(
    engine: Mapping[str, str | None] | None,
    state: str,
    error: rag_core.RagError | None,
    outside: Sequence[str],
) -> str:
    """Which models answer, and where questions go."""
    kind, role = "", "status"
    if error:
        kind, role = " rl-bad", "alert"
        body = f"<span><b>Not ready.</b> {escape(str(error))}</span>"
    elif engine is None:
        body = f'<span class="rl-spin"></span><span>Warming up: {escape(state)}</span>'
    else:
        offline = str(engine["llm"]).startswith("offline")
        answers = "offline engine (no language model)" if offline else str(engine["llm"])
        sent = (
            f"questions are sent to <b>{escape(', '.join(outside))}</b>"
            if outside
            else "nothing you ask leaves this machine"
        )
        body = (
            f'<span class="rl-dot"></span><span>Answers: <b>{escape(answers)}</b> · embeddings: '
            f"{escape(str(engine['embedding']))} · index: {escape(str(engine['index']))} · {sent}</span>"
        )
    return f'<div class="rl-engine{kind}" role="{role}">{body}</div>'


def framing(lines: rag_core.Helplines | None) -> str:
    """What this is not, and whom to call instead; fixed on screen."""
    number = "your local emergency number"
    if lines:
        number = f"<b>{escape(lines.emergency)}</b> ({escape(lines.country['en'])})"
    return (
        f'<div class="rl-framing" role="note"><b>{escape(rag_core.NOTICE)}</b> In an emergency, call {number}. '
        '<span lang="es">Demostración, no consejo médico.</span></div>'
    )


def results_heading(question: str) -> str:
    """The question that the results below answer."""
    return f'<p class="rl-question"><b>Results for:</b> {escape(question)}</p>'


def urgent(triage: rag_core.Triage, lines: rag_core.Helplines | None) -> str:
    """What to do about an urgent question; empty for a routine one."""
    found = rag_core.urgent_notice(triage, lines)
    if found is None:
        return ""
    numbers = "".join(f"<li>{escape(number)}</li>" for number in found.numbers)
    return (
        f'<div class="rl-urgent rl-{escape(triage.level)}" role="alert" lang="{escape(triage.language)}"><h3>{escape(found.title)}</h3>'
        f"<p>{escape(found.action)}</p>{numbers and f'<ul>{numbers}</ul>'}"
        f"<small>{escape(found.reason)} {escape(found.caveat)}</small></div>"
    )


def safety(checks: Sequence[tuple[str, rag_core.SafetyCheck]]) -> str:
    """Which strategies found the passage that says what to do now, and whether their answers begin with it.

    Args:
        checks: the name of each strategy and its check.
    """
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{_found(check)}'
        f"{_cell(check.leads, ('yes, by our notice' if check.by_notice else 'yes') if check.leads else 'no')}</tr>"
        for name, check in checks
    )
    return (
        '<table class="rl-safety"><thead><tr><th scope="col">Strategy</th><th scope="col">Passage that says what to do now</th>'
        f'<th scope="col">Answer begins with what to do</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _found(check: rag_core.SafetyCheck) -> str:
    if not check.signs:
        return "<td>unknown: no single sign was recognised</td>"
    return _cell(check.rank is not None, f"found, rank {check.rank}" if check.rank else "not found")


def _cell(right: bool, text: str) -> str:
    return f"<td>{escape(text)}</td>" if right else f'<td class="rl-missed">{escape(text)}</td>'


def progress(column: Column, *, changed: bool) -> str:
    """The column's stages: done, running or to come. Space is reserved for marks and times still to come."""
    parts = []
    for position, stage in enumerate(column.strategy.stages):
        state, mark, time = "todo", ROOM.format("✓"), ROOM.format("0.00 s")
        if position < len(column.steps):
            step = column.steps[position]
            took = "reused" if step.reused else seconds(step.seconds)
            state, mark, time = "done", "✓", f"<small>{took}</small>"
        elif position == len(column.steps) and column.error:
            state, mark = "failed", "✕"
        elif position == len(column.steps) and column.running:
            state, mark = "now", '<span class="rl-spin"></span>'
        parts.append(f'<li class="rl-{state}">{mark} {escape(stage.name)} {time}</li>')
    badge = '<span class="rl-changed">settings changed</span>' if changed else ""
    return f'{badge}<ol class="rl-stages">{"".join(parts)}</ol>'


def answer(column: Column, position: int, engine_state: str) -> str:
    """The answer so far, and why it ended if it is incomplete; or what the column is waiting for."""
    trace = column.trace
    if trace and trace.answer:
        return finished(trace, trace.answer, position)
    partial = ""
    if column.text:
        live = "" if column.settled else " rl-live"
        partial = f'<div class="rl-answer{live}">{escape(column.text)}</div>'
    if column.error:
        what = CUT_OFF if partial else "This strategy failed."
        return (
            f'{partial}<div class="rl-box rl-bad" role="alert"><b>{what}</b> {escape(_reason(column.error))}'
            f"<br>{escape(column.error.next_step)}{_spent(column.error)}</div>"
        )
    if column.stopped:
        what = f"<b>{CUT_OFF}</b> " if partial else ""
        return (
            f'{partial}<div class="rl-box rl-thin">{what}{escape(column.stopped)} '
            "Finished results are kept.</div>"
        )
    return f'<div class="rl-said">{partial}<div class="rl-wait">{escape(_waiting(column, engine_state))}</div></div>'


def _reason(error: rag_core.RagError) -> str:
    """What went wrong, without the strategy and stage: the column shows them."""
    cause = error.__cause__
    return cause.message if isinstance(cause, rag_core.RagError) else error.message


def _waiting(column: Column, engine_state: str) -> str:
    """What the column is waiting for, and for how long so far."""
    if column.stopping:
        what = "Stopping…"
    elif column.steps or column.running or engine_state == "ready":
        what = doing(column)
    else:
        what = f"The engine is warming up ({engine_state}). Your question runs next."
    return f"{what} {column.waited} s" if column.waited else what


def doing(column: Column) -> str:
    """What the running stage does."""
    return WAITING.get(column.running, "Searching for passages…")


def _spent(error: rag_core.RagError) -> str:
    """What a failed run cost before it failed; empty when it was free."""
    cost = rag_core.Cost.of(error.calls)
    if cost.free:
        return ""
    return f"<br><small>Spent before the failure: {escape(cost)} ({len(error.calls)} calls).</small>"


def rewrites(column: Column) -> str:
    """The queries a strategy wrote, and how the model read them; empty when it read the question as typed."""
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
    readings = {text: read for step in column.steps for text, read in step.readings.items()}
    if all(query.origin == "question" for query in queries):
        read = next((readings[query.text] for query in queries if query.text in readings), "")
        return f"{decided}{_reading(read)}"
    searches = next((step.after.rankings for step in column.steps if step.kind == "retrieve"), ())
    found = rag_core.results_by_query(searches)
    rows = "".join(
        _rewrite(query, found.get(query.text), readings.get(query.text, ""), several=len(found) > 1)
        for query in queries
    )
    return f'<div class="rl-rewrites"><b>Queries</b>{decided}<ul>{rows}</ul></div>'


def _reading(read: str) -> str:
    """What the embedding model read in place of a query; empty when it read the query itself."""
    return f'<p class="rl-note">Read as: {escape(read)}</p>' if read else ""


def _rewrite(
    query: rag_core.Query, results: rag_core.QueryResults | None, read: str, *, several: bool
) -> str:
    """A query with its weight and how many passages it found; among several, how many no other found."""
    parts = [f"weight {query.weight:g}"] if query.weight != 1 else []
    if results and results.found:
        only_here = f", {results.unique} found by no other query" if several else ""
        parts.append(f"{results.found} passages{only_here}")
    lost = f' <small class="rl-lost">{escape(query.note)}</small>' if query.note.startswith("lost") else ""
    beside = " <small>averaged with the question</small>" if query.question_text else ""
    return (
        f"<li><b>{escape(query.origin)}</b>{beside} <small>{escape(' · '.join(parts))}</small>{lost}"
        f"<br>{escape(query.text)}{_reading(read)}</li>"
    )


def warnings(column: Column) -> str:
    """The strategy's warnings."""
    notes = column.trace.warnings if column.trace else [w for step in column.steps for w in step.warnings]
    return "".join(f'<p class="rl-box rl-thin">{escape(note)}</p>' for note in notes)
