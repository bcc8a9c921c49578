"""A comparison that runs in the background and outlives reruns of the page."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import rag_core
from pages.shared.engine import Engine

UNWATCHED_S = 60.0  # a run nobody looks at is stopped: it may be spending money


@dataclass
class Column:
    """One strategy's progress; written by the run's thread, read by the page."""

    strategy: rag_core.Strategy
    steps: list[rag_core.Step] = field(default_factory=list)
    running: str = ""
    text: str = ""
    trace: rag_core.Trace | None = None
    error: rag_core.RagError | None = None
    stopped: bool = False

    @property
    def settled(self) -> bool:
        """Whether nothing more will come."""
        return bool(self.trace or self.error or self.stopped)

    @property
    def ranking(self) -> rag_core.Ranking | None:
        """The newest single ranking, if there is one yet."""
        for step in reversed(self.steps):
            if len(step.after.rankings) == 1:
                return step.after.ranking
        return None


class LiveRun:
    """One question, several strategies, on a thread of its own.

    Args:
        earlier: traces whose stages may be taken over.
    """

    def __init__(
        self,
        engine: Engine,
        question: str,
        strategies: Sequence[rag_core.Strategy],
        earlier: Sequence[rag_core.Trace] = (),
    ) -> None:
        self.question = question
        self.columns = [Column(strategy) for strategy in strategies]
        self._engine = engine
        self._earlier = earlier
        self._stop = threading.Event()
        self._over = threading.Event()
        self._seen = time.monotonic()
        threading.Thread(target=self._run, daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def over(self) -> bool:
        """Whether every column has settled."""
        return self._over.is_set()

    @property
    def traces(self) -> list[rag_core.Trace]:
        """The traces there are."""
        return [column.trace for column in self.columns if column.trace]

    def stop(self) -> None:
        """Stop; what has finished is kept."""
        self._stop.set()

    def watched(self) -> None:
        """Say that somebody is looking."""
        self._seen = time.monotonic()

    def _run(self) -> None:
        try:
            lab = self._engine.wait()
            strategies = [column.strategy for column in self.columns]
            for event in lab.stream(self.question, strategies, reuse=self._earlier, stop=self._stop):
                self._take(event)
        except rag_core.RagError as error:
            for column in self.columns:
                column.error = column.error or error
        finally:
            self._over.set()

    def _take(self, event: rag_core.Event) -> None:
        column = self.columns[event.column]
        match event:
            case rag_core.StageStarted(stage=stage):
                column.running = stage
            case rag_core.StageFinished(step=step):
                column.steps.append(step)
                column.running = ""
            case rag_core.Token(text=text):
                column.text += text
            case rag_core.Done(trace=trace):
                column.trace = trace
            case rag_core.Failed(error=error):
                column.error, column.running = error, ""
            case rag_core.StoppedEarly():
                column.stopped, column.running = True, ""

    def _watch(self) -> None:
        while not self._over.wait(1.0):
            if time.monotonic() - self._seen > UNWATCHED_S:
                self.stop()
