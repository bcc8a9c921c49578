"""The documents behind the answers: read them, search them, add and delete your own."""

from __future__ import annotations

import streamlit as st

import rag_core
from pages.shared import builtin_documents, chunking_form, corpora, own_documents, uploading, vector_plot
from pages.shared.engine import engine
from pages.shared.i18n import declared, said, t

READ, ADD, MAP = declared("Read"), declared("Add your own"), declared("Map")


def main() -> None:
    """Draw the page."""
    st.header(t("The documents behind the answers"), anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        view = st.segmented_control(
            t("View"), [READ, ADD, MAP], default=READ, key="view", format_func=said, required=True, bind="query-params",
            label_visibility="collapsed",
        )  # fmt: skip
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


main()
