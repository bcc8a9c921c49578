"""What a strategy searched with and what its models were sent, drawn as HTML: queries, and the prompts behind a result."""

from collections.abc import Sequence

import rag_core
from pages.compare.costs import of_purpose
from pages.drawing.pieces import note
from pages.drawing.translate import plural, t, translated
from pages.drawing.untrusted import escape
from pages.shared import setups
from pages.shared.live import Column
from rag_core.explain import query_title, query_weights, stage_title
from rag_core.stages import Rewrite, Stage
from rag_core.values.trace import Exchange, QueryResults, results_by_query
from rag_core.values.types import token_counts

SHOWN = 3  # rewrites above an answer; the rest is counted


def rewrites(column: Column, question: str) -> str:
    """Above an answer: the queries a strategy wrote, a line and a weight each; it opens for what each of all found."""
    steps, stages = column.steps, column.strategy.stages
    if not column.settled and any(stage.kind == "transform" for stage in stages[len(steps) :]):
        return _line(["&nbsp;" for _ in range(_expected(stages))])
    queries = steps[-1].after.queries if steps else ()
    readings = {text: read for step in steps for text, read in step.readings.items()}
    analyses = (step.after.queries[0].note for step in steps if step.stage.startswith("AnalyseQuery"))
    analysed = next(analyses, "")
    decided = t("Query analysis: {note}.", note=escape(translated(analysed))) if analysed else ""
    asked = t("Read as: {text}", text=escape(read)) if (read := readings.get(question)) else ""
    written = [query for query in queries if query.origin != "question"]
    if not written:
        return _line([" ".join(note for note in (t("No rewrite."), decided, asked) if note)])
    weights = query_weights(steps) if len(queries) > 1 else {}
    lines = []
    for query in written[:SHOWN]:  # each with its weight, or else with what it is
        weight = weights.get(query.text)
        of = translated(query_title(query.origin)) if weight is None else f"{weight:g} ×"
        lines.append(f"<b>{escape(of)}</b> {escape(query.text)}")
    if (more := len(written) - SHOWN) > 0:
        lines.append(plural("and {count} more", "and {count} more", more))
    found = results_by_query(next((step.after.rankings for step in steps if step.kind == "retrieve"), ()))
    rows = "".join(
        _rewrite(query, found.get(query.text), readings.get(query.text, ""), weights.get(query.text), several=len(found) > 1)
        for query in queries
    )  # fmt: skip
    asked = "" if any(query.text == question for query in queries) else asked  # its row says so
    notes = "".join(f'<p class="rl-note">{note}</p>' for note in (asked, decided) if note)
    return _line(lines, f"{notes}<ul>{rows}</ul>", room=_expected(stages))


def _line(lines: Sequence[str], more: str = "", room: int = 0) -> str:
    """Lines that open for more, if there is more; no lower than `room` lines."""
    shown = "".join(f"<span>{line}</span>" for line in lines)
    height = f' style="min-height: {1.15 * max(room, len(lines)):g}rem"'
    if not more:
        return f'<p class="rl-rewrites"{height}>{shown}</p>'
    return f'<details class="rl-rewrites"{height}><summary><b>{t("Queries")}</b>{shown}</summary>{more}</details>'


def _expected(stages: Sequence[Stage]) -> int:
    written = sum(len(stage.templates) for stage in stages if isinstance(stage, Rewrite))
    return max(1, min(written, SHOWN + 1))


def _rewrite(
    query: rag_core.Query, results: QueryResults | None, read: str, weight: float | None, *, several: bool
) -> str:
    """A query with its weight in the fusion if there is one, and how many passages it found; among several, how many no other found."""
    parts = [] if weight is None else [t("weight {weight:g}", weight=weight)]
    if results and results.found:
        only_here = t(", {count} found by no other query", count=results.unique) if several else ""
        parts.append(plural("{count:,} passage", "{count:,} passages", results.found) + only_here)
    lost = escape(translated(query.note)) if query.note.startswith("lost") else ""
    lost = lost and f' <small class="rl-lost">{lost}</small>'
    reading = f'<p class="rl-note rl-read">{t("Read as: {text}", text=escape(read))}</p>' if read else ""
    beside = f" <small>{t('averaged with the question')}</small>" if query.question_text else ""
    return (
        f"<li><b>{escape(translated(query_title(query.origin)))}</b>{beside} <small>{escape(' · '.join(parts))}</small>{lost}"
        f"<br>{_searched(query)}{reading}</li>"
    )


def _searched(query: rag_core.Query) -> str:
    return "<br>".join(f"· {escape(one)}" for one in query.passages[:5] if query.passages[1:]) or escape(query.text)


def prompts(trace: rag_core.Trace) -> str:
    """Every prompt of a result, stage by stage, each folded; what is sent to no model says so."""
    if not any(step.exchanges for step in trace.steps):
        return note(t("No prompt was needed: this result called no model that reads one."))
    return f'<div class="rl-prompts">{_stages(trace.steps)}</div>'


def before_failure(steps: Sequence[rag_core.Step], error: rag_core.RagError) -> str:
    """Every prompt of a strategy that failed, the failed stage's last; empty without any."""
    failed = error if isinstance(error, rag_core.StageError) and error.exchanges else None
    if not (failed or any(step.exchanges for step in steps)):
        return ""
    return f'<div class="rl-prompts"><b>{t("Prompts")}</b>{_stages(steps, failed)}</div>'


def _stages(steps: Sequence[rag_core.Step], failed: rag_core.StageError | None = None) -> str:
    exchanges = [one for each in (*steps, *([failed] if failed else ())) for one in each.exchanges]
    told, reused = "", f" <small>{escape(t('reused from an earlier run; nothing was sent again'))}</small>"
    if any(one.offline for one in exchanges):
        told += note(
            t(
                "The offline engine was sent no text: it has no language model. It reads the name of a prompt and "
                "its fields, which are listed instead."
            )
        )
    if not all(one.offline for one in exchanges):
        told += note(
            t(
                "Each text stands as it was sent. The history, when it is on, keeps it with the question; the JSON export leaves it out."
            )
        )
    for step in steps:
        if step.exchanges:
            title = escape(translated(stage_title(step.stage)))
            told += _section(f"{title}{reused if step.reused else ''}", step.exchanges)
    if failed:
        title = escape(t("{stage}: failed", stage=translated(stage_title(failed.stage))))
        told += _section(title, failed.exchanges)
    return told


def _section(title: str, exchanges: Sequence[Exchange]) -> str:
    return f"<section><h4>{title}</h4>{''.join(_exchange(one) for one in exchanges)}</section>"


def _exchange(one: Exchange) -> str:
    why = escape(t("failed: {reason}", reason=one.error))
    failed = f' <small class="rl-lost">{why}</small>' if one.error else ""
    summary = (
        f"<b>{escape(of_purpose(one.purpose))}</b>{escape(_called(one))} "
        f"<small>{escape(setups.called(one.model))} · {escape(_tokens(one))}</small>{failed}"
    )
    texts = [_text(t("System message, as sent"), one.system), _text(t("User message, as sent"), one.text)]
    sent = "" if one.offline else "".join(texts)
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value) or '–'}</dd>" for name, value in one.fields.items())
    fields = f'<h5>{escape(t("Fields filled in"))}</h5><dl class="rl-fields">{rows}</dl>'
    body = f"{sent}{_text(t('Reply'), one.reply)}{fields}"
    return f'<details class="rl-prompt"><summary>{summary}</summary>{body}</details>'


def _called(one: Exchange) -> str:
    """Which of several prompts for one purpose it is, and of several tries which; empty for the only one."""
    name = translated(query_title(one.prompt)) if one.purpose == "rewrite" else ""
    again = t("again ({n})", n=one.sample + 1) if one.sample else ""
    which = ", ".join(part for part in (name, again) if part)
    return f": {which}" if which else ""


def _tokens(one: Exchange) -> str:
    if not one.calls:
        return t("no tokens: the provider refused it")
    counted = [call for call in one.calls if call.of_language_model]
    sent, received = (f"{count:,}" for count in token_counts(counted))
    if one.offline:
        return t("{sent} tokens in, {received} out if it were sent", sent=sent, received=received)
    if all(call.counted_by == "provider" for call in counted):
        return t("{sent} tokens in, {received} out, counted by the provider", sent=sent, received=received)
    return t("{sent} tokens in, {received} out, counted here", sent=sent, received=received)


def _text(title: str, text: str) -> str:
    body = escape(text) if text else f"<i>{escape(t('empty'))}</i>"
    return f'<h5>{escape(title)}</h5><pre tabindex="0" role="region" aria-label="{escape(title)}">{body}</pre>'
