"""The frame of every page: style, what this is not, the engine in use."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

import rag_core
from pages.shared import corpora, country, foreign, html, palette, setups
from pages.shared.engine import Engine, engine
from pages.shared.i18n import said, switch, t

STYLE = Path(__file__).with_name("style.css")


def frame() -> None:
    """Draw the frame; while the engine starts, its status line refreshes every second."""
    foreign.draw(palette.css())
    st.html(STYLE)
    with st.container(key="languages"):
        switch()
    foreign.draw(html.framing(country.numbers()))
    opening = engine()
    if not opening.settled.is_set():
        _warming()
        return
    failure = _badge(opening)
    if failure and st.button(t("Rebuild the index") if opening.lab else t("Try again")):
        engine.clear()  # opening the built-in documents again builds what is missing
        st.rerun()
    for warning in opening.lab.warnings if opening.lab else ():
        st.warning(foreign.label(said(warning)))


@st.fragment(run_every=1.0)
def _warming() -> None:
    opening = engine()
    _badge(opening)
    if opening.settled.is_set():
        st.rerun()  # the whole page, without this clock


def _badge(opening: Engine) -> rag_core.RagError | None:
    """Draw the status line; returns why no question can be answered, such as an index that was deleted."""
    run = st.session_state.get("run")
    waiting = run is not None and not run.over  # its columns show the engine's state
    state = t("one moment") if waiting else opening.state
    models, failure = None, opening.error
    if opening.lab:
        try:
            models = opening.lab.engine
        except rag_core.RagError as error:
            failure = error
        else:
            models |= {"index": corpora.index_name() or models["index"]}
    foreign.draw(html.engine_badge(models, state, failure, opening.outside, setups.other_models()))
    return failure
