"""What stands on every page: style, disclaimer, the engine in use."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.shared import html
from pages.shared.engine import engine

STYLE = Path(__file__).with_name("style.css")


def frame() -> None:
    """Draw the frame."""
    st.html(STYLE)
    held = engine()
    if held.settled.is_set():
        _badge()
    else:
        st.fragment(_badge, run_every=1.0)()
    if held.error and st.button("Try again", icon="🔄"):
        engine.clear()
        st.rerun()


def _badge() -> None:
    held = engine()
    st.html(html.engine_badge(held.lab.engine if held.lab else None, held.state, held.error))
    if held.settled.is_set() and not st.session_state.get("engine_seen"):
        st.session_state["engine_seen"] = True
        st.rerun()
    for warning in held.lab.warnings if held.lab else ():
        st.warning(warning)
