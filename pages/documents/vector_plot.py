"""The vectors of a corpus in two dimensions, with the last question and its rewrites."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

import plotly.graph_objects as go
import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.palette import colour
from pages.drawing.translate import t, translated
from pages.drawing.untrusted import mark, wrapped
from pages.shared.engine import engine
from rag_core.explain import query_title
from rag_core.lab.browsing import PlacedPassage, VectorMap, vector_map

# told apart with any colour vision (Okabe and Ito 2008); shapes repeat the difference
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d00", "#56b4e9", "#7a5195", "#b8543a")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "pentagon", "hexagon", "bowtie")
NEAREST = 20  # passages whose documents are coloured
LINE = 60  # characters of a line of text


@untrusted.errors()
def draw(corpus: str) -> None:
    """Draw the plot and what it can and cannot show."""
    if not engine().settled.is_set():
        st.info(t("One moment: the models are loading."))
        return
    queries = _asked(corpus)
    with st.container(key="placing"), st.spinner(t("Placing the passages…")):
        lab = engine().wait(corpus)
        found = _map(corpus, lab.index.name, queries, lab)
    if queries and not found.queries:
        st.caption(t("The question is not drawn: its vector would be paid for."))
    elif not queries:
        st.caption(t("Ask a question of these documents on Compare, and it is drawn here with its rewrites."))
    untrusted.chart(figure(found), "vectors")
    first, second = (f"{share:.0%}" for share in found.shares)
    untrusted.say(
        t(
            "{count:,} passages. The two directions in which the vectors differ most (principal components) "
            "show {along} of their variance; the other {dimensions} dimensions are not drawn, so passages near "
            "each other here may be far apart. The search uses all dimensions.",
            count=len(found.passages),
            along=t("{first} and {second}", first=first, second=second),
            dimensions=found.dimensions - 2,
        )
    )


def _asked(corpus: str) -> tuple[rag_core.Query, ...]:
    run = st.session_state.get("run")
    if run is None or run.corpus != corpus:
        return ()
    rewrites = [query for trace in run.traces for query in trace.final.queries]
    return tuple({query.text: query for query in (rag_core.Query(run.question), *reversed(rewrites))}.values())


@st.cache_data(show_spinner=False, max_entries=8)
def _map(corpus: str, index: str, queries: tuple[rag_core.Query, ...], _lab: rag_core.Lab) -> VectorMap:
    return vector_map(_lab, queries)


def figure(found: VectorMap) -> go.Figure:
    """One mark per passage, coloured by document; the question as a star, its rewrites as rings."""
    drawn = go.Figure()
    coloured = _coloured(found.passages)
    rest = [one for one in found.passages if one.passage.doc_id not in coloured]
    if rest:
        _marks(drawn, rest, t("other documents"), {"color": colour("grey"), "size": 5, "opacity": 0.5})
    for place, identity in enumerate(coloured):
        members = [one for one in found.passages if one.passage.doc_id == identity]
        style = {"color": COLOURS[place], "symbol": SYMBOLS[place], "size": 10, "opacity": 0.9}
        _marks(drawn, members, members[0].passage.title or identity, style)
    for place, one in enumerate(found.queries):
        written = translated(query_title(one.query.origin))
        origin = t("rewrite: {origin}", origin=written) if place else t("question")
        drawn.add_scatter(
            x=[one.x],
            y=[one.y],
            mode="markers",
            name=mark(_short(origin if place == 0 else f"{origin} “{one.query.text}”")),
            marker={
                "symbol": "star" if place == 0 else "circle-open",
                "size": 20 if place == 0 else 14,
                "color": colour("text"),
                "line": {"width": 2, "color": colour("background") if place == 0 else colour("text")},
            },
            hovertemplate=f"<b>{mark(origin)}</b><br>{wrapped(one.query.text, LINE)}<extra></extra>",
        )
    drawn.update_xaxes(title=t("first component"), zeroline=False, showticklabels=False)
    drawn.update_yaxes(title=t("second component"), zeroline=False, showticklabels=False)
    drawn.update_layout(
        height=540,
        margin={"l": 10, "r": 10, "t": 10, "b": 10},
        legend={"orientation": "h", "y": -0.1, "x": 0, "yanchor": "top"},
    )
    return drawn


def _marks(drawn: go.Figure, members: Sequence[PlacedPassage], name: str, style: dict[str, object]) -> None:
    drawn.add_scatter(
        x=[one.x for one in members], y=[one.y for one in members], mode="markers", name=mark(_short(name)),
        marker=style, text=[_hover(one) for one in members], hovertemplate="%{text}<extra></extra>",
    )  # fmt: skip


def _coloured(passages: Sequence[PlacedPassage]) -> list[str]:
    """The documents to colour: those of the passages nearest to the question, or those with the most passages."""
    near = sorted(
        (one for one in passages if one.cosine is not None),
        key=lambda one: (-(one.cosine or 0.0), one.passage.id),
    )
    counted = Counter(one.passage.doc_id for one in near[:NEAREST] or passages)
    return [name for name, _ in counted.most_common(len(COLOURS))]


def _hover(one: PlacedPassage) -> str:
    near = "" if one.cosine is None else "<br>" + t("cosine to the question {cosine:.2f}", cosine=one.cosine)
    return f"<b>{wrapped(one.passage.full_title, LINE)}</b><br>{wrapped(one.passage.text[:200], LINE)}{near}"


def _short(text: str) -> str:
    return textwrap.shorten(text, 34, placeholder="…")
