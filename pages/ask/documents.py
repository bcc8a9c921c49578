"""The built-in documents in full, with the guidance each one cites."""

from __future__ import annotations

import re

import streamlit as st

import rag_core
from pages.shared import foreign

NAMES = {"en": "English", "es": "Español"}  # of languages


@st.cache_data(show_spinner=False)
def _documents() -> tuple[list[rag_core.Document], list[str]]:
    documents, faults = rag_core.builtin_documents(rag_core.read_settings().data)
    return documents, [str(fault) for fault in faults]


def main() -> None:
    """Draw the page."""
    st.header("The documents behind the answers", anchor=False)
    try:
        documents, faults = _documents()
    except rag_core.RagError as error:
        st.error(foreign.label(error))
        return
    for fault in faults:
        st.warning(foreign.label(fault))
    if not documents:
        return
    st.caption(
        f"{len(documents)} documents, written for this demonstration and not reviewed by a clinician. "
        "Each cites the guidance it is based on."
    )
    language, topic, words = st.columns([1, 2, 3], vertical_alignment="bottom")
    languages = sorted({document.language for document in documents})
    chosen = language.segmented_control(
        "Language",
        languages,
        key="documents.language",
        format_func=lambda code: foreign.label(NAMES.get(code, code)),
    )
    topics = topic.multiselect(
        "Topic",
        sorted({document.topic for document in documents}),
        key="documents.topics",
        format_func=foreign.plain,
    )
    wanted = words.text_input("Words in the text", key="documents.words")
    found = [
        document
        for document in documents
        if chosen in (None, document.language)
        and (not topics or document.topic in topics)
        and document.contains(wanted)
    ]
    if not found:
        st.info("No matches. Remove a filter.")
        return
    document = st.selectbox(
        f"{len(found)} documents",
        found,
        format_func=lambda one: foreign.plain(f"{one.title} ({one.language})"),
    )
    with st.container(border=True, width=820):
        st.subheader(foreign.label(document.title), anchor=False)
        foreign.draw(_body(document))
        st.divider()
        st.markdown(
            "**Guidance cited by this document**\n"
            + "".join(f"\n- {foreign.label(source)}" for source in document.sources)
        )
        st.caption(foreign.label(f"{document.id} · {document.topic} · {document.word_count} words"))


def _body(document: rag_core.Document) -> str:
    """The text with its headings; everything else as it was written."""
    text = document.text.removeprefix(f"# {document.title}").strip()
    parts = []
    for part in re.split(r"^(#{1,6} .*)$", text, flags=re.MULTILINE):
        if part.startswith("#"):
            parts.append(f"<h4>{foreign.escape(part.lstrip('# '))}</h4>")
        elif part.strip():
            parts.append(f'<div class="rl-text">{foreign.escape(part.strip())}</div>')
    return "".join(parts)


main()
