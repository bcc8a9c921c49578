"""How a corpus is cut into passages, and whether they have contexts; changing either indexes it again."""

from __future__ import annotations

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import problem, t
from pages.shared.engine import engine
from pages.shared.measuring import jobs, started_here, under_way
from rag_core.documents.documents import BUILTIN
from rag_core.indexing import Chunking
from rag_core.indexing.chunking import CHUNK_SIZES
from rag_core.jobs import start_reindexing

SMALL, LARGE = CHUNK_SIZES


def draw(corpus: str, lab: rag_core.Lab) -> None:
    """Draw the form, with what is under way above it; nothing for an index that is lost, which the status line says."""
    under_way("reindex")
    try:
        now, enriched, cost = lab.index.manifest.chunking, lab.enriched is not None, _cost(lab)
    except rag_core.RagError:
        return
    built_in = corpus == BUILTIN
    with st.expander(t("How they are cut into passages")), st.form("chunking", border=False):
        own_size = st.toggle(
            t("Choose the size"), value=bool(now.size), key=f"chunks.own.{corpus}",
            help=t("Otherwise a passage is one section, as far as the bundled embedding model reads: 254 word pieces, "
            "320 in Spanish."),
        )  # fmt: skip
        size = st.slider(
            t("Most word pieces of a passage"), SMALL, LARGE, now.size or 254, 2, key=f"chunks.size.{corpus}",
            help=t("With its title and headings. Counts only while the size is chosen. An embedding model reads no "
            "further than its window, 254 word pieces for the bundled one; keyword search reads all."),
        )  # fmt: skip
        overlap = st.slider(
            t("Most word pieces repeated from the passage before"), 0, SMALL // 2, now.overlap, 2,
            key=f"chunks.overlap.{corpus}", help=t("Whole sentences, where a long section is cut."),
        )  # fmt: skip
        enrich = st.toggle(
            t("Add a context to each passage"), value=enriched, disabled=built_in,
            key=f"chunks.enrich.{corpus}",
            help=t("For the strategy Contextual. The built-in documents keep theirs; Contextual's own control leaves "
            "them out."),
        )  # fmt: skip
        pressed = st.form_submit_button(t("Index again"))
        st.caption(untrusted.label(cost))
    if pressed:
        _start(corpus, Chunking(size if own_size else 0, overlap), enrich=enrich or built_in)


def _start(corpus: str, chunking: Chunking, *, enrich: bool) -> None:
    settings = engine().settings
    assert settings is not None  # a lab is open
    try:
        started_here(
            start_reindexing(
                jobs(), lambda: engine().wait().engines, settings, corpus, chunking, enrich=enrich
            )
        )
    except rag_core.RagError as error:
        st.error(untrusted.label(problem(error)))
        return
    st.rerun()


def _cost(lab: rag_core.Lab) -> str:
    count = len(lab.index.passages)
    if lab.engines.embedder.local:
        return t(
            "Its {count:,} passages are embedded again on this server, which takes a minute or two per thousand. "
            "Questions use the current index until then.",
            count=count,
        )
    return t(
        "Its {count:,} passages are embedded again by {model}. You see the cost and agree to "
        "it before anything is sent.",
        count=count,
        model=lab.engines.embedder.name,
    )
