"""The rooms of this server, and what a browser is known by in them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.cookie import visitor_of
from pages.shared.engine import engine
from rag_core.sessions.panel.room import Guesses, Round, token_from
from rag_core.values.errors import PanelError
from rag_core.values.message import Message

if TYPE_CHECKING:
    from rag_core.sessions.panel.store import Rooms

PARAMETER = "room"  # of the address of the vote page


@st.cache_resource(show_spinner=False)
def store() -> Rooms | None:
    """The rooms of this server; None where it keeps nothing. Raises RagError without their database."""
    from rag_core.sessions.panel.store import Rooms  # its database library is slow to import

    settings = engine().settings
    return Rooms.opened(settings) if settings else None


@st.cache_resource(show_spinner=False)
def guesses() -> Guesses:
    """The wrong codes that this app was given."""
    return Guesses()


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
    return token_from(role, st.session_state.setdefault(f"panel.{role}", browser or secrets.token_hex()))
