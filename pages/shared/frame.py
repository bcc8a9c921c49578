"""What stands on every page: style, disclaimer, the engine in use."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.shared import html
from pages.shared.engine import Engine, engine

STYLE = Path(__file__).with_name("style.css")


def frame() -> None:
    """Draw the frame; while the engine warms up, its line is brought up to date every second."""
    st.html(STYLE)
    held = engine()
    if not held.settled.is_set():
        _warming()
        return
    _badge(held)
    if held.error and st.button("Try again"):
        engine.clear()
        st.rerun()
    for warning in held.lab.warnings if held.lab else ():
        st.warning(warning)


@st.fragment(run_every=1.0)
def _warming() -> None:
    held = engine()
    _badge(held)
    if held.settled.is_set():
        st.rerun()  # the whole page, without this clock


def _badge(held: Engine) -> None:
    run = st.session_state.get("run")
    waiting = run is not None and not run.over  # its columns say what the engine is doing
    state = "one moment" if waiting else held.state
    st.html(html.engine_badge(held.lab.engine if held.lab else None, state, held.error))
