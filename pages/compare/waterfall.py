"""When everything ran: one bar a stage, search or model call, on one clock, so that what ran at the same time overlaps."""

from __future__ import annotations

import plotly.graph_objects as go

import rag_core
from pages.compare.bills import doing, of_purpose
from pages.drawing.palette import colour
from pages.drawing.translate import t, translated
from pages.drawing.untrusted import mark
from pages.shared import setups
from pages.shared.amounts import seconds
from rag_core.explain import bill, query_title

COLOURS = {kind: kind for kind in ("transform", "retrieve", "fuse", "rerank", "select")} | {
    "answer": "accent"
}
ROW, HEAD = 24, 50  # pixels: a bar, the axis
ROOM = 1.28  # of the longest time, for the text beside the last bar
REUSED = "/"  # the pattern of what was not run here
LETTERS = 26  # of a row's name that a phone has room for


def waterfall(trace: rag_core.Trace) -> go.Figure:
    """Each stage of a column, and under it its searches and model calls, which may overlap."""
    found = bill.spans(trace)
    figure = go.Figure()
    for level in ("stage", "search", "call"):
        rows = [place for place, span in enumerate(found) if span.level == level]
        spans = [found[place] for place in rows]
        figure.add_bar(
            y=rows,
            x=[span.seconds for span in spans],
            base=[span.started for span in spans],
            orientation="h",
            width=0.7 if level == "stage" else 0.4,
            marker={
                "color": [colour(COLOURS[span.kind]) for span in spans],
                "opacity": 1.0 if level == "stage" else 0.6,
                "pattern": {"shape": [REUSED if span.reused else "" for span in spans]},
            },
            text=[t("reused") if span.reused else seconds(span.seconds) for span in spans],
            textposition="outside",
            textfont={"size": 11},
            constraintext="none",
            cliponaxis=False,
            showlegend=False,
            hovertemplate=[f"{_wrapped(span)}<br>{_when(span)}<extra></extra>" for span in spans],
        )
    figure.update_yaxes(
        tickvals=list(range(len(found))),
        ticktext=[_shortened(span) for span in found],
        autorange="reversed",
        automargin=True,
    )
    end = max((span.ended for span in found), default=0.0) or 1.0
    figure.update_xaxes(title=t("seconds"), range=[0, ROOM * end])
    figure.update_layout(
        height=HEAD + ROW * len(found),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        barmode="overlay",
        dragmode=False,
    )
    return figure


def title(span: bill.Span) -> str:
    """What a bar is: "Search", "Keyword search", "Embedding search, synonyms", "Answer, gpt-4o"."""
    if span.level == "stage":
        return doing(span.kind, span.name)
    names = {
        "bm25": t("Keyword search"),
        "dense": t("Embedding search"),
        "answer": t("Model"),
    }
    called = names.get(span.name) or of_purpose(span.name)
    said = setups.reranker if span.name == "rerank" else setups.called
    detail = said(span.detail) if span.level == "call" else translated(query_title(span.detail))
    return f"{called}, {detail}" if detail else called


def _when(span: bill.Span) -> str:
    if span.reused and not span.seconds:
        return t("reused: an earlier run did this")
    took = t("{took}, from {start} on", took=seconds(span.seconds), start=seconds(span.started))
    return t("{took}; reused: it ran once, for several columns", took=took) if span.reused else took


def _shortened(span: bill.Span) -> str:
    """A row's name; searches and calls are set in."""
    text = title(span)
    short = text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"
    return mark(short) if span.level == "stage" else f"· {mark(short)}"


def _wrapped(span: bill.Span) -> str:
    return mark(f"{title(span)} ({span.name})" if span.level == "stage" else title(span))
