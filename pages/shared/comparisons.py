"""Comparisons kept on the server, so that a reloaded page finds its own again."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

import streamlit as st

from pages.shared.engine import engine
from pages.shared.live import Comparison
from rag_core.documents.forgotten import Forgotten, forgotten

MOST_KEPT = 100
KEPT_S = 12 * 3600.0  # after a page last showed it


class Comparisons:
    """The comparisons shown most recently in any session, by id; whoever has the id can see the run. Thread-safe.

    Args:
        most: how many to keep; the one shown longest ago goes first.
        seconds: how long to keep a comparison after it was last shown.
    """

    def __init__(
        self, most: int = MOST_KEPT, seconds: float = KEPT_S, clock: Callable[[], float] = time.monotonic
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
        """The comparison with this id; None when there is none or it has expired."""
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
def _kept() -> Comparisons:
    return Comparisons()


def comparisons() -> Comparisons:
    """The comparisons of this server, without those whose text was forgotten."""
    kept = _kept()
    if (settings := engine().settings) is not None:
        kept.follow(settings.home)
    return kept
