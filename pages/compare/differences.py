"""What differs between the answers of a comparison, in a strip above them, and a way out where two are the same."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace

import streamlit as st

import rag_core
from pages.compare import presenter
from pages.drawing import untrusted
from pages.drawing.translate import language, problem, t
from pages.drawing.untrusted import bold, escape, label
from pages.shared import controls, setups
from pages.shared.engine import engine
from pages.shared.live import LETTERS, Column, Comparison
from rag_core.explain import AnswerDifferences, Quoted, answer_differences, together
from rag_core.values.sources import listed

NAMED = 3  # sections or figures of an answer; more are counted
REPLACED = "replaced"  # the question to run again, with another strategy in one column


def draw(run: Comparison, best: int = 0) -> None:
    """Draw what differs, all answers as one, and the way out, once all columns are done.

    Args:
        best: the column that says in which order the sections of all answers stand.
    """
    found = answer_differences([column.trace for column in presenter.seen(run)])
    blind = presenter.blind()
    # strategies close to each other often agree, which would give names away; who declines the verdict says
    found = replace(found, same=(), quoting=()) if blind else replace(found, declined=())
    merged = () if blind else together([column.trace for column in presenter.seen(run)], best)
    untrusted.draw(_strip(found, merged, opened=blind))
    twins = [columns[-1] for columns in found.same if columns[-1] < controls.columns()]
    if twins and not presenter.on():
        _offer(run, twins[-1])
    if refused := st.session_state.pop("apart.refused", ""):
        untrusted.say(refused)


def same_as(columns: Sequence[Column]) -> list[str]:
    """For each column: that its answer is also that of others; empty where it is its own."""
    groups = answer_differences([column.trace for column in columns]).same
    found = [""] * len(columns)
    for group in groups:
        for place in group:
            others = [one for one in group if one != place]
            found[place] = t("same answer as {columns}", columns=letters(others))
    return found


def replaced() -> str | None:
    """The question to run again since another strategy was put in one of its columns; None otherwise."""
    question: str | None = st.session_state.pop(REPLACED, None)
    return question


def _strip(found: AnswerDifferences, merged: Sequence[Quoted], *, opened: bool) -> str:
    sentences = bold(" ".join(found.in_words(language(), NAMED)))
    columns = {column for quoted in merged for one in quoted.statements for column in one.columns}
    differ = any(len(one.columns) < len(columns) for quoted in merged for one in quoted.statements)
    whole = "".join(_quoted(quoted, len(columns)) for quoted in merged) if differ else ""
    if not (sentences or whole):
        return ""
    return (
        f'<details class="rl-apart"{" open" if opened else ""}><summary>{t("What differs between the answers")}'
        f"</summary><p>{sentences}</p>{whole}</details>"
    )


def _quoted(quoted: Quoted, answers: int) -> str:
    """One section, with the letters of the columns before what they say of it; quiet where all do."""
    rows = "".join(
        f'<li class="{"rl-all" if len(columns) == answers else "rl-some"}">'
        f'<b class="rl-by">{escape(" ".join(LETTERS[place] for place in columns))}</b>'
        f"<span>{escape(' '.join(one.text for one in statements))}</span></li>"
        for columns, statements in itertools.groupby(quoted.statements, key=lambda one: one.columns)
    )
    title = quoted.title or t("In no passage")
    return f'<section class="rl-together"><h5>{escape(title)}</h5><ul>{rows}</ul></section>'


def letters(columns: Iterable[int]) -> str:
    """Columns by their letters: "A, B and C"."""
    return escape(listed([LETTERS[place] for place in columns], language()))


def _offer(run: Comparison, place: int) -> None:
    """The button that puts another strategy in a column whose answer stands beside it already."""
    letter = label(LETTERS[place])
    words = (
        t("Replace {column} by a strategy that answers differently", column=letter)
        if engine().free
        else t("Try another strategy in {column}", column=letter)
    )
    st.button(words, key="apart.replace", on_click=_replace, args=(run, place))


def _replace(run: Comparison, place: int) -> None:
    """Put the first strategy that answers differently in a column, to be run at once; offline, where it costs nothing to try."""
    twin = run.columns[place]
    shown = {column.strategy.name for column in run.columns}
    for name in (*controls.DEFAULT_COLUMNS, *rag_core.RECIPES):
        setup = replace(twin.setup, strategy=rag_core.build(name))
        if name in shown:
            continue
        try:
            # where it costs, no answer is written only to see whether it differs
            if not engine().free or _differs(run, setup):
                setups.put(place, setup)
                st.session_state[REPLACED] = run.question
                return
        except rag_core.RagError as error:
            st.session_state["apart.refused"] = problem(error)
            return
    st.session_state["apart.refused"] = t("No other strategy answers this question differently.")


def _differs(run: Comparison, setup: rag_core.Setup) -> bool:
    """Whether a column would give an answer that no column gives yet."""
    lab = engine().wait(setup.corpus or run.corpus)
    (trace,) = lab.compare(run.question, [setup], country=run.country)
    found = answer_differences([*(column.trace for column in run.columns), trace])
    last = len(run.columns)
    return last not in found.declined and not any(last in columns for columns in found.same)
