"""The model calls of earlier questions, to average what a question costs."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.shared import history_sync
from pages.shared.live import Comparison

LATEST = 40  # questions of the history that are read for a column

Calls = tuple[rag_core.ModelCall, ...]


def calls(run: Comparison, *, averaged: bool) -> Sequence[Sequence[Calls]]:
    """For each finished column the calls of each question that was asked with its strategy and settings, this one first.

    Args:
        averaged: whether to read the history; otherwise this question is the only one.
    """
    traces = run.traces
    if not averaged:
        return [[trace.calls] for trace in traces]
    kept = f"cost.past.{run.id}"
    if kept not in st.session_state:
        try:
            st.session_state[kept] = [_of(trace) for trace in traces]
        except rag_core.RagError as error:
            st.warning(untrusted.label(error))
            return [[trace.calls] for trace in traces]
    found: Sequence[Sequence[Calls]] = st.session_state[kept]
    return found


def _of(trace: rag_core.Trace) -> list[Calls]:
    """Those of the trace, then those of the latest other questions in the history.

    Raises:
        RagError: the history cannot be read.
    """
    history = history_sync.history()
    by_question = {trace.question: trace.calls}
    for entry in history.search(strategy=trace.strategy, limit=LATEST) if history else ():
        asked = history.find(entry.id) if history and entry.question not in by_question else None
        for column in asked.columns if asked else ():
            past = column.trace
            if past and (past.fingerprint, past.engine) == (trace.fingerprint, trace.engine):
                by_question.setdefault(past.question, past.calls)
    return list(by_question.values())
