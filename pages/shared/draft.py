"""A question that is in the box but was not run: the browser keeps it in the address, so that a reload brings it back.

The form hides what is typed from the server until it is submitted. So the page's script writes it into the address, and
the server reads it once, at the start of a visit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

import rag_core
from pages.frame.translate import plural

NAME = "typed"


def take() -> None:
    """Put the question that the address keeps into the box, once a visit; before the box is drawn."""
    if "draft.taken" in st.session_state:
        return
    st.session_state["draft.taken"] = True
    typed = st.query_params.get(NAME, "")
    if not typed.strip():
        return
    most = rag_core.MAX_QUESTION
    if len(typed) > most:
        problem = plural(
            "The typed question has {count:,} character; only the first {most:,} are used.",
            "The typed question has {count:,} characters; only the first {most:,} are used.",
            len(typed),
            most=most,
        )
        st.session_state["misread"] = [*st.session_state.get("misread", ()), problem]
    st.session_state["question"] = typed[:most]


def without(parameters: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The parameters of an address that the server writes: all but the browser's own."""
    return {name: list(values) for name, values in parameters.items() if name != NAME}
