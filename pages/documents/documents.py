"""The documents behind the answers: read them, search them, add and delete your own."""

from __future__ import annotations

import streamlit as st

from pages.documents import corpus_documents, questions, uploading, vector_plot
from pages.drawing.translate import declared, t
from pages.shared import account, corpora, question_header
from pages.shared.engine import engine
from rag_core.documents.documents import BUILTIN
from rag_core.language.questions import MAX_QUESTION

VIEWS = {
    "read": declared("Read"),
    "add": declared("Add your own"),
    "map": declared("Map"),
    "delete": declared("Delete a collection"),
}


def main() -> None:
    """Draw the page."""
    st.header(t("The documents behind the answers"), anchor=False)
    if asked := st.query_params.get("asked"):  # an urgent question led here
        if given := st.query_params.get("country"):
            st.session_state.setdefault("country", given)
        question_header.draw_urgent(
            asked[:MAX_QUESTION], [corpora.titled(st.query_params.get("corpus", BUILTIN))]
        )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        view = question_header.choose_view(VIEWS, "view")
        corpus = corpora.choose(in_address=True) if view != "add" else BUILTIN
    corpus_documents.notes()
    if view == "add":
        if not account.operators_only():
            uploading.draw()
    elif view == "map":
        vector_plot.draw(corpus)
    elif view == "delete":
        if not account.operators_only():
            corpus_documents.delete(corpus)
    elif corpus == BUILTIN:
        corpus_documents.builtin()
        if lab := engine().lab:
            questions.taught(lab)
            if account.may_operate():
                uploading.chunking(corpus, lab)
    else:
        corpus_documents.draw(corpus)
    st.session_state.pop(corpus_documents.NOTES, None)  # a run that another overtakes keeps them for it


main()
