"""The rooms of this server, and what a browser is known by in them."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import streamlit as st

from pages.shared.cookie import COOKIE
from pages.shared.engine import engine

if TYPE_CHECKING:
    from rag_core.sessions.panel import Rooms, Round

PARAMETER = "room"  # of the address of the vote page


@st.cache_resource(show_spinner=False)
def store() -> Rooms | None:
    """The rooms of this server; None where it keeps nothing.

    Raises:
        RagError: their database cannot be connected to with these settings.
    """
    from rag_core.sessions.panel import open_rooms  # its database library is slow to import

    settings = engine().settings
    return open_rooms(settings) if settings else None


def standing(asked: Round | None) -> tuple[int, bool, bool]:
    """What of a question changes the screen: its number, whether votes are refused, whether names are shown."""
    return (asked.number, asked.closed, asked.revealed) if asked else (0, True, False)


def token(role: str) -> str:
    """What this browser is known by in a role, the same after a reload: random, since it comes from its cookie.

    It names nobody: neither the account of who signed in nor what the budgets know a visitor by can be told from it.
    """
    from rag_core.sessions.panel import token_from

    given = st.context.cookies.get(COOKIE) or secrets.token_hex()
    return token_from(role, st.session_state.setdefault("panel.browser", given))
