"""Presenter mode: large type, no controls, strategies without names until they are revealed, and keys for all of it."""

from __future__ import annotations

import streamlit as st

from pages.compare import question
from pages.frame import untrusted
from pages.frame.translate import t
from pages.shared.engine import engine
from pages.shared.live import Comparison

KEYS = {"run": "G", "stop": "S", "next": "N", "reveal": "V", "back": "B", "enter": "F2"}

AT_ONCE = "present.at-once"  # that the next question is to be run without waiting for Run


def on() -> bool:
    """Whether the page is in presenter mode."""
    presenting: bool = st.session_state.get("presenting", False)
    return presenting


def blind() -> bool:
    """Whether the strategies' names are hidden."""
    return on() and not st.session_state.get("revealed", False)


def upcoming() -> bool:
    """Whether the question on screen waits to be run, so that no other question's answers may stand below it."""
    return on() and bool(st.session_state.get("upcoming"))


def button() -> None:
    """The button that enters presenter mode."""
    st.button(
        t("Present"),
        key="present",
        shortcut=KEYS["enter"],
        help=t("Large type, no controls, strategies named A, B, C until you reveal them."),
        on_click=_enter,
    )


def bar(run: Comparison | None, *, running: bool) -> bool:
    """Draw the question and the few buttons of presenter mode; whether Run was pressed."""
    asked = st.session_state.get("question", "")
    untrusted.draw(
        f'<p class="rl-presented">{untrusted.escape(asked or t("Press “Next question” to begin."))}</p>'
    )
    with st.container(horizontal=True, gap="small", key="presenter-bar"):
        pressed = st.button(
            t("Run"), key="present.run", type="primary", shortcut=KEYS["run"], disabled=not asked.strip()
        )
        st.button(
            t("Stop"),
            key="present.stop",
            shortcut=KEYS["stop"],
            disabled=not running,
            on_click=run.stop if run else None,
        )
        st.button(t("Next question"), key="present.next", shortcut=KEYS["next"], on_click=_next, args=(run,))
        st.button(
            t("Reveal") if blind() else t("Hide names"),
            key="present.reveal",
            shortcut=KEYS["reveal"],
            on_click=_reveal,
        )
        st.button(t("Leave"), key="present.back", shortcut=KEYS["back"], on_click=_leave)
    return pressed or st.session_state.pop(AT_ONCE, False)


def _enter() -> None:
    st.session_state.update(presenting=True, revealed=False, upcoming=False, panel=None)


def _leave() -> None:
    st.session_state["presenting"] = False


def _reveal() -> None:
    st.session_state["revealed"] = blind()


def _next(run: Comparison | None) -> None:
    """Go to the next question: run it at once where that costs nothing, so that no slide is empty."""
    if run:
        run.stop()
    question.take_next()
    st.session_state.update(revealed=False, upcoming=True)
    if engine().free:
        st.session_state[AT_ONCE] = True
    else:  # another turn, so that the answers to the question before vanish at once
        st.session_state["turn"] = 1 - st.session_state.get("turn", 0)
