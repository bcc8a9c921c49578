"""What stands above what a page shows: its views, or a question, what to do at once, and the question's language."""

from collections.abc import Iterable, Mapping

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import language, t, translated
from pages.shared import corpora, country
from pages.shared.live import Comparison
from rag_core.language.questions import question_notice
from rag_core.safety import urgency


def draw(run: Comparison, look: str = "") -> None:
    """What covers all results of a question, in which `look` is looked for."""
    untrusted.draw(render("asking.heading", question=run.question, look=look))
    searched = [column.corpus or run.corpus for column in run.columns] or [run.corpus]
    draw_urgent(run.question, searched, key="urgent")
    known = corpora.profile(run.corpus)
    if known and (notice := question_notice(run.question, known.languages, language())):
        untrusted.say(notice, st.warning)


def draw_urgent(question: str, searched: Iterable[str] = ("",), *, key: str = "urgent-pending") -> None:
    """What to do at once about an urgent question, answered or not yet; nothing for others."""
    # None while one is opened: it may be about maternity
    known = (corpora.profile(name or corpora.chosen()) for name in searched)
    read = [urgency.triage_for(one.subject if one else "")(question) for one in set(known)]
    draw_notice(next((one for one in read if one.urgent), read[0]), key=key)


def draw_notice(triage: rag_core.Triage, *, key: str) -> None:
    """What to do at once, as a question was read; nothing for a routine one."""
    lines = country.numbers()
    found = urgency.urgent_notice(triage, lines)
    if found is None:
        return
    with st.container(key=key):
        untrusted.draw(render("asking.urgent", triage=triage, notice=found))
        if lines is None:
            country.ask(f"country.{key}")


def choose_view(views: Mapping[str, str], key: str) -> str:
    """Draw what chooses a view; returns its name, which the address has unless it is the first."""
    first, asked = next(iter(views)), st.query_params.get("view")
    last = st.session_state.get(f"{key}.asked")
    if st.session_state.get(key) not in views or asked != last:
        st.session_state[key] = asked if asked in views else first
    st.segmented_control(
        t("View"), list(views), key=key, format_func=lambda name: untrusted.label(translated(views[name])), required=True,
        label_visibility="collapsed",
    )  # fmt: skip
    # none, where the browser names a view in the words of the language before
    chosen: str = st.session_state[key] or last or first
    if chosen != first:
        st.query_params["view"] = chosen
    else:
        st.query_params.pop("view", None)
    st.session_state[f"{key}.asked"] = st.query_params.get("view")
    return chosen
