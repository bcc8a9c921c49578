"""The queries that a strategy searched with, drawn as HTML: those it wrote, and how the model read them."""

from __future__ import annotations

import rag_core
from pages.drawing.translate import plural, t, translated
from pages.drawing.untrusted import escape
from pages.shared.live import Column
from rag_core.explain import query_title, query_weights
from rag_core.values.provenance import QueryResults, results_by_query


def rewrites(column: Column, question: str) -> str:
    """The queries a strategy wrote, and how the model read them and the question; empty where there is neither."""
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
        f'<p class="rl-note">{t("Query analysis: {note}.", note=escape(translated(analysed)))}</p>'
        if analysed
        else ""
    )
    readings = {text: read for step in column.steps for text, read in step.readings.items()}
    asked = _reading(readings.get(question, ""))
    if all(query.origin == "question" for query in queries):
        return decided + asked
    if any(query.text == question for query in queries):
        asked = ""  # its row says so
    searches = next((step.after.rankings for step in column.steps if step.kind == "retrieve"), ())
    found = results_by_query(searches)
    weights = query_weights(column.steps) if len(queries) > 1 else {}
    rows = "".join(
        _rewrite(
            query,
            found.get(query.text),
            readings.get(query.text, ""),
            weights.get(query.text),
            several=len(found) > 1,
        )
        for query in queries
    )
    return f'{asked}<div class="rl-rewrites"><b>{t("Queries")}</b>{decided}<ul>{rows}</ul></div>'


def _reading(read: str) -> str:
    """What the embedding model read in place of a query; empty when it read the query itself."""
    return f'<p class="rl-note rl-read">{t("Read as: {text}", text=escape(read))}</p>' if read else ""


def _rewrite(
    query: rag_core.Query,
    results: QueryResults | None,
    read: str,
    weight: float | None,
    *,
    several: bool,
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
    beside = f" <small>{t('averaged with the question')}</small>" if query.question_text else ""
    return (
        f"<li><b>{escape(translated(query_title(query.origin)))}</b>{beside} <small>{escape(' · '.join(parts))}</small>{lost}"
        f"<br>{_searched(query)}{_reading(read)}</li>"
    )


def _searched(query: rag_core.Query) -> str:
    """The text searched with; of several whose embeddings are averaged, each on a line of its own."""
    return "<br>".join(f"· {escape(one)}" for one in query.passages[:5] if query.passages[1:]) or escape(
        query.text
    )
