"""The queries that a strategy searched with, drawn as HTML: those it wrote, and how the model read them."""

from __future__ import annotations

from collections.abc import Sequence

import rag_core
from pages.drawing.translate import plural, t, translated
from pages.drawing.untrusted import escape
from pages.shared.live import Column
from rag_core.explain import query_title, query_weights
from rag_core.stages import Rewrite, Stage
from rag_core.values.trace import QueryResults, results_by_query

SHOWN = 3  # rewrites above an answer; the rest is counted


def rewrites(column: Column, question: str) -> str:
    """Above an answer: the rewrites a strategy searched with, a line and a weight each, or that there are none.

    It opens for every query with what it found, and for how the models read them and the question. Rewrites still to
    come have their room.
    """
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
    lines = [_short(query, weights.get(query.text)) for query in written[:SHOWN]]
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


def _short(query: rag_core.Query, weight: float | None) -> str:
    """A rewrite with its weight, or else with what it is."""
    of = translated(query_title(query.origin)) if weight is None else f"{weight:g} ×"
    return f"<b>{escape(of)}</b> {escape(query.text)}"


def _rewrite(
    query: rag_core.Query, results: QueryResults | None, read: str, weight: float | None, *, several: bool
) -> str:
    """A query with its weight in the fusion if there is one, and how many passages it found; among several, how many no other found."""
    parts = [] if weight is None else [t("weight {weight:g}", weight=weight)]
    if results and results.found:
        only_here = t(", {count} found by no other query", count=results.unique) if several else ""
        parts.append(plural("{count:,} passage", "{count:,} passages", results.found) + only_here)
    lost = (
        f' <small class="rl-lost">{escape(translated(query.note))}</small>'
        if query.note.startswith("lost")
        else ""
    )
    reading = f'<p class="rl-note rl-read">{t("Read as: {text}", text=escape(read))}</p>' if read else ""
    beside = f" <small>{t('averaged with the question')}</small>" if query.question_text else ""
    return (
        f"<li><b>{escape(translated(query_title(query.origin)))}</b>{beside} <small>{escape(' · '.join(parts))}</small>{lost}"
        f"<br>{_searched(query)}{reading}</li>"
    )


def _searched(query: rag_core.Query) -> str:
    """The text searched with; of several whose embeddings are averaged, each on a line of its own."""
    return "<br>".join(f"· {escape(one)}" for one in query.passages[:5] if query.passages[1:]) or escape(
        query.text
    )
