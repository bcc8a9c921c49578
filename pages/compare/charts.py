"""A chart of a comparison: what was sent to models, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

import rag_core
from pages.compare.bills import of_purpose
from pages.drawing.palette import colour
from pages.drawing.translate import t, translated
from pages.drawing.untrusted import mark
from rag_core.catalog.setup import titles_of
from rag_core.values.types import by_purpose, token_counts

COLOURS = {kind: kind for kind in ("transform", "retrieve", "fuse", "rerank", "select")} | {
    "answer": "accent"
}
PURPOSES = {  # those of a stage's kind have its colour
    "rewrite": COLOURS["transform"],
    "embed": COLOURS["retrieve"],
    "rerank": COLOURS["rerank"],
    "judge": COLOURS["fuse"],
    "answer": COLOURS["answer"],
}
HEIGHT_BASE, HEIGHT_ROW = 130, 46  # pixels


def cost(traces: Sequence[rag_core.Trace]) -> go.Figure:
    """Dollars by purpose; tokens by purpose when nothing was billed."""
    billed = any(trace.cost_usd for trace in traces)
    names = row_names(traces)
    grouped = [by_purpose(trace.calls) for trace in traces]
    figure = go.Figure()
    for purpose in dict.fromkeys(purpose for groups in grouped for purpose in groups):
        calls = [groups.get(purpose, ()) for groups in grouped]
        values = [rag_core.Cost.of(one).known if billed else sum(token_counts(one)) for one in calls]
        fill = colour(PURPOSES.get(purpose, "grey"))
        figure.add_bar(y=names, x=values, orientation="h", name=mark(of_purpose(purpose)), marker_color=fill)
    figure.update_xaxes(
        title=t("US dollars") if billed else t("tokens (nothing is billed)"), rangemode="tozero"
    )
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(
        height=HEIGHT_BASE + HEIGHT_ROW * len(names),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "y": -0.45, "x": 0},
        barmode="stack",
    )
    return figure


def row_names(traces: Sequence[rag_core.Trace]) -> list[str]:
    """The strategies' titles with their changed controls, models and corpora, numbered where two are the same."""
    titles = [translated(title) for title in titles_of(traces)]
    return [
        mark(f"{title} ({position})" if titles.count(title) > 1 else title)
        for position, title in enumerate(titles, start=1)
    ]
