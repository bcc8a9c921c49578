"""One question, two to four strategies side by side."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import rag_core
from pages.shared import charts, html
from pages.shared.controls import strategy_columns
from pages.shared.engine import engine
from pages.shared.live import Column, LiveRun

GALLERY = Path(__file__).parents[2] / "data" / "demo.toml"
TICK_S = 0.08  # between two looks at a running comparison
LANGUAGES = {"en": "English", "es": "Español"}


def main() -> None:
    """Draw the page."""
    st.header("Which way of retrieving gives the better answer?", anchor=False)
    run: LiveRun | None = st.session_state.get("run")
    with st.expander("Demo questions", expanded=run is None):
        _gallery()
    asked = _question_box(run)
    strategies = strategy_columns()
    if asked:
        _start(st.session_state["question"], strategies, run)
    if run is None:
        st.info("Choose a question above, or type your own, and press **Run**. Nothing runs by itself.")
        return
    _results(run, strategies)


@st.cache_data
def _demo() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = tomllib.loads(GALLERY.read_text(encoding="utf-8"))["question"]
    return entries


def _gallery() -> None:
    """The demo questions; picking one fills the box and runs nothing."""
    texts = {entry["label"]: entry["text"] for entry in _demo()}
    for code, name in LANGUAGES.items():
        labels = [entry["label"] for entry in _demo() if entry["language"] == code]
        key = f"gallery.{code}"
        st.pills(name, labels, key=key, on_change=_take, args=(key, texts))


def _take(key: str, texts: dict[str, str]) -> None:
    if st.session_state[key]:
        st.session_state["question"] = texts[st.session_state[key]]
        st.session_state[key] = None


def _question_box(run: LiveRun | None) -> bool:
    """The question and its buttons; whether Run was pressed."""
    with st.form("ask", border=False):
        box, go, stop = st.columns([8, 1, 1], vertical_alignment="bottom")
        box.text_input(
            "Question", key="question", placeholder="Ask about pregnancy, birth or the time after it"
        )
        asked = go.form_submit_button("Run", type="primary", width="stretch")
        stop.form_submit_button(
            "Stop", width="stretch", disabled=run is None or run.over, on_click=run.stop if run else None
        )
    return asked


def _start(question: str, strategies: Sequence[rag_core.Strategy], earlier: LiveRun | None) -> None:
    """Begin a comparison; a question that cannot be asked leaves the earlier one on the screen."""
    try:
        asked = rag_core.check_question(question)
    except rag_core.RagError as error:
        st.error(str(error))
        return
    if earlier:
        earlier.stop()
    st.session_state["run"] = LiveRun(engine(), asked, strategies, earlier.traces if earlier else ())
    st.rerun()


def _results(run: LiveRun, strategies: Sequence[rag_core.Strategy]) -> None:
    st.divider()
    st.html(html.asked(run.question))
    for entry in _demo():
        if entry["text"] == run.question:
            st.info(f"**What to look at.** {entry['look']}")
    if notice := rag_core.question_notice(run.question):
        st.warning(notice)
    views = [
        _ColumnView(column, position, place, changed=_changed(run, position, strategies))
        for position, (column, place) in enumerate(
            zip(run.columns, st.columns(len(run.columns)), strict=True)
        )
    ]
    was_running = not run.over
    over = False
    while not over:
        run.watched()
        over = run.over  # asked before drawing, so that the last look shows everything
        for view in views:
            view.draw(run.question)
        if not over:
            time.sleep(TICK_S)
    if was_running:
        st.rerun()  # Stop is off again, and the charts are drawn
    _below(run)


def _changed(run: LiveRun, position: int, strategies: Sequence[rag_core.Strategy]) -> bool:
    """Whether the settings above a column are no longer those it ran with."""
    return position >= len(strategies) or strategies[position] != run.columns[position].strategy


class _ColumnView:
    """One column's places on the page; each is redrawn only when what it shows has changed."""

    def __init__(self, column: Column, position: int, place: DeltaGenerator, *, changed: bool) -> None:
        self._column = column
        self._position = position
        self._changed = changed
        self._shown: dict[str, str] = {}
        with place:
            st.subheader(rag_core.RECIPES[column.strategy.name].title, anchor=False)
            self._places = {
                name: st.empty() for name in ("progress", "rewrites", "answer", "warnings", "passages")
            }
            if column.trace:
                with st.expander("Time, tokens and cost per stage"):
                    st.html(html.bill(column.trace))

    def draw(self, question: str) -> None:
        """Bring the column up to date."""
        column, position = self._column, self._position
        self._put("progress", html.progress(column, changed=self._changed))
        self._put("rewrites", html.rewrites(column))
        self._put("answer", html.answer(column, position, engine().state))
        self._put("warnings", html.warnings(column))
        self._put("passages", html.passages(column, position, question))

    def _put(self, name: str, body: str) -> None:
        if body and self._shown.get(name) != body:
            self._shown[name] = body
            self._places[name].html(body)


def _below(run: LiveRun) -> None:
    """What concerns all columns: shared passages, time, cost."""
    traces = run.traces
    if not traces:
        return
    st.divider()
    st.subheader("Which passages did they share?", anchor=False)
    st.html(html.shared(run.columns))
    left, right = st.columns(2)
    with left:
        st.subheader("Where did the time go?", anchor=False)
        st.plotly_chart(charts.waterfall(traces), key="waterfall", config={"displayModeBar": False})
    with right:
        st.subheader("What was sent to models?", anchor=False)
        st.plotly_chart(charts.cost(traces), key="cost", config={"displayModeBar": False})
        st.caption(html.cost_note(traces))


main()
