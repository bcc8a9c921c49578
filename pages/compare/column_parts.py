"""A column: its parts as HTML, drawn by column.html, at every moment of its run, and their places in its card; why columns failed."""

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from datetime import UTC, datetime

import streamlit as st
from markupsafe import Markup
from streamlit.delta_generator import DeltaGenerator

import rag_core
from pages.compare import asking, costs, how_it_got_here, passages, presenter, queries, without
from pages.compare.answers import finished
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import declared, plural, problem, t, translated, words_for
from pages.shared import corpora, country, setups, tuning, wording
from pages.shared.engine import engine
from pages.shared.live import LETTERS, Column, Comparison
from pages.shared.wording import seconds
from rag_core.catalog import describe_changes
from rag_core.explain import stage_title
from rag_core.values.model_choice import OFFLINE_MODEL, ModelChoice

SEARCHING = declared("Searching for passages…")
WAITING = words_for("waiting")
ASKS = {*WAITING} - {"Rerank"}  # the stages that ask a language model
SILENT_S = 10  # of a model server, after which the column says so


def chips(setup: rag_core.Setup) -> list[str]:
    """What the card is to run on, and what of it is set otherwise than by default."""
    changes = translated(describe_changes(setup.strategy))
    texts = (setups.runs_on(setup), t("changed: {changes}", changes=changes) if changes else "")
    return [text for text in texts if text]


def _state(column: Column, place: int) -> str:
    if place < len(column.steps):
        return "done"
    if place == len(column.steps) and column.error:
        return "failed"
    return "now" if place == len(column.steps) and column.running else "todo"


def stages(column: Column) -> Markup:
    """The column's stages with their times. Space is reserved for marks and times still to come."""
    rows = []
    for place, stage in enumerate(column.strategy.stages):
        state, time = _state(column, place), ""
        if state == "done":
            step = column.steps[place]
            time = t("reused") if step.reused else seconds(step.seconds)
        rows.append((state, translated(stage_title(stage.name)), time))
    return render("column.stages", rows=rows)


def answer(column: Column, position: int, engine_state: str, *, told: bool = False, blind: bool = False) -> Markup:
    """The answer so far, and why it is incomplete unless `told`; or what it waits for. `blind` hides the strategy."""
    trace = column.trace
    if trace and trace.answer:
        return finished(trace, trace.answer, position, blind=blind)
    partial = render("column.partial", text=column.text, live=not column.settled)
    cut_off = t("The answer was cut off here.")
    if error := column.error:
        spent = _spent(error)
        if told:
            what = cut_off if partial else t("No answer: see above.")
            return render("column.failed_above", partial=partial, what=what, spent="" if blind else spent)
        what = cut_off if partial else t("This strategy failed.")
        reason, next_step = problem(wording.reason(error)), translated(error.next_step)
        return render("column.failed", partial=partial, what=what, reason=reason, next_step=next_step, spent=spent)
    if column.stopped:
        return render("column.stopped", partial=partial, what=cut_off, why=translated(column.stopped))
    warming = engine_state != "ready" and not (column.steps or column.running)
    return render("column.waiting", partial=partial, words=_waiting(column, engine_state), warming=warming)


def _waiting(column: Column, engine_state: str) -> str:
    if column.stopping:
        what = t("Stopping…")
    elif ahead := column.ahead():
        what = plural(
            "Many people are asking: {count} question is ahead of yours.",
            "Many people are asking: {count} questions are ahead of yours.",
            ahead,
        )
    elif column.steps or column.running or engine_state == "ready":
        what = translated(WAITING.get(column.running, SEARCHING))
    else:
        what = t("The engine is warming up ({state}). Your question runs next.", state=wording.step(engine_state))
    waited = f"{what} {column.waited} s" if column.waited else what
    if not (column.asks_server and column.running in ASKS and column.silent >= SILENT_S):
        return waited
    silent = t(
        "The model server has been silent for {seconds} s. You can wait, or press Stop.",
        seconds=column.silent,
    )
    return f"{waited} · {silent}"


def _spent(error: rag_core.RagError) -> str:
    cost = rag_core.Cost.of(error.calls)
    if cost.free:
        return ""
    return plural(
        "Spent before the failure: {cost} ({count} call).",
        "Spent before the failure: {cost} ({count} calls).",
        len(error.calls),
        cost=cost,
    )


def warnings(column: Column) -> Markup:
    """The strategy's warnings."""
    notes = column.trace.warnings if column.trace else [w for step in column.steps for w in step.warnings]
    return render("column.warnings", notes=notes)


@dataclass
class ColumnView:
    """One column's places in its card; each is redrawn only when its content changes.

    `chosen` is what the card is set to, empty if it is not in the next run; `also` names, by passage id, the other
    columns that found it; `alike` says who else gives the same answer, and whether an earlier one does, which folds it.
    """

    column: Column
    position: int
    place: InitVar[DeltaGenerator]
    chosen: Sequence[rag_core.Setup]
    run: Comparison
    also: Mapping[str, str]
    alike: tuple[str, bool]
    _places: dict[str, DeltaGenerator] = field(default_factory=dict, init=False)
    _shown: dict[str, Markup] = field(default_factory=dict, init=False)

    def __post_init__(self, place: DeltaGenerator) -> None:
        column, position, run = self.column, self.position, self.run
        where = (country.chosen(), corpora.chosen())
        self._changed = list(self.chosen) != [column.setup] or where != (run.country, run.corpus)
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
                    lambda: untrusted.draw(stages(column) + costs.made_by(trace)),
                )
            else:
                with st.expander(translated(how_it_got_here.TITLE)):
                    self._put("stages", stages(column))
                    if column.error:
                        untrusted.draw(queries.before_failure(column.steps, column.error))

    def draw(self) -> None:
        if "status" in self._places:
            self._draw_status()
        self._draw_results()
        if "stages" in self._places:
            self._put("stages", stages(self.column))

    def _draw_status(self) -> None:
        """How far the column is or what it took, and whether its card is set otherwise since."""
        column = self.column
        line = render(
            "column.progress", letter=LETTERS[self.position], name=setups.title(column.setup),
            chips=chips(self.chosen[0] if self.chosen else column.setup), changed=self._changed,
            took=costs.headline(column.trace) if column.trace else "", done=len(column.steps),
            states=[_state(column, place) for place in range(len(column.strategy.stages))],
        )  # fmt: skip
        self._put("status", line)

    def _draw_results(self) -> None:
        column, position, blind = self.column, self.position, presenter.blind()
        over = self.run.over  # the banner is drawn then
        if blind and not over:  # the speed of columns would tell which is which
            what = t("The answers will appear together.")
            waited = int((datetime.now(UTC) - self.run.asked).total_seconds())
            words = f"{what} {waited} s" if waited else what
            self._put("answer", render("column.waiting", partial="", words=words, warming=False))
            self._put("warnings", Markup())
            self._put("passages", Markup())
            return
        if not blind:
            self._put("rewrites", queries.rewrites(column, self.run.question))
        said = answer(column, position, engine().state, told=over, blind=blind)
        words, repeated = self.alike
        if words and not blind:
            said = render("column.alike", words=words, answer=said, folded=repeated)
        self._put("answer", said)
        self._put("paid", Markup() if blind else costs.paid(column))
        self._put("warnings", Markup() if blind else warnings(column))
        listed = passages.passages(
            column, position, self.run.question, self.also, blind=blind, most=_fewest(self.run) if blind else None,
            beside=without.beside(self.run, position), opened=without.shown(self.run, position),
        )  # fmt: skip
        self._put("passages", listed)
        opened = passages.opened(column, position, self.run.question, blind=blind) if column.trace else Markup()
        self._put("opened", opened)

    def _put(self, name: str, body: Markup) -> None:
        """Draw a part for the first time where the page stands, and in its own place from then on."""
        if name not in self._places:
            self._places[name] = untrusted.draw(body) if body else st.empty()
        elif body and self._shown[name] != body:
            untrusted.draw(body, place=self._places[name])
        self._shown[name] = body or self._shown.get(name, Markup())


def _fewest(run: Comparison) -> int | None:
    """The fewest passages of any column that has some: a longer list would give a strategy away."""
    counts = [
        len(column.ranking) if column.ranked else column.strategy.controls.get("k_final", 5)
        for column in run.columns
        if column.ranking
    ]
    return min(counts, default=None)


def draw_failures(run: Comparison) -> None:
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


def _banner(columns: Sequence[Column], failed: list[int]) -> Markup:
    """Each reason once, with the columns it is of; no reasons while names are hidden, as they may tell of stages."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for place in failed:
        if error := columns[place].error:
            told = ("", "") if presenter.blind() else (problem(wording.reason(error)), translated(error.next_step))
            reasons.setdefault(told, []).append(LETTERS[place])
    title = t("No answer") if len(failed) == len(columns) else t("Some columns have no answer")
    if any(columns[place].text for place in failed):
        title = t("Not every answer is complete")
    return render("column.failures", title=title, rows=reasons)


def _again(run: Comparison, offline: bool = False) -> None:
    """Run the comparison's question and columns again; offline, those that failed leave the model server."""
    st.session_state.update({"question": run.question, "columns": len(run.columns), asking.NOW: run.question})
    for position, column in enumerate(run.columns):
        setup = column.setup
        if offline and column.error:
            setup = replace(setup, models=ModelChoice(OFFLINE_MODEL, reranker=column.models.reranker))
        setups.put(position, setup)
