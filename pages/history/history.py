"""The questions asked in this app and their answers: found again, opened again, deleted."""

from datetime import date

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import language, plural, problem, t, translated, when
from pages.shared import account, wording
from pages.shared.engine import engine
from pages.shared.history_sync import comparisons, history
from pages.shared.live import LETTERS
from rag_core.explain import answer_differences
from rag_core.sessions.history.store import Entry, History
from rag_core.values.answers import bold_as_html, lists_as_html
from rag_core.values.sources import listed

AT_ONCE = 20


def main() -> None:
    """Draw the page."""
    st.header(t("Questions asked"), anchor=False)
    with untrusted.errors():
        if kept := history():
            _questions(kept)
        elif engine().settings:  # else the status line says what is wrong with them
            st.info(t("No history is kept: RAG_HISTORY is off."))


def _questions(kept: History) -> None:
    total = kept.count()
    readers = t("Anyone who can open the app can read and delete them.")
    if account.offered():
        readers = t("Only you can read and delete them here.")
    seen = account.offered() and account.may_operate()  # without accounts, everybody would read the path
    st.caption(
        t(
            "This app keeps the questions you ask on Compare, with their answers. {readers} They are stored in {where}; "
            "to store none, start the app with RAG_HISTORY=off.",
            readers=readers,
            where=untrusted.label(kept.where) if seen else t("this server's database"),
        )
    )
    if not total:
        st.info(t("No question has been asked yet."))
        st.page_link("pages/compare/compare.py", label=t("Ask one"), icon=":material/play_arrow:")
        return
    words, strategy, days = _filters()
    shown: int = st.session_state.setdefault("questions.shown", AT_ONCE)
    since, until = (*days, None, None)[:2]
    found = kept.search(words, strategy, since, until, shown + 1)
    if not found:
        st.info(t("No question fits. Remove a filter."))
    for entry in found[:shown]:
        _row(kept, entry)
    if len(found) > shown:
        st.button(t("Show more"), on_click=st.session_state.update, args=({"questions.shown": shown + AT_ONCE},))
    with st.popover(t("Delete all")):
        told = t("The questions and their results are deleted for good, for everybody.")
        if account.offered():
            told = t("Your questions and their results are deleted for good.")
        st.markdown(told)
        every = plural("Delete {count:,} question", "Delete {count:,} questions", total)
        st.button(every, type="primary", on_click=_delete, args=(kept,))


def _filters() -> tuple[str, str, tuple[date, ...]]:
    left, middle, right = st.columns([3, 2, 2])
    words = left.text_input(t("Words in the question"), key="questions.words", persist_state="session")
    strategy = untrusted.choose(
        t("Strategy"), ["", *rag_core.RECIPES],
        lambda name: wording.strategy(name) if name else t("Any strategy"), "questions.strategy",
        persist_state="session", place=middle,
    )  # fmt: skip
    days = right.date_input(t("From and to (UTC)"), value=[], key="questions.days", persist_state="session")
    return words, strategy, days


def _row(kept: History, entry: Entry) -> None:
    with st.container(border=True, key=f"row.{entry.id}"):
        with st.container(horizontal=True, vertical_alignment="center", key=f"asked.{entry.id}"):
            with st.container(gap=None):
                st.markdown(untrusted.label(entry.question))
                strategies = ", ".join(map(wording.strategy, entry.strategies))
                if missing := len(entry.strategies) - entry.finished:
                    strategies += t(" · {count} without a result", count=missing)
                untrusted.say(t("{when} UTC · {strategies}", when=when(entry.asked), strategies=strategies))
            with st.container(horizontal=True, width="content"):
                named = untrusted.label(t("Open “{question}”", question=entry.question))
                if st.button(t("Open again"), key=f"open.{entry.id}", help=named):
                    st.switch_page("pages/compare/compare.py", query_params={"run": entry.id})
                named = untrusted.label(t("Delete “{question}”", question=entry.question))
                with st.popover(t("Delete"), type="tertiary", help=named):
                    st.button(
                        t("Delete it for good"), key=f"delete.{entry.id}", type="primary", on_click=_delete, args=(kept, entry.id),
                    )  # fmt: skip
        answers = st.expander(t("What was answered"), key=f"answers.{entry.id}", on_change="rerun")
        if answers.open:  # a record is read only when it is opened
            with answers:
                _answers(kept, entry.id)


@untrusted.errors()
def _answers(kept: History, identity: str) -> None:
    asked = kept.find(identity)  # a damaged record leaves the others as they are
    if asked is None:  # deleted in the meantime
        return
    columns: dict[str, list[str]] = {}
    for letter, column in zip(LETTERS, asked.columns, strict=False):
        answer = column.trace.answer if column.trace else None
        words = answer.written if answer else column.text or problem(column.error) or translated(column.stopped)
        columns.setdefault(words, []).append(f"{letter} · {wording.strategy(column.strategy)}")
    for words, names in columns.items():
        untrusted.draw(render("asking.answered", names=", ".join(names), answer=lists_as_html(bold_as_html(words))))
    if asked.best is not None:
        best = [f"{LETTERS[place]} · {wording.strategy(asked.columns[place].strategy)}" for place in asked.best]
        answers = answer_differences([column.trace for column in asked.columns])
        told = listed(best, language()) or t("none is good enough")
        if answers.is_tie(asked.best):
            told = t("tie")
        elif len(best) > 1:
            told = t("{columns} (the same answer)", columns=told)
        untrusted.say(t("Vote while names were hidden: {vote}", vote=told))


@untrusted.errors()
def _delete(kept: History, identity: str = "") -> None:
    gone = [identity] if identity else [entry.id for entry in kept.search()]
    if identity:
        kept.delete(identity)
    else:
        kept.delete_all()
    for one in gone:
        comparisons().forget(one)


main()
