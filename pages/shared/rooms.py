"""The rooms and exams of this server, how people come in, and what a browser is known by in them."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import problem, t
from pages.shared.cookie import visitor_of
from pages.shared.engine import engine
from rag_core.sessions.panel.room import Guesses, Round, token_from
from rag_core.values.errors import PanelError
from rag_core.values.message import Message

if TYPE_CHECKING:
    from rag_core.sessions.exam.store import Exams
    from rag_core.sessions.panel.store import Rooms

PARAMETER = "room"  # of the addresses of the pages vote and judge


@st.cache_resource(show_spinner=False)
def store() -> Rooms | None:
    """The rooms of this server; None where it keeps nothing. Raises RagError without their database."""
    from rag_core.sessions.panel.store import Rooms  # its database library is slow to import

    return Rooms.opened(settings) if (settings := engine().settings) else None


@st.cache_resource(show_spinner=False)
def exams() -> Exams | None:
    """The exams of this server, as `store` has the rooms."""
    from rag_core.sessions.exam.store import Exams

    return Exams.opened(settings) if (settings := engine().settings) else None


@st.cache_resource(show_spinner=False)
def guesses() -> Guesses:
    """The wrong codes that this app was given."""
    return Guesses()


def come_in(draw: Callable[[str], None], asked: str) -> None:
    """Draw the room or exam whose code is in the address; without one, or with a wrong one, a form that asks for it."""
    try:
        if code := st.query_params.get(PARAMETER, ""):
            draw(code)
            return
    except rag_core.RagError as error:
        untrusted.say(problem(error), st.warning)
        if not isinstance(error, PanelError):
            st.button(t("Try again"))
            return
    with st.form("join", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        typed = st.text_input(untrusted.label(asked), max_chars=12, width=320)
        pressed = st.form_submit_button(t("Come in"), type="primary")
    if pressed and typed.strip():
        st.query_params[PARAMETER] = typed.strip().upper()
        st.rerun()


def address() -> str:
    """Where the visitor's requests come from, as the nearest proxy says, if there is one."""
    behind = st.context.headers.get("X-Forwarded-For", "")
    return behind.rpartition(",")[2].strip() or st.context.ip_address or ""


def standing(asked: Round | None) -> tuple[int, bool, bool]:
    """What of a question changes the screen: its number, whether votes are refused, whether names are shown."""
    return (asked.number, asked.closed, asked.revealed) if asked else (0, True, False)


def token(role: str) -> str:
    """What this browser is known by in a role, random and the same after a reload; raises PanelError without our cookie."""
    browser = st.session_state.get(f"panel.{role}") or visitor_of(st.context.cookies)
    if not browser and role == "voter":
        said = Message("This browser did not keep the cookie that lets it vote once.")
        raise PanelError(said, Message("Allow cookies of this site, and open the room's address again."))
    if not browser and role == "judge":
        said = Message("This browser did not keep the cookie that tells judges apart.")
        raise PanelError(said, Message("Allow cookies of this site, and open the exam's address again."))
    return token_from(role, st.session_state.setdefault(f"panel.{role}", browser or secrets.token_hex()))
