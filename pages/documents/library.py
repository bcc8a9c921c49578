"""The documents of a corpus, built-in or one's own: found by words in their passages, read whole or as they were cut."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import streamlit as st
from markupsafe import Markup

import rag_core
from pages.documents import questions
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import LANGUAGES, declared, language, plural, t, translated
from pages.shared import permalink, whole_document
from pages.shared.whole_document import with_lists
from rag_core.lab.browsing import PassageSearch, passages_by_document, position_of, search_passages, size_of
from rag_core.language.highlight import highlight

WHOLE, CUT = declared("Whole document"), declared("Its passages")
DOCUMENT, VIEW, PASSAGE = "library.document", "library.view", "library.passage"  # what is open
PAGE, MORE, LINKED = "library.page", "library.more", "library.linked"
STEP = 20  # found passages shown at once, and more at each press
PAGE_SIZE = 30  # passages of one document shown at once
LIST_HEIGHT, WIDEST = 680, 820  # px: of the passages found, of a document


def draw(
    documents: Sequence[rag_core.Document],
    lab: rag_core.Lab | None,
    foot: Callable[[rag_core.Document], None],
    files: Mapping[str, str] | None = None,
) -> None:
    """Draw the filters, the passages found, and the open document; a table's rows count as its file.

    Without a lab, while its models load, documents can be read, but not searched.
    """
    if not documents:
        st.info(t("There are no documents here."))
        return
    asked = st.query_params.get("document")
    if asked and asked not in {one.id for one in documents}:
        untrusted.say(t("There is no document {name} here.", name=repr(asked)), st.warning)
    kept, words = _filtered(documents)
    if not kept:
        st.info(t("No document passes these filters. Remove one."))
        return
    search = _search(lab, words)
    if search is None:
        _read(kept, lab, "", foot, wide=True)
        return
    by_id = {one.id: one for one in kept}
    hits = [hit for hit in search.hits if hit.passage.doc_id in by_id]
    if search.read:
        untrusted.say(t("Searched for in English too: {words}", words=search.read))
    if not hits:
        st.info(t("No passage has any of these words. Try other words, or remove a filter."))
        return
    marked = f"{words} {search.read}".strip()
    found = list(dict.fromkeys(hit.passage.doc_id for hit in hits))
    left, right = st.columns([4, 6], gap="medium")
    with left:
        places = plural("{count:,} document", "{count:,} documents", len(found))
        if files:
            places = files_in_words(len({files[name] for name in found}))
        _found(hits, places, marked)
    with right:
        if PASSAGE in st.session_state:  # a phone shows the document in the list's place, see style.css
            with st.container(key="opened"):
                st.button(
                    t("Back to the results"), key="library.back", on_click=st.session_state.pop, args=(PASSAGE,),
                )  # fmt: skip
        _read([by_id[name] for name in found], lab, marked, foot)


def files_in_words(count: int) -> str:
    """How many files."""
    return plural("{count:,} file", "{count:,} files", count)


def passages_in_words(count: int) -> str:
    """How many passages."""
    return plural("{count:,} passage", "{count:,} passages", count)


def _filtered(documents: Sequence[rag_core.Document]) -> tuple[list[rag_core.Document], str]:
    """Draw the search and the filters that can tell documents apart; the documents they leave, and the words."""
    languages = sorted({one.language for one in documents})
    topics = sorted({one.topic for one in documents if one.topic}, key=translated)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.text_input(
            t("Words to search for"), key="library.words", width=360,
            help=t("Keyword search (BM25) over the passages, best first."),
        )  # fmt: skip
        language, chosen = None, list[str]()
        if len(languages) > 1:
            language = st.segmented_control(
                t("Language"), languages, key="library.language",
                format_func=lambda code: untrusted.label(LANGUAGES.get(code, code)),
            )  # fmt: skip
        if len(topics) > 1:
            chosen = st.multiselect(
                t("Topic"), topics, key="library.topics", placeholder=t("Choose"), width=320,
                format_func=lambda topic: untrusted.plain(translated(topic)),
            )  # fmt: skip
    kept = [one for one in documents if language in (None, one.language) and (not chosen or one.topic in chosen)]
    return kept, words.strip()


def _search(lab: rag_core.Lab | None, words: str) -> PassageSearch | None:
    if words != st.session_state.get("library.searched"):  # other words: back to the best passages
        st.session_state["library.searched"] = words
        for key in (MORE, DOCUMENT, PASSAGE):
            st.session_state.pop(key, None)
    if not words:
        return None
    if lab is None:
        st.info(t("One moment: the models are loading."))
        return None
    return search_passages(lab, words)


def _found(hits: Sequence[rag_core.Hit], places: str, marked: str) -> None:
    counted = passages_in_words(len(hits))
    untrusted.say(t("{passages} found in {places}", passages=counted, places=places), st.markdown)
    most: int = st.session_state.get(MORE, STEP)
    with st.container(height=LIST_HEIGHT, border=False, key="found", gap="xsmall"):
        for rank, hit in enumerate(hits[:most], 1):
            passage = hit.passage
            st.button(
                untrusted.label(f"{rank}. {passage.title or passage.doc_id}"),
                key=f"library.open.{passage.id}", type="tertiary", on_click=_open, args=(passage,),
                help=t("Open the document at this passage."),
            )  # fmt: skip
            where = t(
                "{section} · {language} · BM25 {score:.2f}",
                section=passage.heading or t("no heading"),
                language=LANGUAGES.get(passage.language, passage.language),
                score=hit.score,
            )
            untrusted.draw(_piece(passage, where, marked))
        if len(hits) > most:
            more = {MORE: most + STEP}
            st.button(t("Show more"), key="library.more.button", on_click=st.session_state.update, args=(more,))


def _open(passage: rag_core.Passage) -> None:
    st.session_state.update({DOCUMENT: passage.doc_id, VIEW: CUT, PASSAGE: passage.id})
    st.session_state.pop(f"{PAGE}.{passage.doc_id}", None)


def _read(
    documents: Sequence[rag_core.Document],
    lab: rag_core.Lab | None,
    marked: str,
    foot: Callable[[rag_core.Document], None],
    *,
    wide: bool = False,
) -> None:
    """The list of documents, and the one that is open; `wide` leaves room for its foot beside it."""
    by_id = {one.id: one for one in documents}
    asked = st.query_params.get("document")
    if asked != st.session_state.get(LINKED):  # a link opens its document once
        st.session_state[LINKED] = asked
        st.session_state[DOCUMENT] = asked
    if st.session_state.get(DOCUMENT) not in by_id:
        ours = (one for one in documents if one.language == language())
        st.session_state[DOCUMENT] = next(ours if wide else iter(documents), documents[0]).id
    names = {one.id: f"{one.title or one.id} ({one.language})" for one in documents}
    shared = Counter(names.values())
    # the id too where title and language would not tell two apart
    names = {key: name if shared[name] == 1 else f"{name} · {key}" for key, name in names.items()}
    name: str = untrusted.choose(
        t("To read ({count:,})", count=len(documents)), list(by_id), lambda key: names[key], DOCUMENT
    )
    document = by_id[name]
    passages = _passages(lab).get(name, ()) if lab else ()
    left, right = st.columns([8, 5], gap="medium") if wide else (st.container(), st.container())
    with left, st.container(border=True, width=WIDEST):
        st.subheader(untrusted.label(document.title or document.id), anchor=False)
        about = (
            translated(document.topic),
            LANGUAGES.get(document.language, document.language),
            plural("{count:,} word", "{count:,} words", document.word_count),
            passages_in_words(len(passages)) if lab else "",
        )
        untrusted.say(" · ".join(part for part in about if part))
        st.session_state.setdefault(VIEW, WHOLE)
        view = st.segmented_control(
            t("View of the document"), [WHOLE, CUT], key=VIEW, required=True, format_func=translated,
            label_visibility="collapsed",
        )  # fmt: skip
        if view == WHOLE:
            whole_document.draw(document)
        elif lab is None:
            st.info(t("One moment: the models are loading."))
        else:
            _cut(document, passages, lab, marked)
    with right:
        foot(document)
        if lab:
            questions.of_document(lab, passages)


def _passages(lab: rag_core.Lab) -> Mapping[str, tuple[rag_core.Passage, ...]]:
    enriched = lab.enriched
    return _passages_of(lab.index.name, enriched.name if enriched else "", lab)


@st.cache_resource(show_spinner=False, max_entries=4)
def _passages_of(plain: str, enriched: str, _lab: rag_core.Lab) -> Mapping[str, tuple[rag_core.Passage, ...]]:
    """The passages of a corpus; the names are those of the generations of its indexes."""
    return passages_by_document(_lab)


def _cut(document: rag_core.Document, passages: Sequence[rag_core.Passage], lab: rag_core.Lab, marked: str) -> None:
    if not passages:
        st.info(t("This document has no passages in the index."))
        return
    untrusted.say(_how(lab, document.language))
    _contexts(lab)
    shown = passages
    starts = list(range(0, len(passages), PAGE_SIZE))
    opened = st.session_state.get(PASSAGE)
    if len(starts) > 1:
        place = next((place for place, one in enumerate(passages) if one.id == opened), 0)
        start = st.selectbox(
            t("Passages shown"), starts, index=place // PAGE_SIZE, key=f"{PAGE}.{document.id}",
            format_func=lambda start: t(
                "{first:,} to {last:,} of {count:,}",
                first=start + 1, last=min(start + PAGE_SIZE, len(passages)), count=len(passages),
            ),
        )  # fmt: skip
        shown = passages[start : start + PAGE_SIZE]
    untrusted.draw(Markup().join(_passage(one, lab, marked, opened=one.id == opened) for one in shown))


def _contexts(lab: rag_core.Lab) -> None:
    what = t(
        "A context is a line that places a passage in its document: words of the document, or a sentence by a "
        "language model. Contextual retrieval searches it together with the passage."
    )
    if not lab.enriched:
        none = t("These passages have none: add them under “How they are cut into passages”.")
        st.caption(f"{what} {none}")
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(what, width="content")
        columns = [rag_core.set_up(("contextual", {"enriched": value})) for value in (True, False)]
        permalink.link(t("Compare with and without contexts"), columns, lab.corpus)


def _how(lab: rag_core.Lab, language: str) -> str:
    chunking = lab.index.manifest.chunking
    most = t(
        "Cut at its headings; a long section is cut again at paragraphs or sentences, a short one joined to the "
        "next. A passage has at most about {most} word pieces, the parts of words that the embedding model reads.",
        most=chunking.largest(language),
    )
    if not chunking.overlap:
        return most
    again = t("Up to {overlap} word pieces are repeated where a section is cut.", overlap=chunking.overlap)
    return f"{most} {again}"


def _passage(passage: rag_core.Passage, lab: rag_core.Lab, marked: str, *, opened: bool) -> Markup:
    about = t(
        "{number:,}. {section} · {pieces:,} word pieces, {characters:,} characters", number=position_of(passage) + 1,
        section=passage.heading or t("no heading"), pieces=size_of(lab, passage), characters=len(passage.text),
    )  # fmt: skip
    return _piece(passage, about, marked, context=passage.context, opened=opened)


def _piece(passage: rag_core.Passage, about: str, marked: str, *, context: str = "", opened: bool = False) -> Markup:
    text = with_lists(highlight(passage.text, marked, passage.language))
    return render("documents.cut", about=about, context=context, text=text, opened=opened)
