"""The built-in documents in full, with the guidance each one cites and what its file hides."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

import rag_core
from pages.shared import foreign, whole_document
from pages.shared.i18n import problem, said, t

NAMES = {"en": "English", "es": "Español"}  # of languages


@st.cache_data(show_spinner=False)
def _documents() -> tuple[list[rag_core.Document], list[str]]:
    reading = rag_core.builtin_files(rag_core.read_settings())
    return reading.documents, [
        rag_core.Message("{file} is not shown: {reason}.", file=file, reason=reason.rstrip("."))
        for file, reason in reading.failed
    ]


def draw() -> None:
    """Draw the filters and the chosen document."""
    try:
        documents, faults = _documents()
    except rag_core.RagError as error:
        st.error(foreign.label(problem(error)))
        return
    for fault in faults:
        st.warning(foreign.label(said(fault)))
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
    language, topic, words = st.columns([1, 2, 3], vertical_alignment="bottom")
    languages = sorted({document.language for document in documents})
    chosen = language.segmented_control(
        t("Language"),
        languages,
        key="documents.language",
        format_func=lambda code: foreign.label(NAMES.get(code, code)),
    )
    topics = topic.multiselect(
        t("Topic"),
        sorted({document.topic for document in documents if document.topic}),
        key="documents.topics",
        placeholder=t("Choose"),
        format_func=foreign.plain,
    )
    wanted = words.text_input(t("Words in the text"), key="documents.words")
    found = [
        document
        for document in documents
        if chosen in (None, document.language)
        and (not topics or document.topic in topics)
        and document.contains(wanted)
    ]
    if not found:
        st.info(t("No matches. Remove a filter."))
        return
    asked = st.query_params.get("document")
    document = st.selectbox(
        t("{count} documents", count=len(found)),
        found,
        index=next((place for place, one in enumerate(found) if one.id == asked), 0),
        format_func=lambda one: foreign.plain(f"{one.title} ({one.language})"),
    )
    with st.container(border=True, width=820):
        st.subheader(foreign.label(document.title), anchor=False)
        whole_document.draw(document)
        if document.hidden:
            foreign.draw(_hidden(document.hidden))
        st.divider()
        if document.sources:
            st.markdown(
                t("**Guidance cited by this document**")
                + "\n"
                + "".join(f"\n- {foreign.label(source)}{_age(source)}" for source in document.sources)
            )
        about = (document.id, document.topic, t("{count} words", count=document.word_count))
        st.caption(foreign.label(" · ".join(part for part in about if part)))


def _age(source: rag_core.Source) -> str:
    """How old a source is if it is old; empty otherwise."""
    return (
        t(" · **{count:d} years old**", count=rag_core.age_years([source]))
        if rag_core.is_old([source])
        else ""
    )


def _hidden(pieces: Sequence[str]) -> str:
    """What the file hides from its readers."""
    rows = "".join(f"<li>{foreign.escape(piece)}</li>" for piece in pieces)
    return (
        f'<div class="rl-hidden"><b>{t("Hidden in the file, not read:")}</b><ul>{rows}</ul><small>'
        f"{t('Readers of the file do not see this. It is not searched, quoted or sent to a model.')}</small></div>"
    )
