"""The country that a reader chose: its guidance leads where sources differ, and its phone numbers are shown."""

import streamlit as st

from pages.drawing import untrusted
from pages.drawing.translate import language, t
from pages.shared.engine import engine
from rag_core.safety.urgency.helplines import Helplines, countries, helplines


def choose() -> None:
    """Draw the selector; the choice is kept for the session."""
    names, default = countries(language()), ""
    with untrusted.errors(st.warning):
        helplines(_setting())
        default = _setting()
    codes = ["", *names]
    untrusted.choose(
        t("Country: its guidance leads and its numbers are shown"), codes,
        lambda code: names.get(code) or t("No country chosen"), "country", index=codes.index(default),
        label_visibility="collapsed", persist_state="session",
    )  # fmt: skip


def ask(key: str) -> None:
    """Ask for the country where a number is needed and none is chosen; the answer is the page's choice."""
    names = countries(language())
    st.selectbox(
        t("Which country are you in? Its emergency number is then shown here."), list(names), index=None,
        format_func=lambda code: untrusted.plain(names.get(code, code)), placeholder=t("Choose a country"), key=key,
        width=360, on_change=_answered, args=(key,),
    )  # fmt: skip


def _answered(key: str) -> None:
    if answer := st.session_state.get(key):
        st.session_state["country"] = answer


def chosen() -> str:
    """The country's ISO 3166 code; empty for none."""
    code: str = st.session_state.get("country", _setting())
    return code if code in countries() else ""


def numbers() -> Helplines | None:
    """The phone numbers of the chosen country."""
    return helplines(chosen())


def _setting() -> str:
    settings = engine().settings
    return settings.country.upper() if settings else ""
