"""What stands above the results of a question: the question, what to do at once, and the question's language."""

from __future__ import annotations

import streamlit as st

import rag_core
from pages.shared import corpora, country, foreign
from pages.shared.foreign import escape
from pages.shared.i18n import said, t


def draw(question: str, corpus: str, look: str = "") -> None:
    """What covers all results of a question; in one piece, so that what is below moves once.

    Args:
        look: what to look for in the results; may be empty.
    """
    urgent = _urgent(rag_core.triage(question), country.numbers())
    foreign.draw(f"{heading(question, look)}{urgent}")
    known = corpora.profile(corpus)
    if known and (notice := rag_core.question_notice(question, known.languages)):
        st.warning(foreign.label(said(notice)))


def draw_urgent(question: str) -> None:
    """What to do at once about a question that waits for a choice."""
    if urgent := _urgent(rag_core.triage(question), country.numbers()):
        foreign.draw(urgent)


def heading(question: str, look: str = "") -> str:
    """The question that the results below answer, and what to look for in them; empty where nobody says."""
    asked = f'<p class="rl-question"><b>{t("Results for:")}</b> {escape(question)}</p>'
    hint = (
        f'<details class="rl-look"><summary>{t("What to look for")}</summary><p>{escape(look)}</p></details>'
        if look
        else ""
    )
    return f'<div class="rl-asked">{asked}{hint}</div>'


def _urgent(triage: rag_core.Triage, lines: rag_core.Helplines | None) -> str:
    """What to do about an urgent question; empty for a routine one."""
    found = rag_core.urgent_notice(triage, lines)
    if found is None:
        return ""
    numbers = "".join(f"<li>{escape(number)}</li>" for number in found.numbers)
    return (
        f'<div class="rl-urgent rl-{escape(triage.level)}" role="alert" lang="{escape(triage.language)}"><h3>{escape(found.title)}</h3>'
        f"<p>{escape(found.action)}</p>{numbers and f'<ul>{numbers}</ul>'}"
        f"<small>{escape(found.reason)} {escape(found.caveat)}</small></div>"
    )
