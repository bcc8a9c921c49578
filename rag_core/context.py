"""What a stage may touch at run time: models and the index behind protocols, the meter, the stop flag."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeVar, cast

from .errors import ConfigError, Stopped
from .labels import LabelRules
from .prompts import Prompt
from .types import Hit, ModelCall, Vectors

T = TypeVar("T")
R = TypeVar("R")
Kind = Literal["query", "passage"]  # some models embed the two differently


class Llm(Protocol):
    """A language model, or the offline engine in its place."""

    name: str

    def stream(self, prompt: Prompt, stop: Callable[[], bool]) -> Iterator[str | ModelCall]:
        """Yield the answer piece by piece, and the bill as the last item, also when stopped."""
        ...


class Embedder(Protocol):
    """A text embedding model.

    `key` is its name and version, part of an index's identity; `count` gives a text's tokens.
    """

    name: str
    key: str
    count: Callable[[str], int]

    def embed(self, texts: Sequence[str], kind: Kind = "query") -> tuple[Vectors, ModelCall]:
        """(n, d) L2-normalised vectors of n texts, and the bill."""
        ...


class Index(Protocol):
    """The passages of one corpus, searchable two ways."""

    @property
    def name(self) -> str:
        """Corpus and generation."""
        ...

    def dense(self, vector: Vectors, k: int) -> Sequence[Hit]:
        """The k passages nearest to one (d,) vector, by cosine similarity."""
        ...

    def lexical(self, text: str, k: int, k1: float, b: float) -> Sequence[Hit]:
        """The k best BM25 hits; each contains a term of the text."""
        ...

    def vectors(self, ids: Sequence[str]) -> Vectors:
        """(n, d) stored vectors of n passages, rows L2-normalised."""
        ...


class Flag(Protocol):
    """Something that can be asked whether to stop, such as a `threading.Event`."""

    def is_set(self) -> bool:
        """Whether to stop."""
        ...


class Once:
    """Compute a value once, however many threads ask for it; the others wait for the first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._futures: dict[Hashable, Future[Any]] = {}

    def put(self, key: Hashable, value: object) -> None:
        """Hold a value that is already known."""
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


@dataclass(frozen=True)
class Context:
    """The surroundings of one stage run.

    Args:
        llms: language model by purpose ("answer", "rewrite", ...).
        shared: model calls already made for this question; equal calls are made once.
        emit: receives the pieces of the answer as they come.
        stop: set when the user stops the run.
        workers: threads for the calls of one stage; 1 makes them one after the other.
    """

    index: Index
    embedder: Embedder
    llms: Mapping[str, Llm]
    labels: LabelRules
    shared: Once = field(default_factory=Once)
    emit: Callable[[str], None] = lambda piece: None
    stop: Flag = field(default_factory=threading.Event)
    workers: int = 8
    ledger: list[ModelCall] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def metered(self) -> Context:
        """A copy with an empty ledger: one per stage run, so that threads never share one."""
        return replace(self, ledger=[], warnings=[])

    def check_stop(self) -> None:
        """Raise Stopped once the user has stopped the run."""
        if self.stop.is_set():
            raise Stopped

    def warn(self, message: str) -> None:
        """Tell the reader of the trace something that is not a failure."""
        self.warnings.append(message)

    def embed(self, texts: Sequence[str], kind: Kind = "query") -> Vectors:
        """(n, d) vectors of n texts; the same texts are embedded once a question."""
        self.check_stop()
        key = ("embed", self.embedder.name, kind, tuple(texts))
        (vectors, call), _ = self.shared.get(key, lambda: self.embedder.embed(texts, kind))
        self.ledger.append(call)
        return vectors

    def complete(self, prompt: Prompt, emit: Callable[[str], None] = lambda piece: None) -> str:
        """The model's whole reply; the same prompt is asked once a question.

        Args:
            emit: receives the reply piece by piece, or at once when another strategy asked for it.
        """

        def ask() -> tuple[str, tuple[ModelCall, ...]]:
            said: list[str] = []
            bills: list[ModelCall] = []
            for item in model.stream(prompt, self.stop.is_set):
                if isinstance(item, ModelCall):
                    bills.append(item)
                else:
                    said.append(item)
                    emit(item)
            self.check_stop()
            return "".join(said), tuple(bills)

        self.check_stop()
        model = self._llm(prompt)
        key = ("complete", model.name, prompt.system, prompt.render())
        (text, calls), first = self.shared.get(key, ask)
        if not first:
            emit(text)
        self.ledger.extend(calls)
        return text

    def complete_all(self, prompts: Sequence[Prompt]) -> list[str | Exception]:
        """Replies to prompts asked at the same time, in their order; a failed one is its exception.

        Raises:
            Stopped: the user stopped the run.
        """

        def ask(prompt: Prompt) -> str | Exception:
            try:
                return self.complete(prompt)
            except Stopped:
                raise
            except Exception as error:
                return error

        return self.map(ask, prompts)

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Apply a function to items on threads, keeping their order and the context variables."""
        if min(len(items), self.workers) < 2:
            return [function(item) for item in items]
        with ThreadPoolExecutor(min(len(items), self.workers)) as pool:
            runs = [pool.submit(contextvars.copy_context().run, function, item) for item in items]
            return [run.result() for run in runs]

    def _llm(self, prompt: Prompt) -> Llm:
        try:
            return self.llms[prompt.purpose]
        except KeyError:
            raise ConfigError(f"No language model is set for {prompt.purpose!r}.") from None
