"""The documents behind the answers: read them, search them, add and delete your own."""

from __future__ import annotations

import streamlit as st

import rag_core
from pages.shared import builtin_documents, chunking_form, corpora, own_documents, uploading, vector_plot
from pages.shared.engine import engine
from pages.shared.i18n import declared, said, t

READ, ADD, MAP = declared("Read"), declared("Add your own"), declared("Map")
VIEWS = {"read": READ, "add": ADD, "map": MAP}  # by their names in the address, the same in every language


def main() -> None:
    """Draw the page."""
    st.header(t("The documents behind the answers"), anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        view = _view()
        corpus = corpora.choose(in_address=True) if view != ADD else rag_core.BUILTIN
    own_documents.notes()
    if view == ADD:
        uploading.draw()
    elif view == MAP:
        vector_plot.draw(corpus)
    elif corpus == rag_core.BUILTIN:
        builtin_documents.draw()
        if lab := engine().lab:
            chunking_form.draw(corpus, lab)
    else:
        own_documents.draw(corpus)
    st.session_state.pop(own_documents.NOTES, None)  # a run that another overtakes keeps them for it


def _view() -> str:
    """Draw what chooses the view; the address keeps one that is not the first."""
    asked = st.query_params.get("view")
    if "view" not in st.session_state or asked != st.session_state.get("view.asked"):
        st.session_state["view"] = asked if asked in VIEWS else "read"
    st.segmented_control(
        t("View"), list(VIEWS), key="view", format_func=lambda name: said(VIEWS[name]), required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    chosen: str = st.session_state["view"]
    wanted = chosen if chosen != "read" else None
    if wanted:
        st.query_params["view"] = wanted
    else:
        st.query_params.pop("view", None)
    st.session_state["view.asked"] = wanted
    return VIEWS[chosen]


main()
