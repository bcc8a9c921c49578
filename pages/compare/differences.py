"""What differs between the answers of a comparison, in a strip above them, and a way out where two are the same."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace

import streamlit as st

import rag_core
from pages.compare import asking, presenter
from pages.drawing import untrusted
from pages.drawing.translate import language, problem, t
from pages.drawing.untrusted import bold, escape, label
from pages.shared import controls, setups
from pages.shared.engine import engine
from pages.shared.live import LETTERS, Column, Comparison
from rag_core.explain import Quoted, answer_differences, together
from rag_core.values.sources import listed

NAMED = 3  # sections or figures of an answer; more are counted
REFUSED = "apart.refused"  # the question that no other strategy was found for, and what is said of it


def draw(run: Comparison, best: int = 0) -> None:
    """Draw what differs, all answers as one in the order of column `best`, and the way out, once all end."""
    found = answer_differences([column.trace for column in presenter.seen(run)])
    blind = presenter.blind()
    # strategies close to each other often agree, which would give names away; who declines the verdict says
    found = replace(found, same=(), quoting=()) if blind else replace(found, declined=())
    merged = () if blind else together([column.trace for column in presenter.seen(run)], best)
    sentences = bold(" ".join(found.in_words(language(), NAMED)))
    answers = {column for quoted in merged for one in quoted.statements for column in one.columns}
    differ = any(len(one.columns) < len(answers) for quoted in merged for one in quoted.statements)
    whole = "".join(_quoted(quoted, len(answers)) for quoted in merged) if differ else ""
    strip = (
        f'<details class="rl-apart"{" open" if blind else ""}><summary>{t("What differs between the answers")}'
        f"</summary><p>{sentences}</p>{whole}</details>"
    )
    untrusted.draw(strip if sentences or whole else "")
    twins = [columns[-1] for columns in found.same if columns[-1] < controls.columns()]
    question, refused = st.session_state.get(REFUSED, ("", ""))
    if question == run.question:
        untrusted.say(refused)
    elif twins and engine().free and not presenter.on():  # where it costs, nothing is answered only to see
        words = t("Replace {column} by a strategy that answers differently", column=LETTERS[twins[-1]])
        st.button(label(words), key="apart.replace", on_click=_replace, args=(run, twins[-1]))


def alike(columns: Sequence[Column]) -> list[tuple[str, bool]]:
    """For each column: that others give the same answer, in words, and whether an earlier one does."""
    found = [("", False)] * len(columns)
    for first, *others in answer_differences([column.trace for column in columns]).same:
        found[first] = t("The same in {columns}", columns=letters((first, *others))), False
        for place in others:
            found[place] = t("The same as in {column}", column=LETTERS[first]), True
    return found


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


def _replace(run: Comparison, place: int) -> None:
    twin = run.columns[place]
    shown = {column.strategy.name for column in run.columns}
    refused = t("No other strategy answers this question differently.")
    try:
        for name in (*controls.DEFAULT_COLUMNS, *rag_core.RECIPES):
            setup = replace(twin.setup, strategy=rag_core.build(name))
            if name not in shown and _differs(run, setup):
                setups.put(place, setup)
                st.session_state[asking.NOW] = run.question
                return
    except rag_core.RagError as error:
        refused = problem(error)
    st.session_state[REFUSED] = run.question, refused


def _differs(run: Comparison, setup: rag_core.Setup) -> bool:
    """Whether a column would give an answer that no column gives yet."""
    lab = engine().wait(setup.corpus or run.corpus)
    (trace,) = lab.compare(run.question, [setup], country=run.country)
    found = answer_differences([*(column.trace for column in run.columns), trace])
    last = len(run.columns)
    return last not in found.declined and not any(last in columns for columns in found.same)
