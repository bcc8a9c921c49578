"""The questions that sections are known to answer: those of a document, and all that people taught."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.fragments import listed
from pages.drawing.translate import plural, problem, t, translated
from pages.shared import account, country
from rag_core.documents.asked import Asked, placed
from rag_core.lab.asked import delete_question, kept_questions, teach
from rag_core.lab.browsing import position_of
from rag_core.language.questions import MAX_QUESTION

TYPED, FAULT = "questions.typed", "questions.fault"


@st.fragment
def of_document(lab: rag_core.Lab, passages: Sequence[rag_core.Passage]) -> None:
    """A section's questions; operators add and delete some."""
    box = st.expander(t("Questions that its sections answer"), key="questions", on_change="rerun")
    if not box.open or not passages:
        return
    with box, untrusted.errors():
        _of_section(lab, {one.id: one for one in passages})


def _of_section(lab: rag_core.Lab, passages: Mapping[str, rag_core.Passage]) -> None:
    section: str = untrusted.choose(
        t("Section"), list(passages),
        lambda name: f"{position_of(passages[name]) + 1}. {passages[name].heading or t('no heading')}",
        f"questions.section.{next(iter(passages))}",
    )  # fmt: skip
    asked = lab.asked
    known = asked.of(section) if asked else []
    if known:
        rows = [(translated(one.words), one.language) for one in known]
        untrusted.draw(listed((t("Question"), t("Language")), rows))
    else:
        st.caption(t("No questions are known to be answered by it."))
    if not account.may_operate():
        return
    kept = {(one.document, one.question) for one in kept_questions(lab.settings, lab.corpus)}
    _delete(lab, [one for one in known if (one.document, one.question) in kept], "section")
    with st.form("questions.add", border=False):
        st.text_input(t("Another question that it answers"), key=TYPED, max_chars=MAX_QUESTION)
        st.form_submit_button(t("Add the question"), on_click=_add, args=(lab, section))
    if fault := st.session_state.pop(FAULT, ""):
        untrusted.say(fault, st.error)


@untrusted.errors()
def taught(lab: rag_core.Lab) -> None:
    """All questions that people taught of a corpus, the latest first; nothing while there are none."""
    kept, passages = kept_questions(lab.settings, lab.corpus), lab.passages
    found, _, lost = placed((one for one in kept if one.taught), passages)
    rows = sorted((*found, *lost), key=lambda one: one.taught, reverse=True)
    if not rows:
        return
    operates = account.may_operate()
    count = plural("{count:,} question was taught", "{count:,} questions were taught", len(rows))
    with st.expander(count, key="questions.taught"):
        st.caption(t("People said on Compare or here which section answers them. Measurements leave them out."))
        cells = []
        for one in rows:
            section = passages[one.passage].full_title if one.passage in passages else t("no longer there")
            by = " · ".join(filter(None, (one.taught[:10], one.by if operates else "")))
            cells.append((one.question, section, by))
        untrusted.draw(listed((t("Question"), t("Section"), t("Taught")), cells))
        if operates:
            _delete(lab, rows, "taught")


def _delete(lab: rag_core.Lab, rows: Sequence[Asked], key: str) -> None:
    if not rows:
        return
    chosen = st.selectbox(
        t("Question to delete"), range(len(rows)), index=None, key=f"questions.gone.{key}", placeholder=t("Choose"),
        format_func=lambda place: untrusted.plain(rows[place].question),
    )  # fmt: skip
    if chosen is not None:
        st.button(
            t("Delete the question"), key=f"questions.delete.{key}", on_click=_remove, args=(lab, rows[chosen], key)
        )  # fmt: skip


def _remove(lab: rag_core.Lab, question: Asked, key: str) -> None:
    try:
        delete_question(lab.settings, lab.corpus, question)
    except rag_core.RagError as error:
        st.session_state[FAULT] = problem(error)
    st.session_state[f"questions.gone.{key}"] = None


def _add(lab: rag_core.Lab, section: str) -> None:
    try:
        teach(
            lab.settings, lab.corpus, section, st.session_state[TYPED], by=account.name(), country=country.chosen()
        )  # fmt: skip
    except rag_core.RagError as error:
        st.session_state[FAULT] = problem(error)
    else:
        st.session_state[TYPED] = ""
