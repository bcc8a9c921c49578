"""The documents behind the answers: read them, search them, add and delete your own."""

import streamlit as st

import rag_core
from pages.documents import exams, library, questions, uploading, vector_plot
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import declared, language, problem, t, translated
from pages.shared import account, corpora, question_header, rooms, whole_document
from pages.shared.engine import engine
from pages.shared.history_sync import comparisons, history
from rag_core.documents.documents import BUILTIN
from rag_core.indexing import UPLOADS, find_file
from rag_core.lab.adding import remove_corpus, remove_file
from rag_core.lab.browsing import IndexedDocument
from rag_core.lab.corpora import as_typed
from rag_core.lab.opening import builtin_files
from rag_core.language.questions import MAX_QUESTION
from rag_core.sessions.exam.folder import drop_written
from rag_core.values.sources import age_years, is_old

VIEWS = {
    "read": declared("Read"),
    "add": declared("Add your own"),
    "map": declared("Map"),
    "exam": declared("Make an exam"),
    "delete": declared("Delete a collection"),
}
NOTES = "documents.notes"  # what to say about the last deletion, until a run of the page has ended


def main() -> None:
    """Draw the page."""
    st.header(t("The documents behind the answers"), anchor=False)
    if asked := st.query_params.get("asked"):  # an urgent question led here
        if given := st.query_params.get("country"):
            st.session_state.setdefault("country", given)
        searched = corpora.titled(st.query_params.get("corpus", BUILTIN))
        question_header.draw_urgent(asked[:MAX_QUESTION], [searched])
    with st.container(horizontal=True, vertical_alignment="bottom"):
        view = question_header.choose_view(VIEWS, "view")
        corpus = corpora.choose(in_address=True) if view != "add" else BUILTIN
    with st.container():  # so that what stands below keeps its place, and an open popover stays open
        for note in st.session_state.get(NOTES, ()):
            untrusted.say(translated(note), st.info)
    if view == "add":
        if not account.operators_only():
            uploading.draw()
    elif view == "map":
        vector_plot.draw(corpus)
    elif view == "exam":
        exams.draw(corpus)
    elif view == "delete":
        if not account.operators_only():
            _delete(corpus)
    elif corpus == BUILTIN:
        _builtin()
        if lab := engine().lab:
            questions.taught(lab)
            if account.may_operate():
                uploading.chunking(corpus, lab)
    else:
        _own(corpus)
    st.session_state.pop(NOTES, None)  # a run that another overtakes keeps them for it


@untrusted.errors()
def _own(corpus: str) -> None:
    if not engine().settled.is_set():
        st.info(t("One moment: the models are loading."))
        return
    lab = engine().wait(corpus)
    documents = whole_document.indexed(lab.index.name, lab.index)
    files = {name: one.file for name, one in documents.items()}
    counted = library.files_in_words(len({(one.root, one.file) for one in documents.values()}))
    passages = library.passages_in_words(len(lab.passages))
    said_of = [t("{files} of your own in {passages}.", files=counted, passages=passages)]
    if corpora.title(corpus) != corpus:
        said_of.append(t("On the command line it is called {name}.", name=corpus))
    untrusted.say(" ".join(said_of))
    shown = [one.document for one in documents.values()]
    library.draw(shown, lab, lambda document: _foot(corpus, documents[document.id]), files)
    questions.taught(lab)
    if account.may_operate():
        uploading.chunking(corpus, lab)


def _foot(corpus: str, one: IndexedDocument) -> None:
    untrusted.say(t("File: {file}", file=one.file))
    if not account.may_operate():
        return
    with st.popover(t("Delete this file")):
        kept = "" if one.root == UPLOADS else t(" The file it was indexed from stays where it is.")
        told = t(
            "{file} and everything read from it leave every index of {corpus}. Questions of the "
            "history that show its text are deleted.{kept}",
            file=one.file,
            corpus=corpora.title(corpus),
            kept=kept,
        )
        untrusted.say(told, st.markdown)
        st.button(
            t("Delete it for good"), type="primary",
            key=f"own.delete.{corpus}.{one.root}.{one.file}",  # so that a click on an outdated page deletes nothing else
            on_click=_remove, args=(corpus, one.root, one.file),
        )  # fmt: skip


def _delete(corpus: str) -> None:
    if corpus == BUILTIN:
        st.info(t("Choose a collection of your own; the built-in documents stay."))
        return
    told = t(
        "The collection {corpus} is deleted, with its uploaded files and the questions of the history that show "
        "their text.",
        corpus=corpora.title(corpus),
    )
    untrusted.say(told, st.markdown)
    st.text_input(t("To confirm, type the name of the collection"), key="own.sure")
    # never disabled: the click that takes the keyboard from the box must count
    pressed = st.button(
        t("Delete the collection for good"), type="primary", key="own.delete_all", on_click=_remove_all,
        args=(corpus,),
    )  # fmt: skip
    if pressed:  # and the collection is still there
        untrusted.say(t("That is not its name: {name}", name=corpora.title(corpus)), st.error)


def _remove_all(corpus: str) -> None:
    if as_typed(st.session_state["own.sure"]) == corpora.title(corpus):
        _remove(corpus)


def _remove(corpus: str, root: str = "", file: str = "") -> None:
    """Delete a file, or without one the corpus; the next drawing of the page says how it went."""
    opened, title = engine(), corpora.title(corpus)
    assert opened.settings is not None  # a corpus is on screen
    try:
        questions = _forget_questions(corpus, root, file)
        if file:
            notes = remove_file(corpus, root, file, opened.settings, opened.wait().engines)
            notes = [rag_core.Message("{file} was deleted.", file=file), *questions, *notes]
        else:
            remove_corpus(corpus, opened.settings)
            notes = [rag_core.Message("The collection {corpus} was deleted.", corpus=title), *questions]
    except rag_core.RagError as error:
        notes = [problem(error)]
    if corpus not in corpora.names():
        opened.others.drop(corpus)
    st.session_state[NOTES] = notes


def _forget_questions(corpus: str, root: str, file: str) -> list[rag_core.Message]:
    """Delete the questions that show text of what is about to be deleted, and that text from exams; says how many the history had."""
    kept, settings = history(), engine().settings
    assert settings is not None
    documents = find_file(settings.home, corpus, root, file).documents if file else None
    if made := rooms.exams():
        made.take_out(corpus, documents)
        drop_written(settings.home)
    if kept is None:
        return []
    showing = kept.showing(corpus, documents)
    for name in showing:
        comparisons().forget(name)
    count = kept.forget(showing)
    return [rag_core.Message("Questions with its text deleted from the history: {count}.", count=count)]


@st.cache_data(show_spinner=False)
def _builtin_documents() -> tuple[list[rag_core.Document], list[str]]:
    reading = builtin_files(rag_core.read_settings())
    return reading.documents, [
        rag_core.Message("{file} is not shown: {reason}.", file=file, reason=reason.rstrip("."))
        for file, reason in reading.failed
    ]


@untrusted.errors()
def _builtin() -> None:
    documents, faults = _builtin_documents()
    for fault in faults:
        untrusted.say(translated(fault), st.warning)
    if not documents:
        return
    about = t("{count} documents; some cite no guidance.", count=len(documents))
    if all(document.sources for document in documents):
        about = t(
            "{count} documents, written for this demonstration and not reviewed by a clinician. Each cites "
            "the guidance it is based on.",
            count=len(documents),
        )
    st.caption(about)
    with untrusted.errors():
        library.draw(documents, engine().lab, _guidance)


def _guidance(document: rag_core.Document) -> None:
    if document.hidden:  # comments, and what has no text
        untrusted.draw(render("documents.hidden", pieces=document.hidden))
    if document.sources:
        cited = t("**Guidance cited by this document**") + "\n"
        for source in document.sources:
            old = t(" · **{count:d} years old**", count=age_years([source])) if is_old([source]) else ""
            cited += f"\n- {untrusted.label(source.in_full(language()))}{old}"
        st.markdown(cited)


main()
