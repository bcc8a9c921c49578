"""What the contexts of passages are, and the way to see what they do: Contextual with and without them."""

from __future__ import annotations

import streamlit as st

import rag_core
from pages.drawing.translate import t
from pages.shared import permalink


def draw(lab: rag_core.Lab) -> None:
    """Say what a context is, with a link that compares; without contexts, say how to add them."""
    what = t(
        "A context is a line that places a passage in its document: words of the document, or a sentence by a "
        "language model. Contextual retrieval searches it together with the passage."
    )
    if not lab.enriched:
        st.caption(
            f"{what} {t('These passages have none: add them under “How they are cut into passages”.')}"
        )
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(what, width="content")
        columns = [rag_core.set_up(("contextual", {"enriched": value})) for value in (True, False)]
        permalink.link(t("Compare with and without contexts"), columns, lab.corpus)
