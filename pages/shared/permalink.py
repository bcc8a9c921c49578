"""The address of Compare: which comparison it shows, its strategies, controls and country; never a question."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import PARAMETER, key_of, t, translated
from pages.drawing.untrusted import Label, label
from pages.shared import corpora, country, setups
from pages.shared.controls import DEFAULT_COLUMNS, SHOWN_COLUMNS
from pages.shared.live import Comparison
from rag_core.catalog.address import from_address, to_address
from rag_core.documents.documents import BUILTIN


def enter(page: str) -> None:
    """Note which page is about to be drawn."""
    if st.session_state.get("page") != page:
        st.session_state.update(page=page, followed=set())


def is_wish(what: str = "") -> bool:
    """Whether to follow the address in this: on arrival at a page, and back or forward; else the browser may send an older one."""
    arriving = what not in st.session_state["followed"]
    st.session_state["followed"].add(what)
    return arriving or went_back()


@contextmanager
def kept(key: str, titles: Mapping[str, str], default: list[str]) -> Iterator[None]:
    """Keep what the widget in the block chooses in the address, unless it is the default, by names that every language reads.

    An address of an earlier version has the `titles` of the names, in some language.
    """
    asked = st.query_params.get_all(key)
    if asked and is_wish(key):
        st.session_state[key] = [name for name in (key_of(one, titles) for one in asked) if name in titles]
    st.session_state.setdefault(key, default)
    yield
    chosen = [] if st.session_state[key] == default else st.session_state[key]
    if chosen != asked:  # each change is a step for the browser's way back
        st.query_params[key] = chosen


def went_back() -> bool:
    """Whether the browser went back or forward just now."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation


def put(run: Comparison, columns: Sequence[rag_core.Setup] = ()) -> None:
    """Write the comparison shown, with its columns as set now or as run, into the address in one step."""
    wanted = address(columns or [column.setup for column in run.columns], run, run.id)
    if PARAMETER in st.query_params:
        wanted[PARAMETER] = [st.query_params[PARAMETER]]
    if parameters() != wanted:
        st.query_params.from_dict(wanted)


def address(columns: Sequence[rag_core.Setup], run: Comparison, name: str) -> dict[str, list[str]]:
    """The address of a comparison, or of one of its columns, by its name; set to these columns."""
    corpus = "" if run.corpus == BUILTIN else run.corpus
    return {**to_address(columns, run.country, corpus), "run": [name]}


def link(label: str, columns: Sequence[rag_core.Setup], corpus: str = BUILTIN) -> None:
    """Draw a link to Compare with these columns and documents; after `st.switch_page` the new page could stay blank."""
    named = "" if corpus == BUILTIN else corpus
    wanted = to_address(columns, country.chosen(), named)
    st.session_state.pop("address", None)  # it is followed again after the columns were changed there
    st.page_link("pages/compare/compare.py", label=label, icon=":material/compare_arrows:", query_params=wanted)


def take() -> None:
    """Set the page's widgets as the address says, once for each address, when it names no comparison known here."""
    given = {name: values for name, values in parameters().items() if name not in ("run", PARAMETER)}
    if not given or st.session_state.get("address") == given:
        return
    st.session_state["address"] = given
    fewest = 2 if "s" in given else SHOWN_COLUMNS
    found = from_address(given, DEFAULT_COLUMNS, fewest, setups.offered())
    if found is None:
        return
    problems = list(found.problems)
    problems += unknown(found.corpus)
    problems += [
        t("There are no documents {corpus} here; the page's own are searched.", corpus=repr(column.corpus))
        for column in found.columns
        if column.corpus and column.corpus not in corpora.names()
    ]
    corpora.set_to(found.corpus)
    st.session_state.update(country=found.country, columns=len(found.columns), misread=problems)
    for position, setup in enumerate(found.columns):
        known = not setup.corpus or setup.corpus in corpora.names()
        setups.put(position, setup if known else replace(setup, corpus=""))


def unknown(corpus: str) -> list[str]:
    """A sentence on a corpus in the address that is not here; none on one that is, or on no name."""
    if not corpus or corpus in corpora.names():
        return []
    return [t("There are no documents {corpus} here; the built-in ones are searched.", corpus=repr(corpus))]


def gone() -> Label:
    """Why the comparison which an address names cannot be shown."""
    named = [values for name, values in parameters().items() if name.rpartition(".")[2] == "corpus"]
    if not {*chain(*named)} <= {*corpora.names()}:
        return label(t("This collection was deleted, and its answers with it."))
    return label(t("The comparison at this address is no longer stored on this server. Ask the question again."))


def warn() -> None:
    """Name what in the address was not valid, until the next comparison."""
    for problem in st.session_state.get("misread", ()):
        untrusted.say(t("In the address of this page: {problem}", problem=translated(problem)), st.warning)


def parameters() -> dict[str, list[str]]:
    """What the address holds."""
    return {name: st.query_params.get_all(name) for name in st.query_params}
