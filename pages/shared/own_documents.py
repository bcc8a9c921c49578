"""The documents of one's own corpus: found by words, read with their passages, deleted."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

import rag_core
from pages.shared import chunking_form, corpora, foreign, whole_document
from pages.shared.engine import engine
from pages.shared.foreign import escape
from pages.shared.i18n import plural, problem, said, t

NOTES = "documents.notes"  # what to say once about the last deletion


def notes() -> None:
    """Say once how the last deletion went, on whatever corpus the page shows now."""
    with st.container():  # so that what stands below keeps its place, and an open popover stays open
        for note in st.session_state.pop(NOTES, ()):
            st.info(foreign.label(said(note)))


def draw(corpus: str) -> None:
    """Draw the search, the chosen document and what can be deleted."""
    if not engine().settled.is_set():
        st.info(t("One moment: the models are loading."))
        return
    try:
        lab = engine().wait(corpus)
        documents = _documents(corpus, lab.index.name, lab.index)
    except rag_core.RagError as error:
        st.error(foreign.label(problem(error)))
        return
    passages = sum(len(one.passages) for one in documents)
    st.caption(
        foreign.label(
            t(
                "{documents} of your own in {passages}.",
                documents=_documents_in_words(len(documents)),
                passages=_passages_in_words(passages),
            )
        )
    )
    wanted = st.text_input(
        t("Words to search for"),
        key="own.words",
        help=t("Keyword search (BM25) over the passages, best first."),
    )
    found = rag_core.search_documents(documents, lab.index, wanted)
    if not found:
        st.info(t("No passage has any of these words."))
    else:
        _chosen(corpus, found, wanted)
    chunking_form.draw(corpus, lab)
    _delete_all(corpus, len(documents))


@st.cache_resource(show_spinner=False, max_entries=4)
def _documents(corpus: str, name: str, _index: rag_core.CorpusIndex) -> list[rag_core.IndexedDocument]:
    """The documents of a corpus; `name` names the generation of its index."""
    return rag_core.indexed_documents(_index)


def _chosen(corpus: str, found: Sequence[rag_core.IndexedDocument], wanted: str) -> None:
    asked = st.query_params.get("document")
    one = st.selectbox(
        _documents_in_words(len(found)),
        found,
        index=next((place for place, one in enumerate(found) if one.document.id == asked), 0),
        format_func=lambda one: foreign.plain(_named(one.document)),
    )
    document = one.document
    with st.container(border=True, width=820):
        st.subheader(foreign.label(document.title or document.id), anchor=False)
        about = t(
            "{file} · {language} · {words} words · {passages}",
            file=one.file,
            language=document.language,
            words=document.word_count,
            passages=_passages_in_words(len(one.passages)),
        )
        st.caption(foreign.label(about))
        whole, cut = st.tabs([t("Whole document"), t("Its passages")])
        with whole:
            whole_document.draw(document)
        with cut:
            foreign.draw("".join(_passage(number, one, wanted) for number, one in enumerate(one.passages, 1)))
        _delete_file(corpus, one)


def _named(document: rag_core.Document) -> str:
    return f"{document.title} ({document.id})" if document.title else document.id


def _documents_in_words(count: int) -> str:
    return plural("{count:,} document", "{count:,} documents", count)


def _passages_in_words(count: int) -> str:
    return plural("{count:,} passage", "{count:,} passages", count)


def _passage(number: int, passage: rag_core.Passage, wanted: str) -> str:
    """A passage with the words that were searched for marked."""
    marked = "".join(
        f"<mark>{escape(part.text)}</mark>" if part.matched else escape(part.text)
        for part in rag_core.highlight(passage.text, wanted, passage.language, ())
    )
    heading = f"<p class='rl-note'>{number:d}. {escape(passage.heading)}</p>"
    context = (
        f"<p class='rl-note'>{t('Its context: {context}', context=escape(passage.context))}</p>"
        if passage.context
        else ""
    )
    return f'<div class="rl-cut">{heading}{context}<div class="rl-text">{marked}</div></div>'


def _delete_file(corpus: str, one: rag_core.IndexedDocument) -> None:
    with st.popover(t("Delete this document")):
        kept = "" if one.root == rag_core.UPLOADS else t(" The file it was indexed from stays where it is.")
        st.markdown(
            foreign.label(
                t(
                    "{file} and everything read from it leave every index of {corpus}.{kept}",
                    file=one.file,
                    corpus=corpus,
                    kept=kept,
                )
            )
        )
        st.button(
            t("Delete it for good"), type="primary", key="own.delete", on_click=_remove, args=(corpus, one.root, one.file)
        )  # fmt: skip


def _delete_all(corpus: str, count: int) -> None:
    with st.popover(t("Delete the whole collection")):
        st.markdown(
            foreign.label(
                t(
                    "All {count} documents of {corpus}, with its uploaded files, are deleted.",
                    count=count,
                    corpus=corpus,
                )
            )
        )
        sure = st.text_input(t("To confirm, type the name of the collection"), key="own.sure")
        st.button(
            t("Delete the collection for good"), type="primary", disabled=sure != corpus, key="own.delete_all",
            on_click=_remove, args=(corpus,),
        )  # fmt: skip


def _remove(corpus: str, root: str = "", file: str = "") -> None:
    """Delete a file, or without one the corpus; the next drawing of the page says how it went."""
    opened = engine()
    assert opened.settings is not None  # a corpus is on screen
    try:
        if file:
            notes = rag_core.remove_file(corpus, root, file, opened.settings, opened.wait().engines)
            notes = [rag_core.Message("{file} was deleted.", file=file), *notes]
        else:
            rag_core.remove_corpus(corpus, opened.settings)
            notes = [rag_core.Message("The collection {corpus} was deleted.", corpus=corpus)]
    except rag_core.RagError as error:
        notes = [problem(error)]
    if corpus not in corpora.names():
        opened.others.drop(corpus)
    st.session_state[NOTES] = notes
