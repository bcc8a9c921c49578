"""A column of the Compare page drawn as HTML. Everything from a question, document or model is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import rag_core
from pages.shared.answers import finished
from pages.shared.bills import seconds
from pages.shared.controls import LETTERS
from pages.shared.foreign import escape
from pages.shared.i18n import catalogue, declared, language, plural, problem, said, t
from pages.shared.live import Column

SEARCHING = declared("Searching for passages…")
ROOM = '<small class="rl-room" aria-hidden="true">{}</small>'
WAITING = {  # the running stage -> what it does
    "AnalyseQueryByLlm": declared("Analysing the question…"),
    "Generate": declared("Writing the answer…"),
    "Rewrite": declared("Rewriting the question…"),
    "Rephrase": declared("Rewriting the question…"),
    "Hyde": declared("Drafting a hypothetical answer…"),
    "Rerank": declared("Reranking the passages…"),
    "LlmRerank": declared("Judging the passages…"),
}


def engine_badge(
    engine: Mapping[str, str | None] | None,
    state: str,
    error: rag_core.RagError | None,
    outside: Sequence[str],
    chosen: Sequence[str] = (),
) -> str:
    """Which models answer, and where questions go.

    Args:
        chosen: the models that columns of Compare chose in place of those of the settings.
    """
    kind, role = "", "status"
    if error:
        kind, role = " rl-bad", "alert"
        body = f"<span><b>{t('Not ready.')}</b> {escape(problem(error))}</span>"
    elif engine is None:
        body = (
            f'<span class="rl-spin"></span><span>{escape(t("Warming up: {state}", state=said(state)))}</span>'
        )
    else:
        offline = str(engine["llm"]).startswith("offline")
        answers = t("offline engine (no language model)") if offline else str(engine["llm"])
        also = (
            f"{t('columns with a model of their own')}: <b>{escape(', '.join(chosen))}</b> · "
            if chosen
            else ""
        )
        sent = (
            t("questions are sent to <b>{hosts}</b>", hosts=escape(", ".join(outside)))
            if outside
            else t("nothing you ask leaves this machine")
        )
        body = (
            f'<span class="rl-dot"></span><span>{t("Answers")}: <b>{escape(answers)}</b> · {also}'
            f'<span class="rl-engine-more">{t("embeddings")}: {escape(str(engine["embedding"]))} · '
            f"{t('index')}: {escape(str(engine['index']))} · </span>{sent}</span>"
        )
    return f'<div class="rl-engine{kind}" role="{role}">{body}</div>'


def framing(lines: rag_core.Helplines | None) -> str:
    """What this is not, and whom to call instead; fixed on screen."""
    number = t("your local emergency number")
    if lines:
        number = f"<b>{escape(lines.emergency)}</b> ({escape(lines.country[language()])})"
    urgent = t("In an emergency, call {number}.", number=number)
    other = rag_core.NOTICE if language() == "es" else catalogue("es").gettext(rag_core.NOTICE)
    return (
        f'<div class="rl-framing" role="note"><b>{escape(said(rag_core.NOTICE))}</b> {urgent} '
        f'<span lang="{"en" if language() == "es" else "es"}">{escape(other)}</span></div>'
    )


def results_heading(question: str, look: str = "") -> str:
    """The question that the results below answer, and what to look for in them; empty where nobody says."""
    asked = f'<p class="rl-question"><b>{t("Results for:")}</b> {escape(question)}</p>'
    hint = (
        f'<details class="rl-look"><summary>{t("What to look for")}</summary><p>{escape(look)}</p></details>'
        if look
        else ""
    )
    return f'<div class="rl-asked">{asked}{hint}</div>'


def tabs(names: Sequence[str]) -> str:
    """One label for each column, which shows the column on a narrow screen; see `switches`."""
    labels = "".join(
        f'<label for="rl-tab-{place:d}">{escape(name)}</label>' for place, name in enumerate(names)
    )
    return f'<div class="rl-tabs">{labels}</div>'


def switches(count: int) -> str:
    """The state of the tabs: which column a narrow screen shows. Never redrawn, so the choice stays."""
    return "".join(
        f'<input type="radio" class="rl-switch" name="rl-tab" id="rl-tab-{place:d}" aria-label="{t("Column {number:d}", number=place + 1)}"'
        f"{' checked' if place == 0 else ''}>"
        for place in range(count)
    )


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
        f"{_cell(check.leads, (t('yes, by our notice') if check.by_notice else t('yes')) if check.leads else t('no'))}</tr>"
        for name, check in checks
    )
    return (
        f'<table class="rl-safety"><thead><tr><th scope="col">{t("Strategy")}</th>'
        f'<th scope="col">{t("Passage that says what to do now")}</th>'
        f'<th scope="col">{t("Answer begins with what to do")}</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _found(check: rag_core.SafetyCheck) -> str:
    if not check.signs:
        return f"<td>{t('unknown: no single sign was recognised')}</td>"
    return _cell(
        check.rank is not None, t("found, rank {rank}", rank=check.rank) if check.rank else t("not found")
    )


def _cell(right: bool, text: str) -> str:
    return f"<td>{escape(text)}</td>" if right else f'<td class="rl-missed">{escape(text)}</td>'


def title(letter: str, name: str) -> str:
    """What a card is called in presenter mode: its letter, and its name once it is revealed."""
    return f'<h3 class="rl-named"><span class="rl-letter">{escape(letter)}</span> {escape(name)}</h3>'


def status(
    column: Column, position: int, shown: str, changes: str, *, changed: bool, runs_on: str = ""
) -> str:
    """One line of fixed height: how far the column is, and what is set otherwise than by default.

    Args:
        position: of the column, from 0.
        shown: the strategy whose results are shown; empty while names are hidden.
        changes: the settings that differ from the defaults; may be empty.
        changed: whether the settings differ from those of the results.
        runs_on: the models and documents it chose; may be empty.
    """
    done = len(column.steps)
    marks = "".join(
        f'<i class="rl-{_state(column, place)}"></i>' for place in range(len(column.strategy.stages))
    )
    bar = (
        f'<span class="rl-bar" role="progressbar" aria-label="{t("Stages done")}" aria-valuemin="0" '
        f'aria-valuemax="{len(column.strategy.stages)}" aria-valuenow="{done:d}">{marks}</span>'
    )
    outdated = (
        f'<span class="rl-changed" title="{t("Shown: {strategy}", strategy=escape(shown))}">{t("press Run to apply")}</span>'
        if changed
        else ""
    )
    heading = f'<h3 class="rl-unseen">{escape(LETTERS[position])}: {escape(shown)}</h3>' if shown else ""
    return f'{heading}<div class="rl-status">{bar}{outdated}{_chips(changes, runs_on)}</div>'


def idle_status(changes: str, runs_on: str = "") -> str:
    """The line of `status` above a column that has not run."""
    return f'<div class="rl-status">{_chips(changes, runs_on)}</div>'


def _chips(changes: str, runs_on: str) -> str:
    """What a column runs on, and what is set otherwise than by default."""
    texts = (runs_on, t("changed: {changes}", changes=changes) if changes else "")
    return "".join(
        f'<span class="rl-chip" title="{escape(text)}">{escape(text)}</span>' for text in texts if text
    )


def _state(column: Column, place: int) -> str:
    """Of a stage: done, now, failed or todo."""
    if place < len(column.steps):
        return "done"
    if place == len(column.steps) and column.error:
        return "failed"
    return "now" if place == len(column.steps) and column.running else "todo"


def stages(column: Column) -> str:
    """The column's stages with their times. Space is reserved for marks and times still to come."""
    marks = {
        "done": "✓",
        "failed": "✕",
        "now": '<span class="rl-spin"></span>',
        "todo": ROOM.format("✓"),
    }
    parts = []
    for place, stage in enumerate(column.strategy.stages):
        state, time = _state(column, place), ROOM.format("0.00 s")
        if state == "done":
            step = column.steps[place]
            time = f"<small>{t('reused') if step.reused else seconds(step.seconds)}</small>"
        parts.append(f'<li class="rl-{state}">{marks[state]} {escape(stage.name)} {time}</li>')
    return f'<ol class="rl-stages">{"".join(parts)}</ol>'


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
        what = t("The answer was cut off here.") if partial else t("This strategy failed.")
        return (
            f'{partial}<div class="rl-box rl-bad" role="alert"><b>{what}</b> {escape(_reason(column.error))}'
            f"<br>{escape(said(column.error.next_step))}{_spent(column.error)}</div>"
        )
    if column.stopped:
        what = f"<b>{t('The answer was cut off here.')}</b> " if partial else ""
        return (
            f'{partial}<div class="rl-box rl-thin">{what}{escape(said(column.stopped))} '
            f"{t('Finished results are kept.')}</div>"
        )
    coming = ""
    if engine_state != "ready" and not (column.steps or column.running):
        sentence = t(
            "The answer will stand here, each sentence with its source. The passages behind it follow below."
        )
        coming = f'<p class="rl-hint">{escape(sentence)}</p>'
    return (
        f'<div class="rl-said">{partial}<div class="rl-wait">{escape(_waiting(column, engine_state))}</div>'
        f"{coming}</div>"
    )


def _reason(error: rag_core.RagError) -> str:
    """What went wrong, without the strategy and stage: the column shows them."""
    cause = error.__cause__
    return said(cause.message if isinstance(cause, rag_core.RagError) else error.message)


def _waiting(column: Column, engine_state: str) -> str:
    """What the column is waiting for, and for how long so far."""
    if column.stopping:
        what = t("Stopping…")
    elif column.steps or column.running or engine_state == "ready":
        what = doing(column)
    else:
        what = t("The engine is warming up ({state}). Your question runs next.", state=said(engine_state))
    return f"{what} {column.waited} s" if column.waited else what


def doing(column: Column) -> str:
    """What the running stage does."""
    return said(WAITING.get(column.running, SEARCHING))


def _spent(error: rag_core.RagError) -> str:
    """What a failed run cost before it failed; empty when it was free."""
    cost = rag_core.Cost.of(error.calls)
    if cost.free:
        return ""
    return f"<br><small>{t('Spent before the failure: {cost} ({count:d} calls).', cost=escape(cost), count=len(error.calls))}</small>"


def rewrites(column: Column) -> str:
    """The queries a strategy wrote, and how the model read them; empty without any but the question."""
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
    decided = (
        f'<p class="rl-note">{t("Query analysis: {note}.", note=escape(said(analysed)))}</p>'
        if analysed
        else ""
    )
    if all(query.origin == "question" for query in queries):
        return decided  # what was read stands above the answer
    readings = _readings(column)
    searches = next((step.after.rankings for step in column.steps if step.kind == "retrieve"), ())
    found = rag_core.results_by_query(searches)
    rows = "".join(
        _rewrite(query, found.get(query.text), readings.get(query.text, ""), several=len(found) > 1)
        for query in queries
    )
    return f'<div class="rl-rewrites"><b>{t("Queries")}</b>{decided}<ul>{rows}</ul></div>'


def read_as(column: Column, question: str) -> str:
    """What a strategy read in place of the question: its gloss, its spelling, its abbreviations; else empty."""
    return _reading(_readings(column).get(question, ""))


def _readings(column: Column) -> dict[str, str]:
    return {text: read for step in column.steps for text, read in step.readings.items()}


def _reading(read: str) -> str:
    """What the embedding model read in place of a query; empty when it read the query itself."""
    return f'<p class="rl-note">{t("Read as: {text}", text=escape(read))}</p>' if read else ""


def _rewrite(
    query: rag_core.Query, results: rag_core.QueryResults | None, read: str, *, several: bool
) -> str:
    """A query with its weight and how many passages it found; among several, how many no other found."""
    parts = [t("weight {weight:g}", weight=query.weight)] if query.weight != 1 else []
    if results and results.found:
        only_here = t(", {count} found by no other query", count=results.unique) if several else ""
        parts.append(plural("{count:,} passage", "{count:,} passages", results.found) + only_here)
    lost = (
        f' <small class="rl-lost">{escape(said(query.note))}</small>' if query.note.startswith("lost") else ""
    )
    beside = f" <small>{t('averaged with the question')}</small>" if query.question_text else ""
    return (
        f"<li><b>{escape(said(query.origin))}</b>{beside} <small>{escape(' · '.join(parts))}</small>{lost}"
        f"<br>{_searched(query)}{_reading(read)}</li>"
    )


def _searched(query: rag_core.Query) -> str:
    """The text searched with; of several whose embeddings are averaged, each on a line of its own."""
    return "<br>".join(f"· {escape(one)}" for one in query.passages[:5] if query.passages[1:]) or escape(
        query.text
    )


def warnings(column: Column) -> str:
    """The strategy's warnings."""
    notes = column.trace.warnings if column.trace else [w for step in column.steps for w in step.warnings]
    return "".join(f'<p class="rl-box rl-thin">{escape(said(note))}</p>' for note in notes)
