"""The corpus that a reader chose: Compare asks it, Documents shows it."""

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import plural, t
from pages.shared.engine import engine
from rag_core.documents.documents import BUILTIN
from rag_core.lab.corpora import corpus_names, corpus_title
from rag_core.values.profile import Profile, read_profile

KEY, GONE = "corpus", "corpus.gone"


def names() -> list[str]:
    """The corpora that can be searched, the built-in one first."""
    settings = engine().settings
    return corpus_names(settings.home) if settings else [BUILTIN]


def choose(*, in_address: bool = False) -> str:
    """Draw the selector if there are several corpora; returns the choice, kept in session or address."""
    known = names()
    _settle()
    asked = st.query_params.get(KEY) if in_address else None
    if asked and asked not in map(title, known):  # Streamlit puts an option's words into the address
        untrusted.say(t("There is no collection {name} here.", name=repr(asked)), st.warning)
    if len(known) == 1:
        return known[0]
    untrusted.choose(
        t("Documents to search"), known, title, KEY, persist_state="session", width=320 if in_address else "stretch",
        on_change=st.session_state.pop, args=(GONE, None), bind="query-params" if in_address else None,
        help=t("Your own documents are added on the Documents page."),
        label_visibility="visible" if in_address else "collapsed",
    )  # fmt: skip
    return chosen()


def chosen() -> str:
    """The chosen corpus."""
    name: str = st.session_state.get(KEY, BUILTIN)
    return name if name in names() else BUILTIN


def removed() -> str:
    """The chosen corpus if it is no longer here, said once: a question meant for it must not silently go to others."""
    _settle()
    return str(st.session_state.pop(GONE, ""))


def _settle() -> None:
    """Choose the built-in documents in place of a corpus that was removed since, maybe by another session."""
    if st.session_state.get(KEY, BUILTIN) not in names():
        st.session_state[GONE] = st.session_state.pop(KEY)


def set_to(name: str) -> None:
    """Choose a corpus; one that is gone leaves the built-in documents chosen, and `removed` if it was chosen until now."""
    if name in names():
        st.session_state.pop(GONE, None)
    elif name == st.session_state.get(KEY):
        st.session_state[GONE] = name
    st.session_state[KEY] = name if name in names() else BUILTIN


def title(name: str) -> str:
    """A corpus's name for people."""
    if name == BUILTIN:
        return t("Built-in documents")
    settings = engine().settings
    return corpus_title(settings.home, name) if settings else name


def titled(words: str) -> str:
    """The corpus with this name for people, as the address of Documents has it; the words where there is none."""
    return next((name for name in names() if title(name) == words), words)


def index_name() -> str:
    """The corpus that the next question is put to, and its size."""
    name = chosen()
    lab = engine().lab if name == BUILTIN else engine().others.find(name)
    try:
        if lab:
            count = len(lab.index.passages)
            return plural("{corpus}, {count:,} passage", "{corpus}, {count:,} passages", count, corpus=title(name))
    except rag_core.RagError:
        pass
    return title(name)


def profile(name: str) -> Profile | None:
    """What a corpus is about; None while it is not open or cannot be read (the status line or the columns say why)."""
    if name == BUILTIN:
        return _builtin_profile()
    lab = engine().others.find(name)
    try:
        return lab.profile if lab else None
    except rag_core.RagError:
        return None


@st.cache_data
def _builtin_profile() -> Profile | None:
    try:
        return read_profile(rag_core.read_settings().data / "corpus") or Profile()
    except rag_core.RagError:
        return None
