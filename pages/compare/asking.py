"""How a question gets into a comparison: the row it is typed in, and its start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import rag_core
from pages.compare import private
from pages.compare.question import question_box
from pages.drawing import untrusted
from pages.drawing.translate import problem, t
from pages.shared import budgets, corpora, country, history_sync
from pages.shared.engine import engine
from pages.shared.live import Comparison, LiveRun
from rag_core.language.questions import check_question

if TYPE_CHECKING:
    from rag_core.catalog.setup import SetupSpec


def row(run: Comparison | None, *, running: bool) -> tuple[bool, DeltaGenerator]:
    """The question with Run and Stop: whether Run was pressed, and the room beside it for what the page adds."""
    with st.container(key="ask"):
        left, right = st.columns([7, 5], gap="small")
        with left:
            pressed = question_box(run, running=running)
        return pressed, right.container(gap="xsmall")


def start(question: str, setups: Sequence[SetupSpec], earlier: Comparison | None) -> LiveRun | None:
    """Run setups on a question; stages that an earlier result of the question has are not run again.

    None, with the reason on screen, when the question is not valid or waits for a choice about private data. The
    earlier comparison then stays as it is; else it is stopped.
    """
    if gone := corpora.removed():
        st.error(
            untrusted.label(
                t("There are no documents {corpus} here. Choose others, then press Run.", corpus=repr(gone))
            )
        )
        return None
    try:
        checked = check_question(question)
        if settings := engine().settings:
            for one in setups:  # the history may have another model
                rag_core.set_up(one).models.check_offered(settings.choosable_models)
        payer = budgets.payer()
    except rag_core.RagError as error:
        st.error(untrusted.label(problem(error)))
        return None
    sent = private.cleared(checked)
    if sent is None:
        return None
    if earlier:
        earlier.stop()
    traces = earlier.traces if earlier else ()
    started = LiveRun(engine(), sent, setups, traces, country.chosen(), corpora.chosen(), payer)
    return history_sync.remember(started)
