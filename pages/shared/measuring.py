"""Measuring in the background: a run or a sweep that outlives reruns of the page."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

import rag_core
from pages.shared.engine import engine
from rag_core import evaluation as ev

BUILTIN_LABEL = "Built-in questions"


@st.cache_resource(show_spinner=False)
def _lab_of(data: str) -> rag_core.Lab:
    """The lab over a BEIR folder, kept open for later runs."""
    return ev.open_judged(data, rag_core.read_settings(), engines=engine().wait().engines)


def lab_for(data: str) -> rag_core.Lab:
    """The lab over a judged set's documents.

    Raises:
        RagError: it cannot be opened.
    """
    return engine().wait() if data == ev.BUILTIN_DATA else _lab_of(data)


@dataclass
class Work:
    """Something measured on a thread; the page reads these fields while it runs.

    Args:
        doing: what it is at, in a few words.
        bill: expected cost, while it waits for a yes; see `agree`.
        folder: the run's folder, once there is one.
        sums: label -> (questions, sum of the first metric), for the live table.
    """

    title: str
    doing: str = "opening the documents"
    done: int = 0
    total: int = 0
    seconds_left: float | None = None
    bill: ev.Estimate | None = None
    error: rag_core.RagError | None = None
    run: ev.RunFolder | None = None
    result: dict[str, Any] | None = None
    sums: dict[str, tuple[int, float]] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    _agreed: threading.Event = field(default_factory=threading.Event)

    def start(self, work: Callable[[Work], None]) -> Work:
        """Begin on a thread."""

        def guarded() -> None:
            try:
                work(self)
            except rag_core.RagError as error:
                self.error = error
            except Exception as error:
                self.error = rag_core.RagError(f"{type(error).__name__}: {error}", "Run `rag doctor`.")
            finally:
                self.over.set()

        threading.Thread(target=guarded, daemon=True).start()
        return self

    def ask(self, bill: ev.Estimate) -> None:
        """Wait for a yes before anything is billed.

        Raises:
            RagError: it was stopped instead.
        """
        if bill.free:
            return
        self.bill = bill
        while not self._agreed.wait(0.2):
            if self.stop.is_set():
                raise rag_core.RagError("Nothing was run.", "Measure again when you like.")
        self.bill = None

    def agree(self) -> None:
        """Say yes to the bill."""
        self._agreed.set()


def measure(
    data: str,
    split: str,
    chosen: Mapping[str, rag_core.Chosen],
    depth: int | None,
    metrics: Sequence[str],
) -> Work:
    """Start an evaluation.

    Raises:
        RagError: the questions, a strategy or a metric is wrong; nothing was started.
    """
    settings = rag_core.read_settings()
    strategies = ev.settle(chosen, depth)
    measured = ev.choose_metrics(metrics, depth)
    judged = ev.read_judged(data, split, settings)

    def work(work: Work) -> None:
        lab = lab_for(data)
        manifest = ev.describe(judged, strategies, depth=depth, engine=lab.engine, source=ev.source_of(data))
        run = work.run = ev.RunFolder.create(ev.folder_for(manifest, settings), manifest, judged)
        work.ask(ev.estimate(run, strategies, lab.rehearsal()))
        work.doing = "measuring"
        grades = judged.qrels
        for label, held in run.records.items():
            for record in held.values():
                _add(work, label, record, measured[0], grades)
        steps = ev.evaluate(
            run, strategies, lab.context, share=settings.uses_openai, workers=4 if settings.uses_openai else 1,
            stop=work.stop,
        )  # fmt: skip
        for step in steps:
            work.done, work.total, work.seconds_left = step.done, step.total, step.seconds_left
            if step.latest:
                _add(work, *step.latest, measured[0], grades)
        work.doing = "computing intervals"
        work.result = ev.conclude(run, measured)
        work.doing = "done"

    return Work(f"{len(strategies)} strategies on {len(judged.measured)} questions").start(work)


def _add(
    work: Work, label: str, record: ev.Record, metric: ev.Metric, grades: Mapping[str, Mapping[str, int]]
) -> None:
    count, total = work.sums.get(label, (0, 0.0))
    if not record.error:
        score = metric(record.ranked, grades[record.question])
        work.sums[label] = (count + 1, total + score)


def start_sweep(
    data: str, recipe: rag_core.Recipe, axes: Mapping[str, Sequence[object]], most: int, metric: str
) -> Work:
    """Start a sweep of at most so many settings, tuned on dev and reported on test.

    Raises:
        RagError: the questions, a value or the metric is wrong; nothing was started.
    """
    settings = rag_core.read_settings()
    combinations = ev.draw(axes, most)
    built = list(ev.settings_of(recipe, {}, combinations))
    measured = ev.parse_metric(metric)
    dev, test = ev.read_judged(data, "dev", settings), ev.read_judged(data, "test", settings)

    def work(work: Work) -> None:
        lab = lab_for(data)
        work.ask(ev.estimate_all(dev.measured, built, lab.rehearsal()))
        work.doing = "sweeping"

        def told(done: int, total: int) -> None:
            work.done, work.total = done, total

        result = ev.tune(recipe, combinations, measured, dev, test, lab.context, stop=work.stop, told=told)
        ev.keep(result, settings)
        work.result = result
        work.doing = "done"

    return Work(f"{len(built):,} settings of {recipe.title} on {len(dev.measured)} questions").start(work)


@st.fragment(run_every=1.0)
def watch(work: Work) -> None:
    """Draw a work that is under way; the whole page is drawn again when it is over."""
    if work.over.is_set():
        st.rerun()
    if work.bill:
        st.warning(f"This would cost **{work.bill}**. Nothing has been sent yet.")
        yes, no = st.columns(2)
        yes.button("Go on", type="primary", width="stretch", on_click=work.agree)
        no.button("Do not run it", width="stretch", on_click=work.stop.set)
        return
    left = "" if work.seconds_left is None else f", {_minutes(work.seconds_left)} left"
    share = work.done / work.total if work.total else 0.0
    counted = f" {work.done:,} of {work.total:,}" if work.total else ""
    st.progress(share, f"**{work.title}**: {work.doing}{counted}{left}")
    st.button(
        "Stop", on_click=work.stop.set, help="What has been measured is kept; the same run goes on there."
    )
    if work.sums:
        st.dataframe(
            [
                {"strategy": label, "questions": count, "mean so far": total / count if count else None}
                for label, (count, total) in work.sums.items()
            ],
            hide_index=True,
            column_config={"mean so far": st.column_config.NumberColumn(format="%.3f")},
        )


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def choose_data(key: str) -> str:
    """Let the user choose the built-in questions or a BEIR folder; "builtin" or the folder's path."""
    kind = st.segmented_control(
        "Questions", [BUILTIN_LABEL, "A BEIR folder"], default=BUILTIN_LABEL, key=f"{key}.kind", required=True,
        persist_state="session",
    )  # fmt: skip
    if kind == BUILTIN_LABEL:
        return ev.BUILTIN_DATA
    return st.text_input(
        "Folder", key=f"{key}.folder", placeholder="/path/to/nfcorpus", persist_state="session",
        help="It holds corpus.jsonl, queries.jsonl and qrels/<split>.tsv. Its documents are embedded once.",
    )  # fmt: skip
