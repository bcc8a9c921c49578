"""One column of a comparison, redrawn while it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import rag_core
from pages.compare import bills, column_parts, how_it_got_here, passages, presenter, queries
from pages.compare.prompts import before_failure
from pages.drawing import untrusted
from pages.drawing.translate import translated
from pages.shared import corpora, country, setups, tuning
from pages.shared.engine import engine
from pages.shared.live import Column, Comparison
from rag_core.catalog import describe_changes


class ColumnView:
    """One column's places in its card; each is redrawn only when its content changes.

    Args:
        chosen: what the card is set to; empty when the card is not in the next run.
        also: id of a passage -> the other columns that found it.
        twin: which other columns give the same answer, in words; may be empty.
    """

    def __init__(
        self,
        column: Column,
        position: int,
        place: DeltaGenerator,
        chosen: Sequence[rag_core.Setup],
        run: Comparison,
        also: Mapping[str, str],
        twin: str,
    ) -> None:
        self._column = column
        self._position = position
        self._run = run
        self._question = run.question
        self._chosen = chosen[0] if chosen else column.setup
        where = (country.chosen(), corpora.chosen())
        self._changed = list(chosen) != [column.setup] or where != (run.country, run.corpus)
        self._also = also
        self._twin = twin
        self._places: dict[str, DeltaGenerator] = {}
        self._shown: dict[str, str] = {}
        with place:
            if not presenter.blind():
                self._draw_status()
                if not presenter.on():
                    with st.container(key=f"tune-this{position}", horizontal=True):
                        tuning.link(run, column, position)
            self._draw_results()
            if presenter.blind():
                return
            if trace := column.trace:
                how_it_got_here.how_it_got_here(
                    trace,
                    f"{run.id}.{position}",
                    lambda: untrusted.draw(column_parts.stages(column) + bills.made_by(trace)),
                )
            else:
                with st.expander(translated(how_it_got_here.TITLE)):
                    self._draw_stages()
                    if column.error:
                        untrusted.draw(before_failure(column.steps, column.error))

    def draw(self) -> None:
        """Bring the column up to date."""
        if "status" in self._places:
            self._draw_status()
        self._draw_results()
        if "stages" in self._places:
            self._draw_stages()

    def _draw_stages(self) -> None:
        self._put("stages", column_parts.stages(self._column))

    def _draw_status(self) -> None:
        column, setup = self._column, self._chosen
        status = column_parts.status(
            column,
            self._position,
            setups.title(column.setup),
            changes(setup),
            changed=self._changed,
            runs_on=setups.runs_on(setup),
            twin=self._twin,
        )
        self._put("status", status)

    def _draw_results(self) -> None:
        column, position, blind = self._column, self._position, presenter.blind()
        over = self._run.over  # the banner is drawn then
        if blind and not over:
            waited = int((datetime.now(UTC) - self._run.asked).total_seconds())
            self._put("answer", column_parts.hidden(waited))
            self._put("warnings", "")
            self._put("passages", "")
            return
        if not blind:
            self._put("rewrites", queries.rewrites(column, self._question))
        self._put("answer", column_parts.answer(column, position, engine().state, told=over, blind=blind))
        self._put("paid", "" if blind else bills.paid(column))
        self._put("warnings", "" if blind else column_parts.warnings(column))
        listed = passages.passages(
            column,
            position,
            self._question,
            self._also,
            blind=blind,
            most=_fewest(self._run) if blind else None,
        )
        self._put("passages", listed)
        opened = passages.opened(column, position, self._question, blind=blind) if column.trace else ""
        self._put("opened", opened)

    def _put(self, name: str, body: str) -> None:
        """Draw a part for the first time where the page stands, and in its own place from then on."""
        if name not in self._places:
            self._places[name] = untrusted.draw(body) if body else st.empty()
        elif body and self._shown[name] != body:
            untrusted.draw(body, place=self._places[name])
        self._shown[name] = body or self._shown.get(name, "")


def _fewest(run: Comparison) -> int | None:
    """The fewest passages of any column that has some: a longer list would give a strategy away."""
    counts = [
        len(column.ranking) if column.ranked else column.strategy.controls.get("k_final", 5)
        for column in run.columns
        if column.ranking
    ]
    return min(counts, default=None)


def changes(setup: rag_core.Setup) -> str:
    """What of a strategy is set otherwise than by default, in a few words."""
    return translated(describe_changes(setup.strategy))
