"""A column: its parts drawn as HTML at every moment of its run, and their places in its card; why columns failed."""

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from datetime import UTC, datetime

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import rag_core
from pages.compare import asking, costs, how_it_got_here, passages, presenter, queries, without
from pages.compare.answers import finished
from pages.drawing import untrusted
from pages.drawing.translate import declared, plural, problem, t, translated, words_for
from pages.drawing.untrusted import bold, escape
from pages.shared import corpora, country, setups, tuning, wording
from pages.shared.engine import engine
from pages.shared.live import LETTERS, Column, Comparison
from pages.shared.wording import seconds
from rag_core.catalog import describe_changes
from rag_core.explain import stage_title
from rag_core.values.model_choice import OFFLINE_MODEL, ModelChoice

SEARCHING = declared("Searching for passages…")
ROOM = '<small class="rl-room" aria-hidden="true">{}</small>'
WAITING = words_for("waiting")
ASKS = {*WAITING} - {"Rerank"}  # the stages that ask a language model
SILENT_S = 10  # of a model server, after which the column says so


def tabs(names: Sequence[str]) -> str:
    """One label for each column, which shows the column on a narrow screen; see `switches`."""
    labels = "".join(f'<label for="rl-tab-{place:d}">{escape(name)}</label>' for place, name in enumerate(names))
    return f'<div class="rl-tabs">{labels}</div>'


def switches(count: int) -> str:
    """The state of the tabs: which column a narrow screen shows. Never redrawn, so the choice stays."""
    return "".join(
        f'<input type="radio" class="rl-switch" name="rl-tab" id="rl-tab-{place:d}" aria-label="{t("Column {number:d}", number=place + 1)}"'
        f"{' checked' if place == 0 else ''}>"
        for place in range(count)
    )


def title(letter: str, name: str, *, voted: bool = False) -> str:
    """What a card is called in presenter mode: its letter, its name once it is revealed, and whether it has the vote."""
    chip = f'<span class="rl-chip">{t("voted best")}</span>' if voted else ""
    return f'<h3 class="rl-named"><span class="rl-letter">{escape(letter)}</span> {escape(name)} {chip}</h3>'


def status(setup: rag_core.Setup, before: str = "") -> str:
    """One line of fixed height: `before`, what the card is to run on, and what of it is set otherwise than by default."""
    changes = translated(describe_changes(setup.strategy))
    texts = (setups.runs_on(setup), t("changed: {changes}", changes=changes) if changes else "")
    chips = "".join(f'<span class="rl-chip" title="{escape(text)}">{escape(text)}</span>' for text in texts if text)
    return f'<div class="rl-status">{before}{chips}</div>'


def _state(column: Column, place: int) -> str:
    if place < len(column.steps):
        return "done"
    if place == len(column.steps) and column.error:
        return "failed"
    return "now" if place == len(column.steps) and column.running else "todo"


def stages(column: Column) -> str:
    """The column's stages with their times. Space is reserved for marks and times still to come."""
    marks = {"done": "✓", "failed": "✕", "now": '<span class="rl-spin"></span>', "todo": ROOM.format("✓")}
    parts = []
    for place, stage in enumerate(column.strategy.stages):
        state, time = _state(column, place), ROOM.format("0.00 s")
        if state == "done":
            step = column.steps[place]
            time = f"<small>{t('reused') if step.reused else seconds(step.seconds)}</small>"
        name = translated(stage_title(stage.name))
        parts.append(f'<li class="rl-{state}">{marks[state]} {escape(name)} {time}</li>')
    return f'<ol class="rl-stages">{"".join(parts)}</ol>'


def answer(column: Column, position: int, engine_state: str, *, told: bool = False, blind: bool = False) -> str:
    """The answer so far, and why it is incomplete unless `told`; or what it waits for. `blind` hides the strategy."""
    trace = column.trace
    if trace and trace.answer:
        return finished(trace, trace.answer, position, blind=blind)
    partial = ""
    if column.text:
        live = "" if column.settled else " rl-live"
        partial = f'<div class="rl-answer{live}">{bold(column.text)}</div>'
    cut_off = t("The answer was cut off here.")
    if column.error:
        if told:
            what = cut_off if partial else t("No answer: see above.")
            return f'{partial}<p class="rl-hint">{what}{"" if blind else _spent(column.error)}</p>'
        what = cut_off if partial else t("This strategy failed.")
        return (
            f'{partial}<div class="rl-box rl-bad" role="alert"><b>{what}</b> {escape(problem(wording.reason(column.error)))}'
            f"<br>{escape(translated(column.error.next_step))}{_spent(column.error)}</div>"
        )
    if column.stopped:
        what = f"<b>{cut_off}</b> " if partial else ""
        return (
            f'{partial}<div class="rl-box rl-thin" data-said>{what}{escape(translated(column.stopped))} '
            f"{t('Finished results are kept.')}</div>"
        )
    waiting = f'<div class="rl-wait">{escape(_waiting(column, engine_state))}</div>'
    if engine_state != "ready" and not (column.steps or column.running):
        sentence = t("The answer will stand here, each sentence with its source. The passages behind it follow below.")
        waiting += f'<p class="rl-hint">{escape(sentence)}</p>'
    return f'<div class="rl-said">{partial}{waiting}</div>'


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
    spent = plural(
        "Spent before the failure: {cost} ({count} call).",
        "Spent before the failure: {cost} ({count} calls).",
        len(error.calls),
        cost=escape(cost),
    )
    return f"<br><small>{spent}</small>"


def warnings(column: Column) -> str:
    """The strategy's warnings."""
    notes = column.trace.warnings if column.trace else [w for step in column.steps for w in step.warnings]
    return "".join(f'<p class="rl-box rl-thin">{escape(translated(note))}</p>' for note in notes)


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
    _shown: dict[str, str] = field(default_factory=dict, init=False)

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
        column, outdated = self.column, ""
        shown = escape(setups.title(column.setup))
        if column.trace:
            took = escape(costs.headline(column.trace))
            far = f'<span class="rl-took" title="{took}">{took}</span>'
        else:
            states = [_state(column, place) for place in range(len(column.strategy.stages))]
            marks = "".join(f'<i class="rl-{state}"></i>' for state in states)
            far = (
                f'<span class="rl-bar" role="progressbar" aria-label="{t("Stages done")}" aria-valuemin="0" '
                f'aria-valuemax="{len(states)}" aria-valuenow="{len(column.steps):d}">{marks}</span>'
            )
        if self._changed:
            outdated = f'<span class="rl-changed" title="{t("Shown: {strategy}", strategy=shown)}">{t("press Run to apply")}</span>'
        line = status(self.chosen[0] if self.chosen else column.setup, far + outdated)
        self._put("status", f'<h3 class="rl-unseen">{escape(LETTERS[self.position])}: {shown}</h3>{line}')

    def _draw_results(self) -> None:
        column, position, blind = self.column, self.position, presenter.blind()
        over = self.run.over  # the banner is drawn then
        if blind and not over:  # the speed of columns would tell which is which
            what = t("The answers will appear together.")
            waited = int((datetime.now(UTC) - self.run.asked).total_seconds())
            line = escape(f"{what} {waited} s" if waited else what)
            self._put("answer", f'<div class="rl-said"><div class="rl-wait">{line}</div></div>')
            self._put("warnings", "")
            self._put("passages", "")
            return
        if not blind:
            self._put("rewrites", queries.rewrites(column, self.run.question))
        said = answer(column, position, engine().state, told=over, blind=blind)
        words, repeated = self.alike
        if words and repeated and not blind:
            said = f'<details class="rl-fold"><summary>{escape(words)}</summary>{said}</details>'
        elif words and not blind:
            said = f'<p class="rl-twin">{escape(words)}</p>{said}'
        self._put("answer", said)
        self._put("paid", "" if blind else costs.paid(column))
        self._put("warnings", "" if blind else warnings(column))
        listed = passages.passages(
            column, position, self.run.question, self.also, blind=blind, most=_fewest(self.run) if blind else None,
            beside=without.beside(self.run, position), opened=without.shown(self.run, position),
        )  # fmt: skip
        self._put("passages", listed)
        opened = passages.opened(column, position, self.run.question, blind=blind) if column.trace else ""
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


def _banner(columns: Sequence[Column], failed: list[int]) -> str:
    """Each reason once, with the columns it is of; no reasons while names are hidden, as they may tell of stages."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for place in failed:
        if error := columns[place].error:
            told = ("", "") if presenter.blind() else (problem(wording.reason(error)), translated(error.next_step))
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
