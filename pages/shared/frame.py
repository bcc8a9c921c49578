"""The frame of every page: style, disclaimer, the engine in use."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.shared import html
from pages.shared.engine import Engine, engine

STYLE = Path(__file__).with_name("style.css")


def frame() -> None:
    """Draw the frame; while the engine starts, its status line refreshes every second."""
    st.html(STYLE)
    opening = engine()
    if not opening.settled.is_set():
        _warming()
        return
    _badge(opening)
    if opening.error and st.button("Try again"):
        engine.clear()
        st.rerun()
    for warning in opening.lab.warnings if opening.lab else ():
        st.warning(warning)


@st.fragment(run_every=1.0)
def _warming() -> None:
    opening = engine()
    _badge(opening)
    if opening.settled.is_set():
        st.rerun()  # the whole page, without this clock


def _badge(opening: Engine) -> None:
    run = st.session_state.get("run")
    waiting = run is not None and not run.over  # its columns show the engine's state
    state = "one moment" if waiting else opening.state
    st.html(html.engine_badge(opening.lab.engine if opening.lab else None, state, opening.error))
