"""The rooms and exams of this server, how people come in, and what a browser is known by in them."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import segno
import streamlit as st
from markupsafe import Markup

import rag_core
from pages.drawing import untrusted
from pages.drawing.fragments import render
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
HERE = ("localhost", "127.0.0.1", "::1")  # hosts that name the machine of whoever uses them


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


def page(name: str, title: str, asked: str, draw: Callable[[str], None]) -> None:
    """Draw a page made for phones: the room or exam whose code is in the address, else a form in which its code is `asked`."""
    with st.container(key=name):
        with st.container(key="unseen" if PARAMETER in st.query_params else "purpose"):
            st.header(untrusted.label(title), anchor=False)
        _come_in(draw, asked)


def _come_in(draw: Callable[[str], None], asked: str) -> None:
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


def joined(role: str, code: str, join: Callable[[str], object]) -> str:
    """What this browser is known by in a role, once `join`, which raises PanelError for a wrong code, has taken it."""
    mine = token(role)
    if st.session_state.get(f"joined.{role}") != code:
        with guesses().guess(address()):
            join(mine)
        st.session_state[f"joined.{role}"] = code
    return mine


def watch(gone_on: Callable[[], bool], seconds: float) -> None:
    """Draw the page again once the room or exam has gone on, looked at every so many seconds; until then nothing on it moves."""
    st.fragment(_look, run_every=seconds)(gone_on)


def _look(gone_on: Callable[[], bool]) -> None:
    try:
        again = gone_on()
    except PanelError:
        again = True  # it was deleted
    except rag_core.RagError:  # the database does not answer; what is on screen stays
        st.caption(t("The server does not answer just now. This page tries again by itself."))
        return
    if again:
        st.rerun()


def invitation(page: str, code: str, shown_on: str = "") -> Markup:
    """The way into a room or exam, for phones: its address, also as a QR code; `shown_on` is the page that draws it, if not the first."""
    app = (st.context.url or "").rstrip("/").removesuffix(f"/{shown_on}")
    address = f"{app}/{page}?{PARAMETER}={code}"
    picture = segno.make(address, error="m").svg_data_uri(scale=8, border=3, light="#fff")
    here = (urlsplit(address).hostname or HERE[0]) in HERE
    return render("room.invitation", picture=picture, code=code, address=address, here=here)


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
    if not browser and role in ("voter", "judge"):
        said = Message("This browser did not keep the cookie that tells people apart.")
        raise PanelError(said, Message("Allow cookies of this site, and open this address again."))
    return token_from(role, st.session_state.setdefault(f"panel.{role}", browser or secrets.token_hex()))
