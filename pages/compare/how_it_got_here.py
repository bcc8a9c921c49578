"""How a result came about: rank flow, fates, scores taken apart, tipping points, prompts, and "Why not this one?"."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence

import plotly.graph_objects as go
import streamlit as st
from markupsafe import Markup

import rag_core
from pages.compare import changes
from pages.compare.costs import cost_and_time
from pages.compare.passages import summand
from pages.compare.queries import prompts
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.palette import colour
from pages.drawing.translate import declared, t, translated
from pages.drawing.untrusted import mark, wrapped
from pages.shared import account, setups
from pages.shared.engine import engine
from pages.shared.live import Comparison
from rag_core.catalog.setup import titles_of
from rag_core.explain import ControlTips, Fate, FlowColumn, decompose, fates, flow_columns
from rag_core.lab.asked import teach

TITLE = declared("How it got here")
STAGES, FLOW, FATES = declared("Stages"), declared("Rank flow"), declared("What became of each passage")
SCORES, TIPS, PROMPTS = declared("Scores"), declared("Tipping points"), declared("Prompts")
COST = declared("Cost and time")
UNQUOTED = declared("had it at {rank} and did not quote it.")
KEPT = WHY_NOT, WHY_NOT_PASSAGE = "why_not", "why_not.passage"  # what a reload brings back
FIRST_WORDS = 60  # characters that tell passages with the same title apart
MOST = 30  # lines; the table of fates has all passages
LOWEST = 30  # rank drawn; lower ones share the last row
LINE = 44  # characters, short enough for a phone
ROW, HEAD = 17, 120  # pixels: a rank, the titles above


@st.fragment
def how_it_got_here(trace: rag_core.Trace, key: str, stages: Callable[[], object]) -> None:
    """One result explained; each part is worked out only when it is chosen, the first by `stages`."""
    box = st.expander(translated(TITLE), key=f"how.{key}", on_change="rerun")
    if not box.open:
        return
    with box:
        shown = st.segmented_control(
            t("Show"), (STAGES, FLOW, FATES, SCORES, TIPS, PROMPTS, COST), default=STAGES, required=True,
            format_func=translated, key=f"how.part.{key}",
            label_visibility="collapsed",
        )  # fmt: skip
        found = fates(trace)
        if shown == STAGES:
            stages()
        elif shown == COST:
            cost_and_time(trace, key)
        elif shown == PROMPTS:
            untrusted.draw(prompts(trace))
        elif not found:
            st.caption(t("No passage was found."))
        elif shown == FLOW:
            _flow(trace, found, key)
        elif shown == FATES:
            untrusted.draw(changes.fates(found))
        elif shown == SCORES:
            _scores(trace, found, key)
        else:
            _tips(trace, key)


def _flow(trace: rag_core.Trace, found: Sequence[Fate], key: str) -> None:
    more = t(" The first {shown} of {count:,} are drawn.", shown=MOST, count=len(found))
    st.caption(
        t(
            "Each line is a passage; higher is better. Thick and numbered: used in the answer. Thin, ending "
            "in ✕: lost there.{more}",
            more=more if len(found) > MOST else "",
        )
    )
    untrusted.chart(rank_flow(found, flow_columns(trace)), f"flow.{key}")


def _scores(trace: rag_core.Trace, found: Sequence[Fate], key: str) -> None:
    by_id = {fate.passage.id: fate for fate in found}
    chosen = untrusted.choose(
        t("Passage"), list(by_id), lambda name: f"{translated(by_id[name].text)} · {by_id[name].passage.full_title}",
        f"how.passage.{key}",
    )  # fmt: skip
    titles = {name: fate.passage.full_title for name, fate in by_id.items()}
    untrusted.draw(render("how.scores", lines=decompose(trace, chosen), titles=titles, summand=summand))


@untrusted.errors(st.warning)
def _tips(trace: rag_core.Trace, key: str) -> None:
    kept = f"how.tips.{key}"
    if kept not in st.session_state:
        with st.spinner(t("Trying values; no model is called…")):
            st.session_state[kept] = engine().wait(trace.corpus).tipping_points(trace)
    untrusted.draw(_moves(st.session_state[kept]))


def _moves(tips: Sequence[ControlTips]) -> Markup:
    fixed: dict[str, list[str]] = {}
    for one in tips:
        if one.why_not:
            fixed.setdefault(one.why_not, []).append(translated(one.label))
    moving = [one for one in tips if not one.why_not]
    return render("how.tips", moving=moving, fixed=[(why, ", ".join(names)) for why, names in fixed.items()])


@st.fragment
def why_not(run: Comparison) -> None:
    """Any passage of the collections, and where each strategy lost it; a reload finds it again."""
    box = st.expander(t("Why not this one?"), key=WHY_NOT, on_change="rerun")
    if box.open:
        with box, untrusted.errors(st.warning):
            labs = {trace.corpus: engine().wait(trace.corpus) for trace in run.traces}
            passages = {name: one for lab in labs.values() for name, one in lab.passages.items()}
            if chosen := passage_box(t("A passage of the collection"), passages, WHY_NOT_PASSAGE):
                rows = [
                    (translated(title), lost(trace, chosen, labs[trace.corpus]))
                    for title, trace in zip(titles_of(run.traces), run.traces, strict=True)
                ]
                untrusted.draw(render("how.lost", rows=rows))
    run.settings = setups.settings(*KEPT)


def passage_box(title: str, passages: Mapping[str, rag_core.Passage], key: str) -> str | None:
    """Choose a passage by words of its title, headings or beginning: its id."""
    if st.session_state.get(key) not in passages:  # of other documents, or deleted since
        st.session_state.pop(key, None)
    return st.selectbox(
        untrusted.label(title), sorted(passages, key=lambda name: passages[name].full_title), index=None,
        key=key, placeholder=t("Type words of its title"),
        format_func=lambda name: untrusted.plain(_called(passages[name])),
    )  # fmt: skip


def lost(trace: rag_core.Trace, passage: str, lab: rag_core.Lab) -> str:
    """Where a strategy lost a passage, or that it used it, as a sentence."""
    if passage not in lab.passages:
        return t("It is not among the documents that were searched.")
    found = lab.why_not(trace, passage)
    if found.fate and found.fate.used and not quotes(trace, passage):
        told = t(UNQUOTED, rank=found.fate.rank)
    else:
        told = f"{translated(found.fate.text)}." if found.fate else translated(found.text)
    return f"{told[0].upper()}{told[1:]}"


def quotes(trace: rag_core.Trace, passage: str) -> bool:
    """Whether the answer cites a passage."""
    return passage in [one.context_id for one in (trace.answer.citations if trace.answer else ())]


def _called(passage: rag_core.Passage) -> str:
    first = textwrap.shorten(passage.text, FIRST_WORDS, placeholder="…")
    # the heading first: on a phone no more is seen of a line
    return " · ".join(part for part in (passage.heading, passage.title, first) if part)


def rank_flow(fates: Sequence[Fate], columns: Sequence[FlowColumn]) -> go.Figure:
    """The first `MOST` fates: used passages as thick numbered lines, others as thin ones up to a cross."""
    figure = go.Figure()
    titles = [f"{place}. {mark(translated(column.title))}" for place, column in enumerate(columns, start=1)]
    drawn = fates[:MOST]
    for fate in reversed(drawn):  # the used ones last, on top
        ranks = fate.ranks(columns)
        last = max(place for place, rank in enumerate(ranks) if rank is not None)
        symbols = ["circle"] * len(columns)
        if not fate.used:
            symbols[last] = "x"
        figure.add_scatter(
            x=titles, y=[None if rank is None else min(rank, LOWEST + 1) for rank in ranks],
            mode="lines+markers+text" if fate.used else "lines+markers",
            text=[str(fate.rank) if fate.used and place == last else "" for place in range(len(columns))],
            textposition="middle right", connectgaps=True,
            line={"color": colour("accent") if fate.used else colour("grey"), "width": 3 if fate.used else 1},
            marker={"symbol": symbols, "size": 8 if fate.used else 6}, opacity=1.0 if fate.used else 0.75,
            showlegend=False, customdata=["–" if rank is None else t("rank {rank}", rank=rank) for rank in ranks],
            hovertemplate=f"<br>{wrapped(fate.passage.full_title, LINE)}<br>%{{x}}: %{{customdata}}<br>{wrapped(translated(fate.text), LINE)}<extra></extra>",
        )  # fmt: skip
    deepest = max((rank or 0 for fate in drawn for rank in fate.ranks(columns)), default=1)
    rows = min(deepest, LOWEST + 1)
    ticks = [1, *range(5, min(rows, LOWEST) + 1, 5)]
    figure.update_yaxes(
        range=[rows + 0.6, 0.4], tickvals=[*ticks, LOWEST + 1] if rows > LOWEST else ticks,
        ticktext=[*map(str, ticks), f"{LOWEST}+"] if rows > LOWEST else list(map(str, ticks)), title=t("rank"),
        automargin=True, zeroline=False,
    )  # fmt: skip
    figure.update_xaxes(side="top", tickangle=-60, automargin=True, range=[-0.4, len(columns) - 0.4])
    figure.update_layout(
        height=HEAD + ROW * max(rows, 8),
        margin={"l": 4, "r": 12, "t": 8, "b": 8},
        hovermode="closest",
        dragmode=False,
    )
    return figure


@st.fragment
def teaching(run: Comparison) -> None:
    """Draw the choice of a section, for those who may operate the server."""
    if not account.may_operate():
        return
    box = st.expander(t("Another section answers this"), key="teach", on_change="rerun")
    if not box.open:
        return
    with box, untrusted.errors():
        st.caption(
            t(
                "Say which. This server keeps the question as asked of that section: whoever asks it, or one like it, "
                "finds the section by it. Documents lists what was taught; measurements leave it out."
            )
        )
        labs = (engine().wait(name) for name in dict.fromkeys(trace.corpus for trace in run.traces))
        found = {one.id: (one, lab) for lab in labs for one in lab.passages.values()}
        passages = {name: one for name, (one, _) in found.items()}
        chosen = passage_box(t("The section that answers"), passages, "teach.passage")
        words = t("Keep the question as asked of it")
        pressed = st.button(words, key="teach.keep", disabled=chosen is None, type="primary")
        if pressed and chosen:
            passage, lab = found[chosen]
            teach(lab.settings, lab.corpus, chosen, run.question, by=account.name(), country=run.country)
            untrusted.say(t("Kept as asked of {section}. Run it again.", section=passage.full_title), st.success)
