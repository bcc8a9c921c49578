"""A comparison: one that runs in the background and survives reruns of the page, or one that ran earlier."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import rag_core
from pages.drawing.translate import language
from pages.shared import observing, wording
from pages.shared.engine import Engine
from rag_core.documents.documents import BUILTIN
from rag_core.explain import AnswerDifferences, answer_differences
from rag_core.language.analysis import assuming
from rag_core.pipeline.stream import calls_of
from rag_core.runtime.run import using
from rag_core.runtime.spending import Payer, payer
from rag_core.values.model_choice import OFFLINE_MODEL, ModelChoice

if TYPE_CHECKING:
    from rag_core.catalog.setup import SetupSpec
    from rag_core.evaluation import ColumnVerdict

LETTERS = "ABCD"  # of the columns
UNWATCHED_S = 300.0  # without a page that shows it, a run is stopped: it may be spending money
TICK_S = 0.08  # between two redraws of a running comparison


@dataclass
class Column:
    """One strategy's progress; written by the run's thread, read by the page.

    Args:
        since, heard: when the running stage began, and when it last gave a word of the answer, on the monotonic clock.
        models, corpus, where: what it runs on in place of the settings' models, the comparison's corpus, all passages.
        ahead: tells how many questions of other visitors must end before it runs.
    """

    strategy: rag_core.Strategy
    steps: list[rag_core.Step] = field(default_factory=list)
    running: str = ""
    since: float = field(default_factory=time.monotonic)
    heard: float = field(default_factory=time.monotonic)
    text: str = ""
    trace: rag_core.Trace | None = None
    error: rag_core.RagError | None = None
    stopping: bool = False
    stopped: str = ""
    models: ModelChoice = field(default_factory=ModelChoice)
    corpus: str = ""
    where: str = ""
    asks_server: bool = False
    ahead: Callable[[], int] = lambda: 0

    @property
    def setup(self) -> rag_core.Setup:
        return rag_core.Setup(self.strategy, self.models, self.corpus, self.where)

    @property
    def settled(self) -> bool:
        return bool(self.trace or self.error or self.stopped)

    @property
    def waited(self) -> int:
        return int(time.monotonic() - self.since)

    @property
    def silent(self) -> int:
        """Whole seconds without a word from the running stage."""
        return int(time.monotonic() - self.heard)

    @property
    def candidates(self) -> int:
        return self.steps[-1].after.passage_count if self.steps else 0

    @property
    def ranking(self) -> rag_core.Ranking | None:
        """The latest single ranking, if there is one yet."""
        for step in reversed(self.steps):
            if len(step.after.rankings) == 1:
                return step.after.ranking
        return None

    @property
    def ranked(self) -> bool:
        """Whether the ranking is final: the answer is written from it."""
        remaining = self.strategy.stages[len(self.steps) :]
        return self.ranking is not None and all(stage.kind == "answer" for stage in remaining)


@dataclass(eq=False)
class Comparison:
    """One question and its columns; this one is over.

    Args:
        id: names it in the page's address; cannot be guessed.
        left_out: a sentence for each column that can no longer be shown.
        settings: the latest values of the page's widgets, restored when the page is reloaded.
        kept: set once its storing in the history has succeeded, or failed for the first time after its end.
        order: the places of its columns as presenter mode shows them, drawn by lot: the address has their strategies.
        best: the places voted best, all that give one answer and several answers for a tie; empty if none was good
            enough; None without a vote.
        revealed: whether presenter mode has shown its names, which ends the vote.
        presented: presenter mode as it stands, restored when the page is reloaded.
        verdicts: on its answers without a model, in the order of `columns`; None until they are shown.
        by_model: a model's verdicts, in the order of `columns`, and the calls that they took; None until it is asked.
        without: (place, passage) -> the answer of a column without a passage, or why there is none.
        others: place -> what would answer otherwise than its column, whose answer is another's too; None for nothing.
        later: the model calls made since it was over, for its verdicts and without a passage.
    """

    id: str
    asked: datetime
    question: str
    columns: Sequence[Column]
    country: str = ""
    corpus: str = BUILTIN
    paid: tuple[rag_core.ModelCall, ...] = ()
    left_out: Sequence[str] = ()
    settings: Mapping[str, object] = field(default_factory=dict, init=False)
    kept: threading.Event = field(default_factory=threading.Event, init=False)
    unkept: str = field(default="", init=False)
    order: tuple[int, ...] = field(init=False)
    best: tuple[int, ...] | None = field(default=None, init=False)
    revealed: bool = field(default=False, init=False)
    presented: Mapping[str, object] = field(default_factory=dict, init=False)
    verdicts: Sequence[ColumnVerdict | None] | None = field(default=None, init=False)
    by_model: tuple[Sequence[ColumnVerdict | None], Sequence[rag_core.ModelCall]] | None = field(
        default=None, init=False
    )
    without: dict[tuple[int, str], rag_core.Trace | rag_core.RagError] = field(default_factory=dict, init=False)
    others: dict[int, rag_core.Setup | None] = field(default_factory=dict, init=False)
    later: tuple[rag_core.ModelCall, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self.order = tuple(secrets.SystemRandom().sample(range(len(self.columns)), len(self.columns)))

    @property
    def over(self) -> bool:
        return True

    @property
    def traces(self) -> list[rag_core.Trace]:
        return [column.trace for column in self.columns if column.trace]

    @property
    def differences(self) -> AnswerDifferences:
        return answer_differences([column.trace for column in self.columns])

    @property
    def calls(self) -> tuple[rag_core.ModelCall, ...]:
        """The model calls of this comparison so far, failed and stopped columns included; each call once."""
        return (*self.paid, *self.later)

    def shows(self, corpus: str, documents: Collection[str] | None) -> bool:
        """Whether a column found a passage of these documents of a corpus, or searches it at all."""
        columns = [column for column in self.columns if (column.corpus or self.corpus) == corpus]
        if documents is None:
            return bool(columns)
        steps = [step for one in columns for step in (one.trace.steps if one.trace else one.steps)]
        hits = [hit for step in steps for ranking in step.after.rankings for hit in ranking.hits]
        return any(hit.passage.doc_id in documents for hit in hits)

    def stop(self) -> None:
        """Stop; finished stages are kept."""

    def mark_watched(self) -> None:
        """Record that a page shows this comparison."""

    def redraws(self) -> Iterator[None]:
        """A turn for every redraw of a page that shows it, until it is over."""
        over = False
        while not over:
            self.mark_watched()
            over = self.over  # read before drawing, so that the last redraw shows everything
            yield
            if not over:
                time.sleep(TICK_S)


class LiveRun(Comparison):
    """A comparison that runs in the background, on `payer`'s budgets, and may reuse `earlier` stages."""

    def __init__(
        self,
        engine: Engine,
        question: str,
        setups: Sequence[SetupSpec],
        earlier: Sequence[rag_core.Trace] = (),
        country: str = "",
        corpus: str = BUILTIN,
        payer: Payer | None = None,
    ) -> None:
        settings = engine.settings
        provider = settings is not None and settings.uses_openai
        columns = [
            Column(
                one.strategy,
                models=one.models,
                corpus=one.corpus,
                where=one.where,
                asks_server=provider and one.models.model != OFFLINE_MODEL,
                ahead=lambda: engine.admission.ahead(self),
            )
            for one in map(rag_core.set_up, setups)
        ]
        self._free = settings is None or all(
            settings.free or (one.models.offline and not settings.embeds_with_provider) for one in columns
        )
        super().__init__(secrets.token_urlsafe(16), datetime.now(UTC), question, columns, country, corpus)
        self._engine = engine
        self._earlier = earlier
        self._payer = payer or Payer()
        self._language = language()  # that of the page
        self._settled: list[rag_core.Done | rag_core.Failed | rag_core.StoppedEarly] = []
        self._stop = threading.Event()
        self._over = threading.Event()
        self._why_stopped = rag_core.Message("The run was stopped.")
        self._last_watched = time.monotonic()
        threading.Thread(target=self._run, daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()

    @property
    def over(self) -> bool:
        return self._over.is_set()

    def wait(self, seconds: float) -> bool:
        """Wait up to `seconds` for every column to settle; whether they have."""
        return self._over.wait(seconds)

    @property
    def calls(self) -> tuple[rag_core.ModelCall, ...]:
        return (*calls_of(self._settled, self._earlier), *self.later)

    def stop(self) -> None:
        for column in self.columns:
            column.stopping = True
        self._stop.set()
        self._engine.admission.look_again()

    def mark_watched(self) -> None:
        self._last_watched = time.monotonic()

    def _run(self) -> None:
        try:
            lab = self._engine.wait(self.corpus)
            setups = [column.setup for column in self.columns]
            # the threads of the stream take these over
            with self._turn(), using(payer, self._payer), assuming(self._language):
                for event in lab.stream(
                    self.question, setups, reuse=self._earlier, stop=self._stop, country=self.country
                ):
                    self._take(event)
        except Exception as error:
            failure = wording.unforeseen(error)
            for column in self.columns:
                column.error = column.error or failure
        finally:
            self._over.set()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for a place among the questions that run at the same time."""
        line, since = self._engine.admission, time.monotonic()
        with line.turn(self, self._stop.is_set, free=self._free):
            now = time.monotonic()
            observing.waited(now - since, *line.counts)
            for column in self.columns:
                column.since = now
            yield

    def _take(self, event: rag_core.Event) -> None:
        column = self.columns[event.column]
        observing.happened(column.strategy.name, event)
        if isinstance(event, rag_core.Done | rag_core.Failed | rag_core.StoppedEarly):
            self._settled.append(event)
        match event:
            case rag_core.StageStarted(stage=stage):
                column.running, column.since = stage, time.monotonic()
                column.heard = column.since
            case rag_core.StageFinished(step=step):
                column.steps.append(step)
                column.running = ""
            case rag_core.Token(text=text, restart=restart):
                column.text = text if restart else column.text + text
                column.heard = time.monotonic()
            case rag_core.Done(trace=trace):
                column.trace = trace
            case rag_core.Failed(error=error):
                column.error, column.running = error, ""
            case rag_core.StoppedEarly():
                column.stopped, column.running = self._why_stopped, ""

    def _watch(self) -> None:
        while not self._over.wait(1.0):
            if time.monotonic() - self._last_watched > UNWATCHED_S:
                self._why_stopped = rag_core.Message(
                    "The run was stopped: nobody had the page open for {minutes:.0f} minutes.",
                    minutes=UNWATCHED_S / 60,
                )
                self.stop()
