"""One strategy's run on one question: the work it shares, its limits, and how it stops."""

import math
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self, TypeVar, cast

from ..values.errors import LimitReached, Stopped
from ..values.message import Message
from ..values.types import ModelCall

T = TypeVar("T")


class Flag(Protocol):
    """Says whether to stop; a `threading.Event` is one."""

    def is_set(self) -> bool: ...


# Whether the user has stopped the run that the current thread works for; for models that cannot be told otherwise.
stop_flag: ContextVar[Callable[[], bool]] = ContextVar("stop flag", default=lambda: False)


@contextmanager
def using(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give a context variable a value in the block, and in the threads that it starts with its context."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


class Once:
    """Computes a value once, however many threads ask for it; the rest wait for the first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: dict[Hashable, Future[Any]] = {}

    def put(self, key: Hashable, value: object) -> None:
        future: Future[Any] = Future()
        future.set_result(value)
        with self._lock:
            self._futures.setdefault(key, future)

    def get(self, key: Hashable, compute: Callable[[], T]) -> tuple[T, bool]:
        """The value, and whether this call computed it. A failure is raised to every caller."""
        with self._lock:
            future = self._futures.get(key)
            first = future is None
            if future is None:
                future = self._futures[key] = Future()
        if first:
            try:
                future.set_result(compute())
            except BaseException as error:
                future.set_exception(error)
                raise
        return cast(T, future.result()), first

    def forget(self, key: Hashable) -> None:
        with self._lock:
            self._futures.pop(key, None)


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one run may use.

    `calls` are of language models; `cost_usd`, US dollars, of these and embeddings together. None: no limit. Only
    `calls` limits calls of unknown price. Those in progress when a limit is reached still finish, so a stage that makes
    several at once can exceed it.
    """

    calls: int | None = None
    cost_usd: float | None = None


class Budget:
    """What one run has used so far; shared by its threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls = 0
        self._costs: dict[ModelCall, float] = {}  # by identity: one call may serve several stages

    def start_call(self, limits: Limits) -> None:
        """Count a language model call about to be made; raises LimitReached if a limit does not allow it."""
        with self._lock:
            if limits.calls is not None and self._calls >= limits.calls:
                raise LimitReached(
                    Message("This run has made {calls} language model calls, its limit.", calls=self._calls),
                    Message("Ask for fewer rewrites or passages, or raise RAG_MAX_CALLS."),
                )
            cost = math.fsum(self._costs.values())
            if limits.cost_usd is not None and cost >= limits.cost_usd:
                raise LimitReached(
                    Message(
                        "This run has cost ${cost:.4f}; its limit is ${limit:g}.",
                        cost=cost,
                        limit=limits.cost_usd,
                    ),
                    Message("Raise RAG_MAX_COST_USD."),
                )
            self._calls += 1

    def spend(self, calls: Sequence[ModelCall]) -> None:
        """Add what calls cost, each once."""
        with self._lock:
            self._costs.update((call, call.cost_usd or 0.0) for call in calls)

    def add_reused(self, calls: Sequence[ModelCall]) -> None:
        """Count the calls of a stage that another run made for this one too."""
        self.spend(calls)
        with self._lock:
            self._calls += sum(call.of_language_model for call in calls)


@dataclass(frozen=True, slots=True)
class Run:
    """One strategy's run on one question.

    Args:
        shared: work already done for this question: equal stages and equal model calls run once.
        stop: set when the user stops the run; None when nobody can.
        emit: receives the answer piece by piece as it arrives.
        began: on the clock of `time.perf_counter`; strategies that run at the same time share it.
    """

    shared: Once = field(default_factory=Once)
    stop: Flag | None = None
    emit: Callable[[str], None] = lambda piece: None
    budget: Budget = field(default_factory=Budget)
    began: float = field(default_factory=time.perf_counter)

    def elapsed(self) -> float:
        return time.perf_counter() - self.began

    def is_stopped(self) -> bool:
        return self.stop is not None and self.stop.is_set()

    def check_stop(self) -> None:
        if self.is_stopped():
            raise Stopped

    def with_new_budget(self) -> Self:
        return replace(self, budget=Budget())
