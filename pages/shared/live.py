"""A comparison that runs in the background and outlives reruns of the page."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import rag_core
from pages.shared.engine import Engine

UNWATCHED_S = 300.0  # a run nobody looks at is stopped: it may be spending money


@dataclass
class Column:
    """One strategy's progress; written by the run's thread, read by the page.

    Args:
        since: when the stage that runs now began, on the monotonic clock.
        stopping: whether it was asked to stop.
        stopped: why the column was stopped; empty when it was not.
    """

    strategy: rag_core.Strategy
    steps: list[rag_core.Step] = field(default_factory=list)
    running: str = ""
    since: float = field(default_factory=time.monotonic)
    text: str = ""
    trace: rag_core.Trace | None = None
    error: rag_core.RagError | None = None
    stopping: bool = False
    stopped: str = ""

    @property
    def settled(self) -> bool:
        """Whether nothing more will come."""
        return bool(self.trace or self.error or self.stopped)

    @property
    def waited(self) -> int:
        """Whole seconds the present stage has taken so far."""
        return int(time.monotonic() - self.since)

    @property
    def unfinished(self) -> str:
        """Name of the first stage that has not finished; empty when all have."""
        return next((stage.name for stage in self.strategy.stages[len(self.steps) :]), "")

    @property
    def candidates(self) -> int:
        """How many passages the newest stage left, each counted once."""
        rankings = self.steps[-1].after.rankings if self.steps else ()
        return len({hit.id for ranking in rankings for hit in ranking})

    @property
    def ranking(self) -> rag_core.Ranking | None:
        """The newest single ranking, if there is one yet."""
        for step in reversed(self.steps):
            if len(step.after.rankings) == 1:
                return step.after.ranking
        return None

    @property
    def ranked(self) -> bool:
        """Whether the ranking is the one the answer is written from."""
        left = self.strategy.stages[len(self.steps) :]
        return self.ranking is not None and all(stage.kind == "answer" for stage in left)


class LiveRun:
    """One question, several strategies, on a thread of its own.

    Args:
        earlier: traces whose stages may be taken over.

    Attributes:
        id: its name in the page's address; it cannot be guessed.
        settings: the page's widgets as they stood last, so that a reloaded page shows them again.
    """

    def __init__(
        self,
        engine: Engine,
        question: str,
        strategies: Sequence[rag_core.Strategy],
        earlier: Sequence[rag_core.Trace] = (),
    ) -> None:
        self.id = secrets.token_urlsafe(16)
        self.settings: Mapping[str, object] = {}
        self.question = question
        self.started = time.monotonic()
        self.columns = [Column(strategy) for strategy in strategies]
        self._engine = engine
        self._earlier = earlier
        self._settled: list[rag_core.Done | rag_core.Failed | rag_core.StoppedEarly] = []
        self._stop = threading.Event()
        self._over = threading.Event()
        self._why_stopped = "the run was stopped"
        self._seen = self.started
        threading.Thread(target=self._run, daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def over(self) -> bool:
        """Whether every column has settled."""
        return self._over.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait until every column has settled, at most so long; whether they have."""
        return self._over.wait(seconds)

    @property
    def traces(self) -> list[rag_core.Trace]:
        """The traces there are."""
        return [column.trace for column in self.columns if column.trace]

    @property
    def calls(self) -> tuple[rag_core.ModelCall, ...]:
        """What was sent for this comparison so far, by failed and stopped columns too; each call once."""
        return rag_core.calls_of(self._settled, self._earlier)

    def stop(self) -> None:
        """Stop; what has finished is kept."""
        for column in self.columns:
            column.stopping = True
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
        if isinstance(event, rag_core.Done | rag_core.Failed | rag_core.StoppedEarly):
            self._settled.append(event)
        match event:
            case rag_core.StageStarted(stage=stage):
                column.running, column.since = stage, time.monotonic()
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
                column.stopped, column.running = self._why_stopped, ""

    def _watch(self) -> None:
        while not self._over.wait(1.0):
            if time.monotonic() - self._seen > UNWATCHED_S:
                self._why_stopped = f"nobody had this page open for {UNWATCHED_S / 60:.0f} minutes"
                self.stop()
