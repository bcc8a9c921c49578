"""Several strategies on one question at the same time, as one stream of events."""

import contextvars
import functools
import queue
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ..language.analysis import assuming
from ..prompts.replies import Restart
from ..runtime.run import Flag, Once, Run
from ..runtime.services import Services
from ..values.errors import RagError, Stopped
from ..values.message import Message
from ..values.trace import Step, Trace
from ..values.types import ModelCall
from .strategy import Strategy


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage of a column begins; `position` counts from 0."""

    column: int
    position: int
    stage: str
    kind: str


@dataclass(frozen=True, slots=True)
class StageFinished:
    """A stage of a column is done; `step` holds the state it left."""

    column: int
    position: int
    step: Step


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a column's answer; `restart`: it replaces all before it, which was the model's reasoning."""

    column: int
    text: str
    restart: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """A column has its trace."""

    column: int
    trace: Trace

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        return self.trace.calls


@dataclass(frozen=True, slots=True)
class Failed:
    """A column failed; the rest continue."""

    column: int
    error: RagError

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        return self.error.calls


@dataclass(frozen=True, slots=True)
class StoppedEarly:
    """The user stopped a column; `calls` are those it had made."""

    column: int
    calls: tuple[ModelCall, ...] = ()


Event = StageStarted | StageFinished | Token | Done | Failed | StoppedEarly
Outcome = Done | Failed | StoppedEarly  # the last event of a column
_Item = TypeVar("_Item")


def stream(
    question: str,
    strategies: Sequence[Strategy],
    services: Services | Sequence[Services | RagError],
    *,
    reuse: Sequence[Trace] = (),
    stop: Flag | None = None,
) -> Iterator[Event]:
    """Run strategies on threads and yield their events as they come; each column ends with one outcome.

    Equal prefixes of the strategies, and of the traces in `reuse`, run once. So do equal calls of equal models, on
    whatever services; nothing else is shared between different ones. Closing the iterator stops the run; so does
    setting `stop`, and then every column still has an outcome.

    `services` are of all strategies, or of each in order; an error in the place of one is its outcome. A strategy
    ignores traces in `reuse` of another question or engine (`Services.engine`).
    """
    events: queue.SimpleQueue[Event] = queue.SimpleQueue()
    shared = Once()
    closed = threading.Event()
    each = [services] * len(strategies) if isinstance(services, Services) else services
    workers = []
    began = time.perf_counter()
    for column, (strategy, own) in enumerate(zip(strategies, each, strict=True)):
        if isinstance(own, RagError):
            events.put(Failed(column, own))
            continue
        emit = functools.partial(_emit, events.put, column)
        run = Run(shared, _Either(stop, closed), emit, began=began)
        workers.append(functools.partial(_work, column, question, strategy, own, run, events.put))
        for trace in reuse:
            if trace.question == question and trace.engine == own.engine:
                remember(shared, trace, [strategy], own)
    for work in workers:
        # A copied context keeps LlamaIndex's instrumentation tags, which plain threads lose.
        threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True).start()
    left = len(strategies)
    try:
        while left:
            event = events.get()
            left -= isinstance(event, Outcome)
            yield event
    finally:
        closed.set()


async def awaited(items: Iterator[_Item], stop: threading.Event) -> AsyncGenerator[_Item, None]:
    """The items of a run, each awaited on a thread; sets `stop` at the end, also when its reader ends it."""
    import asyncio  # not with a question by words, which takes less time

    try:
        while (item := await asyncio.to_thread(next, items, None)) is not None:
            yield item
    finally:
        stop.set()


@dataclass(frozen=True, slots=True)
class _Either:
    """Set when either flag is: the caller's, or the one that closing the stream sets."""

    asked: Flag | None
    closed: threading.Event

    def is_set(self) -> bool:
        return self.closed.is_set() or (self.asked is not None and self.asked.is_set())


def collect(events: Iterator[Event]) -> list[Trace | RagError]:
    """Wait for every column: its trace, or the error that kept it from one."""
    outcomes: dict[int, Trace | RagError] = {}
    for event in events:
        match event:
            case Done(column, trace):
                outcomes[column] = trace
            case Failed(column, error):
                outcomes[column] = error
            case StoppedEarly(column, calls):
                outcomes[column] = Stopped(calls)
            case _:
                pass
    return [outcomes[column] for column in sorted(outcomes)]


def calls_of(outcomes: Iterable[Outcome | Trace | RagError], before: Iterable[Trace] = ()) -> tuple[ModelCall, ...]:
    """The calls of a comparison's columns, once each, without those of reused traces `before` it."""
    old = {call for trace in before for call in trace.calls}
    made = dict.fromkeys(call for one in outcomes for call in one.calls)
    return tuple(call for call in made if call not in old)


def remember(shared: Once, trace: Trace, strategies: Sequence[Strategy], services: Services) -> None:
    """Offer a trace's steps to every strategy whose first stages are the same, and its embeddings to all."""
    for step in trace.steps:
        for key, embedded in step.embeddings.items():
            shared.put(key, embedded)
    for strategy in strategies:
        for position, (step, stage) in enumerate(zip(trace.steps, strategy.stages, strict=False)):
            if (step.stage, step.params) != (stage.name, stage.params):
                break
            earlier = replace(step, started=None)  # its start was on the clock of its own run
            shared.put(strategy.prefix(trace.question, position, services), earlier)


def _emit(put: Callable[[Event], None], column: int, text: str) -> None:
    put(Token(column, text, isinstance(text, Restart)))


def _work(
    column: int, question: str, strategy: Strategy, services: Services, run: Run, put: Callable[[Event], None]
) -> None:
    try:
        with assuming(*services.profile.languages):
            trace = strategy.run(
                question,
                services,
                run,
                on_start=lambda place, stage: put(StageStarted(column, place, stage.name, stage.kind)),
                on_finish=lambda place, step: put(StageFinished(column, place, step)),
            )
        put(Done(column, trace))
    except Stopped as stopped:
        put(StoppedEarly(column, stopped.calls))
    except RagError as error:
        put(Failed(column, error))
    except BaseException as error:  # whatever it is, the column needs an outcome
        kind = type(error).__name__
        failure = RagError(Message("{name}: {kind}: {reason}", name=strategy.name, kind=kind, reason=error))
        failure.__cause__ = error  # the pages say it without the name of its class
        put(Failed(column, failure))
