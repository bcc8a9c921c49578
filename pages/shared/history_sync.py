"""Comparisons kept in the history while they run, and in memory for a reload; opened again without running anything."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import declared, problem, t, when
from pages.shared import account, corpora, observing, setups, wording
from pages.shared.engine import engine
from pages.shared.live import Column, Comparison, LiveRun
from rag_core.documents.forgotten import Forgotten, forgotten
from rag_core.sessions.history.record import Asked, AskedColumn

if TYPE_CHECKING:
    from rag_core.sessions.history.store import History

KEPT_S = 2.0  # to wait for the history when a comparison is over; a slow database must not stop the page
AGAIN_S = (2, 5, 15, 60, 300, 900)  # pauses before a comparison that is over and not kept is tried again
UPDATE_S = 2.0  # between two looks at which columns have settled
CUT_SHORT = declared("No result was kept: this strategy was still running, or the app ended first.")
_voting = threading.Lock()  # of two quick votes the later one stays
MOST_KEPT = 100
HELD_S = 12 * 3600.0  # after a page last showed it


def history() -> History | None:
    """The visitor's history, or everybody's without sign-in; None when off. For a page, not a thread; raises RagError."""
    from rag_core.sessions.history.store import History  # its database library is slow to import

    settings = engine().settings
    kept = History.opened(settings) if settings else None
    return kept.of(account.owner()) if kept else None


def remember(run: LiveRun) -> LiveRun:
    """Keep a comparison from its start, whenever a column settles, and when it is over; returns it."""
    try:
        kept = history()
    except rag_core.RagError as error:
        kept, run.unkept = None, error.sentence
    threading.Thread(target=_remember, args=(run, kept), daemon=True).start()
    return run


def _remember(run: LiveRun, kept: History | None) -> None:
    """Store a comparison as it goes on; what the database did not take is tried again, also after its end."""
    stored, tried, pauses = -1, False, iter(AGAIN_S)
    while kept:
        over, settled = run.over, sum(column.settled for column in run.columns)
        if over or settled != stored:
            try:
                columns = tuple(map(_asked_column, run.columns))
                asked = Asked(run.id, run.asked, run.question, columns, run.country, run.corpus, run.calls, run.best)
                # a try that failed may have been stored nevertheless; one that was stored and deleted stays deleted
                if not (tried and kept.update(asked)) and stored < 0:
                    kept.add(asked)
                stored, run.unkept = settled, ""
            except rag_core.RagError as error:
                run.unkept = error.sentence
                observing.failed("question not kept", "history", error)
            tried = True
        if over:
            run.kept.set()
            pause = next(pauses, None)
            if not run.unkept or pause is None:
                return
            time.sleep(pause)
        else:
            run.wait(UPDATE_S)
    run.kept.set()


def keep_vote(run: Comparison) -> None:
    """Keep the vote on a comparison beside its answers."""
    try:
        kept = history()
    except rag_core.RagError as error:
        run.unkept = error.sentence
        return
    if kept:
        threading.Thread(target=_keep_vote, args=(run, kept), daemon=True).start()


def _keep_vote(run: Comparison, kept: History) -> None:
    if isinstance(run, LiveRun):
        run.kept.wait()
    elif run.left_out:  # its places are not those of the record
        return
    with _voting:
        try:
            if asked := kept.find(run.id):
                kept.update(replace(asked, best=run.best))
        except rag_core.RagError as error:
            run.unkept = error.sentence


def find(name: str) -> Comparison | None:
    """The comparison with this id, from memory or the history, with the page's widgets set as they were; raises RagError."""
    found = comparisons().find(name)
    if found:
        st.session_state.update(found.settings)
        return found
    kept = history()
    asked = kept.find(name) if kept else None
    return _reopened(asked) if asked else None


def held(key: str) -> Comparison | None:
    """The comparison that this session shows; None from when somebody has deleted it."""
    run: Comparison | None = st.session_state.get(key)
    if run and comparisons().is_forgotten(run.id):
        del st.session_state[key]
        return None
    return run


def opened(run: Comparison, *, named: bool = True) -> None:
    """Say of an earlier comparison when it was asked, and what of it is not shown, unless names are hidden."""
    if not isinstance(run, LiveRun):
        untrusted.say(t("From the history: asked on {when} UTC. Nothing was run again.", when=when(run.asked)))
        for reason in run.left_out if named else ():
            untrusted.say(problem(reason), st.warning)


def unkept(run: Comparison) -> None:
    """Warn that a comparison which is over is not in the history."""
    settings = engine().settings
    if settings and settings.history == "off":
        st.caption(
            t(
                "The history is off: the address of this page opens this comparison only until the app ends, for {hours} "
                "hours at most.",
                hours=int(HELD_S // 3600),
            )
        )
    elif isinstance(run, LiveRun):
        answered = run.kept.wait(KEPT_S)
        if run.unkept:
            untrusted.say(t("This question is not in the history. {unkept}", unkept=problem(run.unkept)), st.warning)
        elif not answered:
            st.warning(t("This question is not in the history yet: its database has not answered."))


def _asked_column(column: Column) -> AskedColumn:
    error = column.error
    return AskedColumn(
        column.strategy.name, column.strategy.controls, tuple(column.steps), column.text, column.trace,
        wording.reason(error) if error else "", error.next_step if error else "",
        column.stopped or ("" if column.settled else CUT_SHORT), error.calls if error else (), column.models,
        column.corpus, column.where,
    )  # fmt: skip


def _reopened(asked: Asked) -> Comparison:
    columns, left_out = [], []
    for one in asked.columns:
        try:
            columns.append(_column(one))
        except rag_core.RagError as error:
            named = {"strategy": one.strategy, "error": error.sentence}
            left_out.append(rag_core.Message("{strategy} is left out. {error}", **named))
    st.session_state.update(question=asked.question, country=asked.country, columns=max(len(columns), 2))
    corpora.set_to(asked.corpus)
    for position, column in enumerate(columns):
        setups.put(position, column.setup)
    reopened = Comparison(
        asked.id, asked.asked, asked.question, columns, asked.country, asked.corpus, asked.calls, left_out
    )
    reopened.best = None if left_out else asked.best
    return reopened


def _column(kept: AskedColumn) -> Column:
    """A column as it ended; raises RagError if its strategy no longer exists or takes these values."""
    error = rag_core.RagError(kept.error, kept.next_step, kept.failed_calls) if kept.error else None
    return Column(
        rag_core.build((kept.strategy, kept.controls)), list(kept.steps), text=kept.text, trace=kept.trace,
        error=error, stopped=kept.stopped, models=kept.models, corpus=kept.corpus,
        where=kept.where,
    )  # fmt: skip


class Comparisons:
    """The `most` comparisons shown latest in any session, for `seconds`, to whoever has their id. Thread-safe."""

    def __init__(
        self, most: int = MOST_KEPT, seconds: float = HELD_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        # the most recently shown comes last
        self._kept: OrderedDict[str, tuple[Comparison, float]] = OrderedDict()
        self._forgotten: set[str] = set()  # else the page of another session would keep it again
        self._told: list[Forgotten] = []
        self._lock = threading.Lock()

    def keep(self, run: Comparison) -> None:
        """Store a comparison, or note that it is still shown."""
        with self._lock:
            if self.is_forgotten(run.id):
                return
            self._kept[run.id] = run, self._clock()
            self._kept.move_to_end(run.id)
            self._expire()

    def find(self, name: str) -> Comparison | None:
        with self._lock:
            self._expire()
            run, _ = self._kept.get(name, (None, 0.0))
            return run

    def forget(self, name: str) -> None:
        """Stop and drop a comparison that was deleted, and what Tune has of its columns."""
        with self._lock:
            self._forgotten.add(name)
            for known in [one for one in self._kept if one.partition(".")[0] == name]:
                self._kept.pop(known)[0].stop()

    def is_forgotten(self, name: str) -> bool:
        """Whether a comparison was deleted; a session may still hold it."""
        return name.partition(".")[0] in self._forgotten

    def follow(self, home: Path) -> None:
        """Forget what shows text that was forgotten after it was asked, by this process or another."""
        told = forgotten(home)
        if told == self._told:
            return
        with self._lock:
            showing = {
                run.id.partition(".")[0]
                for run, _ in self._kept.values()
                for one in told
                if run.asked.timestamp() < one.at and run.shows(one.corpus, one.documents)
            }
        for name in showing:
            self.forget(name)
        self._told = told

    def _expire(self) -> None:
        oldest = self._clock() - self._seconds
        while self._kept and (len(self._kept) > self._most or next(iter(self._kept.values()))[1] < oldest):
            self._kept.popitem(last=False)


@st.cache_resource(show_spinner=False)
def _memory() -> Comparisons:
    return Comparisons()


def comparisons() -> Comparisons:
    """The comparisons of this server, without those whose text was forgotten."""
    kept = _memory()
    if (settings := engine().settings) is not None:
        kept.follow(settings.home)
    return kept
