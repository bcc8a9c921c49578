"""The built-in documents, with the guidance each one cites and what its file hides."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

import rag_core
from pages.documents import library
from pages.drawing import untrusted
from pages.drawing.translate import language, t, translated
from pages.shared.engine import engine
from rag_core.lab.opening import builtin_files
from rag_core.values.sources import Source, age_years, is_old


@st.cache_data(show_spinner=False)
def _documents() -> tuple[list[rag_core.Document], list[str]]:
    reading = builtin_files(rag_core.read_settings())
    return reading.documents, [
        rag_core.Message("{file} is not shown: {reason}.", file=file, reason=reason.rstrip("."))
        for file, reason in reading.failed
    ]


@untrusted.errors()
def draw() -> None:
    """Draw what the documents are, and the documents."""
    documents, faults = _documents()
    for fault in faults:
        untrusted.say(translated(fault), st.warning)
    if not documents:
        return
    cited = all(document.sources for document in documents)
    st.caption(
        t(
            "{count} documents, written for this demonstration and not reviewed by a clinician. Each cites "
            "the guidance it is based on.",
            count=len(documents),
        )
        if cited
        else t("{count} documents; some cite no guidance.", count=len(documents))
    )
    with untrusted.errors():
        library.draw(documents, engine().lab, _foot)


def _foot(document: rag_core.Document) -> None:
    """What the file hides, and the guidance it cites."""
    if document.hidden:
        untrusted.draw(_hidden(document.hidden))
    if document.sources:
        st.markdown(
            t("**Guidance cited by this document**")
            + "\n"
            + "".join(
                f"\n- {untrusted.label(source.in_full(language()))}{_age(source)}"
                for source in document.sources
            )
        )


def _age(source: Source) -> str:
    """How old a source is if it is old; empty otherwise."""
    return t(" · **{count:d} years old**", count=age_years([source])) if is_old([source]) else ""


def _hidden(pieces: Sequence[str]) -> str:
    """What of the file is not read: what it hides, comments, and what has no text."""
    rows = "".join(f"<li>{untrusted.escape(piece)}</li>" for piece in pieces)
    return (
        f'<div class="rl-hidden"><b>{t("In the file, but not read:")}</b><ul>{rows}</ul><small>'
        f"{t('None of this is searched, quoted or sent to a model.')}</small></div>"
    )
