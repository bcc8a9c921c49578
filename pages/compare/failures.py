"""The one banner above columns that failed: why, and what to do about it."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from pages.compare import asking, presenter
from pages.drawing import untrusted
from pages.drawing.translate import problem, t, translated
from pages.drawing.untrusted import escape
from pages.shared import setups, wording
from pages.shared.live import LETTERS, Column, Comparison
from rag_core.values.model_choice import OFFLINE_MODEL, ModelChoice


def draw(run: Comparison) -> None:
    """Draw the banner of a comparison that is over; nothing where no column failed."""
    columns = presenter.seen(run)
    failed = [place for place, column in enumerate(columns) if column.error]
    if not failed:
        return
    with st.container(key="failures"):
        untrusted.draw(_banner(columns, failed))
        with st.container(horizontal=True, gap="small"):
            st.button(t("Retry"), key="failures.retry", type="primary", on_click=_again, args=(run,))
            if any(columns[place].asks_server for place in failed):
                st.button(
                    t("Answer offline"), key="failures.offline", on_click=_again, args=(run, True),
                    help=t("With the engine of this machine, which needs no model server."),
                )  # fmt: skip


def _banner(columns: Sequence[Column], failed: list[int]) -> str:
    """Each reason once, with the columns it is of; no reasons while names are hidden, as they may tell of stages."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for place in failed:
        if error := columns[place].error:
            told = (
                ("", "")
                if presenter.blind()
                else (problem(wording.reason(error)), translated(error.next_step))
            )
            reasons.setdefault(told, []).append(LETTERS[place])
    title = t("No answer") if len(failed) == len(columns) else t("Some columns have no answer")
    if any(columns[place].text for place in failed):
        title = t("Not every answer is complete")
    rows = "".join(
        f"<p><b>{escape(', '.join(letters))}</b> {escape(what)} {escape(step)}</p>"
        for (what, step), letters in reasons.items()
    )
    return f'<div class="rl-box rl-bad" role="alert"><b>{title}</b>{rows}</div>'


def _again(run: Comparison, offline: bool = False) -> None:
    """Run the comparison's question and columns again; offline, those that failed leave the model server."""
    st.session_state.update({"question": run.question, "columns": len(run.columns), asking.NOW: run.question})
    for position, column in enumerate(run.columns):
        setup = column.setup
        if offline and column.error:
            setup = replace(setup, models=ModelChoice(OFFLINE_MODEL, reranker=column.models.reranker))
        setups.put(position, setup)
