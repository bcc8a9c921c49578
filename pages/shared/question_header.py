"""What stands above the results of a question: the question, what to do at once, and the question's language."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

import rag_core
from pages.frame import untrusted
from pages.frame.translate import said, t
from pages.frame.untrusted import escape
from pages.shared import corpora, country
from pages.shared.live import Comparison


def draw(run: Comparison, look: str = "") -> None:
    """What covers all results of a question; in one piece, so that what is below moves once.

    Args:
        look: what to look for in the results; may be empty.
    """
    urgent = _urgent(run.question, [column.corpus or run.corpus for column in run.columns] or [run.corpus])
    untrusted.draw(f"{heading(run.question, look)}{urgent}")
    known = corpora.profile(run.corpus)
    if known and (notice := rag_core.question_notice(run.question, known.languages)):
        st.warning(untrusted.label(said(notice)))


def draw_urgent(question: str, searched: Iterable[str] = ("",)) -> None:
    """What to do at once about a question that waits for a choice.

    Args:
        searched: the corpora of its columns; the chosen one if empty.
    """
    if urgent := _urgent(question, [name or corpora.chosen() for name in searched]):
        untrusted.draw(urgent)


def heading(question: str, look: str = "") -> str:
    """The question that the results below answer, and what to look for in them; empty where nobody says."""
    asked = f'<p class="rl-question"><b>{t("Results for:")}</b> {escape(question)}</p>'
    hint = (
        f'<details class="rl-look"><summary>{t("What to look for")}</summary><p>{escape(look)}</p></details>'
        if look
        else ""
    )
    return f'<div class="rl-asked">{asked}{hint}</div>'


def _urgent(question: str, searched: Iterable[str]) -> str:
    """What to do about an urgent question to these corpora; empty for a routine one."""
    known = (
        corpora.profile(name) for name in searched
    )  # None while one is opened: it may be about maternity
    read = [rag_core.triage_for(one.subject if one else "")(question) for one in set(known)]
    triage = next((one for one in read if one.urgent), read[0])
    found = rag_core.urgent_notice(triage, country.numbers())
    if found is None:
        return ""
    numbers = "".join(f"<li>{escape(number)}</li>" for number in found.numbers)
    return (
        f'<div class="rl-urgent rl-{escape(triage.level)}" role="alert" lang="{escape(triage.language)}"><h3>{escape(found.title)}</h3>'
        f"<p>{escape(found.action)}</p>{numbers and f'<ul>{numbers}</ul>'}"
        f"<small>{escape(found.reason)} {escape(found.caveat)}</small></div>"
    )
