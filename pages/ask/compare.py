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
from pages.shared import bills, charts, corpora, country, foreign, html, passages, private
from pages.shared.comparisons import comparisons
from pages.shared.controls import settings, strategy_columns
from pages.shared.engine import engine
from pages.shared.live import Column, LiveRun

GALLERY = Path(__file__).parents[2] / "data" / "demo.toml"
TICK_S = 0.08  # between two redraws of a running comparison
ADDRESS_S = 3.0  # by then the browser knows a new comparison's address
LANGUAGES = {"en": "English", "es": "Español"}


def main() -> None:
    """Draw the page."""
    st.header("Which retrieval strategy answers best?", anchor=False)
    run = _current()
    if st.session_state.get("forgotten"):
        st.info("The comparison at this address is no longer stored on this server. Ask the question again.")
    if corpora.chosen() == rag_core.BUILTIN:
        with st.expander("Demo questions", expanded=run is None):
            _gallery()
    running = run is not None and not run.over  # read once: what is drawn for a running comparison is redrawn
    pressed = _question_box(run, running=running)
    with st.container(horizontal=True):
        country.choose()
        corpora.choose()
    asking = st.container()
    strategies = strategy_columns(len(run.columns) if run else 0)
    question = st.session_state["question"] if pressed else private.chosen()
    if question is not None:
        _start(question, strategies, run)
    held = private.held()
    if held:
        with asking:
            _urgent(rag_core.triage(held))  # what to do at once does not wait for the choice
            private.ask(held)
    if run is None:
        if not held:
            st.info("Pick a demo question or type your own, then press **Run**.")
        return
    run.settings = settings()
    with _place():
        _results(run, strategies, running=running)


def _current() -> LiveRun | None:
    """The comparison to show: the one in the page's address, else the session's last. Restores its widgets."""
    current: LiveRun | None = st.session_state.get("run")
    requested = st.query_params.get("run")
    # until the browser knows the address of a comparison just started, it still sends the one before
    just_started = current is not None and time.monotonic() - current.started < ADDRESS_S
    if requested and not just_started and (current is None or current.id != requested):
        found = comparisons().find(requested)
        if found:
            st.session_state.update(found.settings)
            _show(found)
            current = found
        else:
            st.session_state["forgotten"] = True
            del st.query_params["run"]
    if current:
        comparisons().keep(current)
        if st.query_params.get("run") != current.id:
            st.query_params["run"] = current.id
    return current


def _show(run: LiveRun) -> None:
    """Make this comparison the session's current one."""
    st.session_state["run"] = run
    st.session_state["forgotten"] = False
    st.session_state["turn"] = 1 - st.session_state.get("turn", 0)


def _place() -> DeltaGenerator:
    """Where results are drawn: comparisons alternate between two places, so that old results vanish at once.

    In a single place Streamlit would leave them, greyed out, until the new ones are complete.
    """
    mine: int = st.session_state["turn"]
    places = [st.container() if turn == mine else st.empty() for turn in range(2)]
    return places[mine]


@st.cache_data
def _demo() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = tomllib.loads(GALLERY.read_text(encoding="utf-8"))["question"]
    return entries


def _gallery() -> None:
    """The demo questions; picking one fills in the question without running it."""
    texts = {entry["label"]: entry["text"] for entry in _demo()}
    for code, name in LANGUAGES.items():
        labels = [entry["label"] for entry in _demo() if entry["language"] == code]
        key = f"gallery.{code}"
        st.pills(name, labels, key=key, format_func=foreign.label, on_change=_take, args=(key, texts))


def _take(key: str, texts: dict[str, str]) -> None:
    if st.session_state[key]:
        st.session_state["question"] = texts[st.session_state[key]]
        st.session_state[key] = None


def _question_box(run: LiveRun | None, *, running: bool) -> bool:
    """The question and its buttons; whether Run was pressed.

    In a form, because otherwise leaving the box reruns the page and swallows a click on a link to another page.
    """
    with st.form("ask", border=False):
        box, go, stop = st.columns([8, 1, 1], vertical_alignment="bottom")
        box.text_area(
            "Question",
            key="question",
            height=80,
            max_chars=rag_core.MAX_QUESTION,
            placeholder=foreign.plain(_placeholder()),
            persist_state="session",
        )
        pressed = go.form_submit_button("Run", type="primary", width="stretch")
        stop.form_submit_button(
            "Stop", width="stretch", disabled=not running, on_click=run.stop if run else None
        )
    return pressed


def _placeholder() -> str:
    profile = corpora.profile(corpora.chosen())
    about = f"Ask about {profile.subject}" if profile and profile.subject else "Ask a question"
    return f"{about} (up to {rag_core.MAX_QUESTION:,} characters)"


def _start(question: str, strategies: Sequence[rag_core.Strategy], earlier: LiveRun | None) -> None:
    """Start a comparison; after an invalid question the earlier one stays on screen."""
    try:
        checked = rag_core.check_question(question)
    except rag_core.RagError as error:
        st.error(foreign.label(error))
        return
    sent = private.cleared(checked)
    if sent is None:
        return
    if earlier:
        earlier.stop()
    _show(
        LiveRun(
            engine(), sent, strategies, earlier.traces if earlier else (), country.chosen(), corpora.chosen()
        )
    )
    _place()
    st.rerun()


def _results(run: LiveRun, strategies: Sequence[rag_core.Strategy], *, running: bool) -> None:
    st.divider()
    foreign.draw(html.results_heading(run.question))
    _urgent(rag_core.triage(run.question))
    for entry in _demo():
        if entry["text"] == run.question and run.corpus == rag_core.BUILTIN:
            st.info(f"**What to look for.** {foreign.label(entry['look'])}")
    profile = corpora.profile(run.corpus)
    if profile and (notice := rag_core.question_notice(run.question, profile.languages)):
        st.warning(foreign.label(notice))
    places = st.columns(max(len(run.columns), len(strategies)))
    for place in places[len(run.columns) :]:
        with place:
            foreign.draw('<p class="rl-hint">Press <b>Run</b> to fill this column.</p>')
    views = [
        _ColumnView(column, position, place, changed=_changed(run, position, strategies))
        for position, (column, place) in enumerate(zip(run.columns, places, strict=False))
    ]
    pulse = st.empty()
    over = False
    while not over:
        run.mark_watched()
        over = run.over  # read before drawing, so that the last redraw shows everything
        for view in views:
            view.draw(run.question)
        pulse.empty()  # lets Streamlit handle the user's clicks: it does so only inside its own calls
        if not over:
            time.sleep(TICK_S)
    if running:
        st.rerun()  # disables Stop and draws the charts
    _below(run)


def _urgent(triage: rag_core.Triage) -> None:
    """What to do about an urgent question, before any answer."""
    if not triage.urgent:
        return
    foreign.draw(html.urgent(triage, country.numbers()))


def _changed(run: LiveRun, position: int, strategies: Sequence[rag_core.Strategy]) -> bool:
    """Whether the settings above a column differ from those it ran with."""
    if position >= len(strategies) or (country.chosen(), corpora.chosen()) != (run.country, run.corpus):
        return True
    return strategies[position] != run.columns[position].strategy


class _ColumnView:
    """One column's places on the page; each is redrawn only when its content changes."""

    def __init__(self, column: Column, position: int, place: DeltaGenerator, *, changed: bool) -> None:
        self._column = column
        self._position = position
        self._changed = changed
        self._shown: dict[str, str] = {}
        with place:
            st.subheader(foreign.label(rag_core.describe(column.strategy)), anchor=False)
            self._places = {
                name: st.empty() for name in ("progress", "rewrites", "answer", "warnings", "passages")
            }
            if column.trace:
                with st.expander("Time, tokens and cost per stage"):
                    foreign.draw(bills.bill(column.trace))

    def draw(self, question: str) -> None:
        """Bring the column up to date."""
        column, position = self._column, self._position
        self._put("progress", html.progress(column, changed=self._changed))
        self._put("rewrites", html.rewrites(column))
        self._put("answer", html.answer(column, position, engine().state))
        self._put("warnings", html.warnings(column))
        self._put("passages", passages.passages(column, position, question))

    def _put(self, name: str, body: str) -> None:
        if body and self._shown.get(name) != body:
            self._shown[name] = body
            with self._places[name]:
                foreign.draw(body)


def _below(run: LiveRun) -> None:
    """What covers all columns: shared passages, time, cost."""
    traces, cost = run.traces, bills.cost_note(run.calls)
    st.divider()
    if not traces:
        st.caption(foreign.label(cost))
        return
    if rag_core.triage(run.question).urgent:
        st.subheader("Did they say what to do now?", anchor=False)
        checks = [
            (rag_core.describe(column.strategy), rag_core.check_safety(column.trace))
            for column in run.columns
            if column.trace
        ]
        foreign.draw(html.safety(checks))
    st.subheader("Which passages did they share?", anchor=False)
    foreign.draw(passages.shared(run.columns))
    left, right = st.columns(2)
    with left:
        st.subheader("Where did the time go?", anchor=False)
        foreign.chart(charts.waterfall(traces), "waterfall")
    with right:
        st.subheader("What did it cost?", anchor=False)
        foreign.chart(charts.cost(traces), "cost")
        st.caption(foreign.label(cost))


main()
