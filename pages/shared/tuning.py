"""What Tune works on: one result, the setting it was moved to, the baseline, and the kept settings."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.translate import t
from pages.shared import controls, corpora, history_sync, permalink, setups
from pages.shared.engine import engine
from pages.shared.history_sync import comparisons
from pages.shared.live import LETTERS, Column, Comparison
from rag_core.catalog.address import from_address
from rag_core.explain import ControlTips, Move, Tuner

STRATEGY, RUN, BENCH, KEPT, PINNED = "tune.strategy", "tune.run", "tune.bench", "tune.kept", "tune.pinned"
SETUP, FROM = "tune.setup", "tune.from"  # what it runs on; the column of Compare that it was opened from
DEFAULT = "hybrid_rrf"  # most of its controls stand after retrieval
REST_S = 0.4  # that a setting stands before its tipping points are worked out
MOST_ANSWERS = 50  # of the offline engine that are remembered for a result

Tips = Mapping[str, tuple[ControlTips, ...]]


class Tipping:
    """Tipping points around one setting, worked out in the background once the controls rest, so that no slider waits."""

    def __init__(self, tuner: Tuner, moved: rag_core.Trace) -> None:
        self.fingerprint = moved.fingerprint
        self.over = threading.Event()
        self.drawn = False
        self._found: dict[str, tuple[ControlTips, ...]] = {}
        self._stop = threading.Event()
        threading.Thread(target=self._work, args=(tuner, moved), daemon=True).start()

    @property
    def found(self) -> Tips | None:
        """Control -> its tipping points; None until all are known."""
        return self._found if self.over.is_set() else None

    def stop(self) -> None:
        """Stop after the control in hand: the reader moved on."""
        self._stop.set()

    def _work(self, tuner: Tuner, moved: rag_core.Trace) -> None:
        if self._stop.wait(REST_S):
            return
        try:
            for control, tips in tuner.tips(moved):
                if self._stop.is_set():
                    return
                self._found[control] = tips
            self.over.set()
        except rag_core.RagError:  # the index changed meanwhile: the next move says so
            return


@dataclass
class Bench:
    """One result on the bench.

    Attributes:
        run: the comparison of one column that made it.
        pinned: the result that others are compared with.
        shown: the result on screen, without an answer.
        last: the latest move with its strategy: drawing it again is not a move.
        answers: fingerprint -> result with its answer.
    """

    run: Comparison
    base: rag_core.Trace
    tuner: Tuner
    pinned: rag_core.Trace
    shown: rag_core.Trace
    answers: dict[str, rag_core.Trace] = field(default_factory=dict)
    tipping: Tipping | None = None
    last: tuple[rag_core.Strategy, Move] | None = None

    def move(self, strategy: rag_core.Strategy) -> Move:
        """Move to a setting, and show its result if that needs no model; raises RagError."""
        if self.last is None or self.last[0] != strategy:
            self.last = strategy, self.tuner.move(strategy.controls)
        _, move = self.last
        if move.trace:
            self.shown = replace(move.trace, controls=strategy.controls)  # idle controls may differ
            self._tip(move.trace)
        return move

    def answered(self) -> rag_core.Trace | None:
        """The shown result with its answer: the offline engine writes it now, a language model only on request."""
        key, offline = self.shown.fingerprint, str(self.base.engine["llm"]).startswith("offline")
        if key not in self.answers and offline:
            if len(self.answers) >= MOST_ANSWERS:
                del self.answers[next(iter(self.answers))]
            self.answers[key] = engine().wait(self.base.corpus).what_if(self.base, **self.shown.controls)
        return self.answers.get(key)

    def listed(self) -> rag_core.Trace:
        """The shown result with the labels that its passages have in the base; others get theirs with an answer."""
        labels = {hit.id: hit.relevance for hit in self.base.ranking}
        *steps, last = self.shown.steps
        hits = tuple(replace(hit, relevance=labels.get(hit.id)) for hit in last.after.ranking)
        rankings = (replace(last.after.ranking, hits=hits),)
        return replace(self.shown, steps=(*steps, replace(last, after=replace(last.after, rankings=rankings))))

    def pin(self) -> None:
        self.pinned = self.answers.get(self.shown.fingerprint, self.shown)

    def _tip(self, moved: rag_core.Trace) -> None:
        if self.tipping is None or self.tipping.fingerprint != moved.fingerprint:
            if self.tipping:
                self.tipping.stop()
            self.tipping = Tipping(self.tuner, moved)


def bench(run: Comparison) -> Bench | None:
    """The bench of a finished run, None without a result or its models; the baseline stays with question and documents."""
    known: Bench | None = st.session_state.get(BENCH)
    if known and known.run is run:
        return known
    base = run.columns[0].trace
    if base is None:
        return None
    earlier: rag_core.Trace | None = st.session_state.get(PINNED)
    comparable = earlier and (earlier.question, earlier.strategy, earlier.engine) == (
        base.question, base.strategy, base.engine,
    )  # fmt: skip
    tuner = engine().wait(base.corpus).tuner(base)
    made = Bench(run, base, tuner, earlier if earlier and comparable else base, base)
    unanswered = rag_core.build((base.strategy, base.controls)).without_answer()
    made.answers[unanswered.fingerprint] = base
    st.session_state[BENCH] = made
    return made


def prefix(strategy: str) -> str:
    """Of the keys of a strategy's widgets on this page."""
    return f"tune.{strategy}"


def strategy() -> str:
    """The chosen strategy."""
    return controls.kept_strategy(STRATEGY, DEFAULT)


def values() -> dict[str, object]:
    """The setting on the sliders."""
    return controls.current_values(rag_core.RECIPES[strategy()], prefix(strategy()))


def setup() -> rag_core.Setup:
    """The setting on the sliders, with its column's models and corpus; raises RagError if they conflict."""
    chosen = rag_core.build((strategy(), values()))
    earlier: rag_core.Setup | None = st.session_state.get(SETUP)
    return replace(earlier, strategy=chosen) if earlier else rag_core.set_up(chosen)


def link(run: Comparison, column: Column, position: int) -> None:
    """Draw the link from a column of Compare to Tune, with what was run; a column without a result has none yet."""
    st.page_link(
        "pages/compare/tune.py", label=t("Tune this"), icon=":material/tune:", disabled=column.trace is None,
        query_params=permalink.address([column.setup], run, f"{run.id}.{LETTERS[position]}"),
    )  # fmt: skip


def keep() -> None:
    """Make the setting on the sliders a column of Compare, unless it is one: a click may count twice.

    The first one, then the next; after the columns that are there if Tune was opened from one of them, and in the place
    of that one where no other fits.
    """
    if is_kept():
        return
    kept: list[rag_core.Setup] = st.session_state.setdefault(KEPT, [])
    origin, shown = st.session_state.get(FROM), controls.columns()
    position = len(kept) if origin is None else origin if shown == controls.MOST_COLUMNS else shown
    setups.put(position, setup())
    kept.append(setup())
    st.session_state["columns"] = max(position + 1, 2 if origin is None else shown)


def is_kept() -> bool:
    """Whether the setting on the sliders is a column already."""
    return setup() in kept()


def kept() -> Sequence[rag_core.Setup]:
    """What was kept, in the order of the columns."""
    columns: Sequence[rag_core.Setup] = st.session_state.get(KEPT, ())
    return columns


def restore() -> None:
    """Set the page as its address says: the run if this server still has it, otherwise the configuration alone."""
    parameters = permalink.parameters()
    if not permalink.is_wish() or not parameters:
        return
    found = from_address(parameters, (DEFAULT,), fewest=1, models=setups.offered())
    if found:
        (column, *_) = found.columns
        chosen = column.strategy
        problems = [*found.problems, *permalink.unknown(found.corpus)]
        corpora.set_to(found.corpus)
        st.session_state.update(country=found.country, misread=problems)
        st.session_state[STRATEGY], st.session_state[SETUP] = chosen.name, column
        controls.put(rag_core.RECIPES[chosen.name], prefix(chosen.name), chosen.controls)
    name = st.query_params.get("run", "")
    run = comparisons().find(name) or _carried(name)
    if run and len(run.columns) == 1:
        st.session_state[RUN] = run
        st.session_state["question"] = run.question
        st.session_state[PINNED] = run.settings.get(PINNED)
    else:
        st.session_state.pop(RUN, None)


def _carried(name: str) -> Comparison | None:
    """A run of this page from the history, or a column of a comparison as `link` names it: nothing is asked again."""
    identity, _, letter = name.partition(".")
    whole = None
    with untrusted.errors(st.warning):  # the history may not answer
        whole = history_sync.find(identity) if identity else None
    if not letter:
        return whole
    columns = dict(zip(LETTERS, whole.columns, strict=False)) if whole else {}
    if whole is None or letter not in columns:
        return None
    st.session_state.update({"run": whole, FROM: LETTERS.index(letter), KEPT: []})
    return Comparison(name, whole.asked, whole.question, [columns[letter]], whole.country, whole.corpus)


def put_address(run: Comparison, chosen: rag_core.Setup, pinned: rag_core.Trace | None) -> None:
    """Write the setting and the run into the address, and keep both for a reload."""
    comparisons().keep(run)
    run.settings = {PINNED: pinned}
    st.session_state[PINNED] = pinned
    permalink.put(run, [chosen])
