"""Who the visitor is, and what they may still spend."""

from __future__ import annotations

import secrets

import streamlit as st

import rag_core
from pages.shared import account
from pages.shared.cookie import COOKIE
from pages.shared.engine import engine
from rag_core.runtime.spending import Payer, Spending, Visitor
from rag_core.values.pricing import PriceList


def visitor() -> str:
    """The person who is signed in, else the browser that visits; the session alone where it takes no cookies."""
    if person := account.owner():
        return person
    kept: str = st.session_state.setdefault(
        "visitor", st.context.cookies.get(COOKIE) or secrets.token_urlsafe()
    )
    return kept


def payer() -> Payer:
    """The visitor, with what is left of the budgets.

    Raises:
        RagError: the price list cannot be read.
    """
    return Visitor(spending(), visitor())


@st.cache_resource(show_spinner=False)
def spending() -> Spending:
    """What all visitors of this server have spent.

    Raises:
        RagError: the price list cannot be read.
    """
    settings = engine().settings or rag_core.read_settings()
    return Spending(settings, PriceList.of(settings))
