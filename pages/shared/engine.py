"""The labs shared by all sessions, so that no page waits for models.

The built-in one is opened once, in the background, after the first page is drawn: loading models beside it would double
the time until the page can be used. Those of other corpora open when they are first asked for, with its models.
"""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import streamlit as st

import rag_core
from pages.shared import observing, wording
from rag_core.documents.documents import BUILTIN
from rag_core.lab.corpora import LabPool


class Engine:
    """A lab that is to be opened, opening, open, or failed to open."""

    def __init__(self) -> None:
        self.lab: rag_core.Lab | None = None
        self.settings: rag_core.Settings | None = None
        self.error: rag_core.RagError | None = None
        self.others = LabPool(self._open_other)
        self.settled = threading.Event()
        self.admission = Admission(1)
        self._progress = ("starting", 0, 1)
        self._lock = threading.Lock()
        self._started = False
        try:
            # once: where questions go must not change under the page
            self.settings = rag_core.read_settings()
            self.admission = Admission(self.settings.questions_at_once)
        except rag_core.RagError as error:
            self.error = error
            self.settled.set()

    def start(self) -> None:
        with self._lock:
            begins = not self._started and not self.settled.is_set()
            self._started = True
        if begins:
            threading.Thread(target=self._open, daemon=True).start()

    @property
    def outside(self) -> tuple[str, ...]:
        """Hosts off this machine that questions are sent to, that of the history's database included."""
        if self.settings is None:
            return ()
        hosts = (*self.settings.outside, self.settings.history_host)
        return tuple(dict.fromkeys(host for host in hosts if host))

    @property
    def free(self) -> bool:
        """Whether asking costs nothing, so that a question may be run without being told to."""
        return self.settings is not None and self.settings.free

    @property
    def state(self) -> str:
        if self.lab:
            return "ready"
        what, done, total = self._progress
        return f"{what} {done}/{total}" if total > 1 else what

    def wait(self, corpus: str = BUILTIN) -> rag_core.Lab:
        """The lab of a corpus, once it is open; raises RagError if it could not be opened."""
        self.start()
        self.settled.wait()
        if self.error:
            raise self.error
        assert self.lab is not None  # settled without an error
        return self.lab if corpus == BUILTIN else self.others.get(corpus)

    def _open_other(self, corpus: str) -> rag_core.Lab:
        assert self.lab is not None  # `wait` has seen it
        lab = rag_core.open_lab(corpus, settings=self.settings, engines=self.lab.engines, consent=_refuse)
        lab.others = self.wait
        return lab

    def _open(self) -> None:
        since = time.monotonic()
        try:
            from rag_core.lab.opening import warm_up  # with the lab, which the first page does not wait for

            # another app of this state folder may be writing the index: then there is nothing to answer from yet
            lab = rag_core.open_lab(settings=self.settings, progress=self._report, wait=True)
            self._report("asking a first question", 0, 1)
            warm_up(lab, "en")
            self.lab, lab.others = lab, self.wait
            gc.freeze()  # models and indexes stay: else every full collection walks them, in the middle of a slider's move
        except Exception as error:
            self.error = wording.unforeseen(error)
        finally:
            self.settled.set()
        observing.opened(time.monotonic() - since, self.error)
        if self.lab:
            warm_up(self.lab, "es")  # beside the first question, which is rarely asked so soon

    def _report(self, what: str, done: int, total: int) -> None:
        self._progress = (what, done, total)


def _refuse(calls: Sequence[rag_core.ModelCall]) -> None:
    """Nothing is paid for by opening a page."""
    cost = rag_core.Cost.of(calls)
    if not cost.free:
        raise rag_core.RagError(
            f"The documents of this corpus must be embedded again, which would cost {cost}.",
            "Add any document to it on the Documents page, or run `rag index`.",
        )


@st.cache_resource(show_spinner=False)
def engine() -> Engine:
    """The one engine of this server."""
    return Engine()


class Admission:
    """Two lines of questions; `most` (>= 1) of each run: a hanging model server holds up no free one. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        # of questions that ask a provider, and of free ones
        self._lines: tuple[list[object], list[object]] = ([], [])
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, question: object, given_up: Callable[[], bool], *, free: bool = False) -> Iterator[None]:
        """Wait in a line for a place until the end of the block, unless `given_up`; see `look_again`."""
        try:
            with self._changed:
                self._lines[free].append(question)
                self._changed.notify_all()
                self._changed.wait_for(lambda: given_up() or not self.ahead(question))
            yield
        finally:
            with self._changed:
                self._lines[free].remove(question)
                self._changed.notify_all()

    def look_again(self) -> None:
        """Ask every waiting question whether it has been given up."""
        with self._changed:
            self._changed.notify_all()

    def ahead(self, question: object) -> int:
        """How many questions must end before this one runs; 0 for one that runs, or is not in the line."""
        line = next((line for line in map(tuple, self._lines) if question in line), ())
        return max(0, line.index(question) + 1 - self._most) if line else 0

    @property
    def counts(self) -> tuple[int, int]:
        """How many questions run, and how many wait."""
        known = [len(line) for line in self._lines]
        running = sum(min(one, self._most) for one in known)
        return running, sum(known) - running
