"""What a stage may touch at run time: models and the index behind protocols, the meter, the stop flag."""

from __future__ import annotations

import contextvars
import functools
import math
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeVar, cast

from ..language.thesaurus import Thesaurus
from ..prompts.prompt import Prompt
from ..values.errors import ConfigError, LimitReached, MissingResource, ProviderError, RagError, Stopped
from ..values.labels import LabelRules
from ..values.profile import Profile
from ..values.types import Hit, ModelCall, Scale, Vectors

T = TypeVar("T")
R = TypeVar("R")
TextKind = Literal["query", "passage"]  # some models embed the two differently


class Llm(Protocol):
    """A language model, or the offline engine in its place (`offline`), which goes by a prompt's fields.

    `key` tells it from every other: its name and its server, or what the offline engine goes by.
    """

    name: str
    key: str
    offline: bool

    def stream(self, prompt: Prompt, stop: Callable[[], bool]) -> Iterator[str | ModelCall]:
        """Yield the answer piece by piece, and the bill as the last item, also when stopped or broken off."""
        ...


class Embedder(Protocol):
    """A text embedding model.

    `key` is its name and version, part of an index's identity; `count` gives a text's tokens.
    """

    name: str
    key: str
    count: Callable[[str], int]

    def embed(self, texts: Sequence[str], kind: TextKind = "query") -> tuple[Vectors, tuple[ModelCall, ...]]:
        """(n, d) L2-normalised vectors of n texts, and a bill for each request; a failure carries its own."""
        ...


class Reranker(Protocol):
    """Scores passages against a query; `scale` says what its scores are, `key` its name and version."""

    name: str
    key: str
    scale: Scale

    def score(self, query: str, hits: Sequence[Hit]) -> tuple[Sequence[float], ModelCall]:
        """One score per hit, in their order, and the bill."""
        ...


class Assessor(Protocol):
    """Tells how relevant single passages are, on this machine; its values can be labelled."""

    @property
    def name(self) -> str:
        """What its thresholds were fitted for."""
        ...

    def relevance(self, question: str, hits: Sequence[Hit]) -> Sequence[float] | None:
        """One value per hit, 0 to 1, that does not depend on the others; None when there was no time."""
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


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run of a strategy on one question may take.

    Args:
        calls: language model calls; None for no limit.
        cost_usd: US dollars, language models and embeddings together; None for no limit. A call whose
            price is unknown adds nothing here: only `calls` holds it back. Calls that are under way when
            it is reached are finished, so a stage of calls made at the same time may go beyond it.
    """

    calls: int | None = None
    cost_usd: float | None = None


class Budget:
    """What is left of the limits of one run; shared by its threads."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._lock = threading.Lock()
        self._calls = 0
        self._paid: dict[ModelCall, float] = {}  # by identity: one call may serve several stages

    def ask(self) -> None:
        """Count a language model call that is about to be made.

        Raises:
            LimitReached: it may not be made.
        """
        most, dear = self.limits.calls, self.limits.cost_usd
        with self._lock:
            if most is not None and self._calls >= most:
                raise LimitReached(
                    f"This run has made {self._calls} language model calls, as many as it may.",
                    "Ask for fewer rewrites or passages, or raise RAG_MAX_CALLS.",
                )
            cost = math.fsum(self._paid.values())
            if dear is not None and cost >= dear:
                raise LimitReached(
                    f"This run has cost ${cost:.4f}; its limit is ${dear:g}.", "Raise RAG_MAX_COST_USD."
                )
            self._calls += 1

    def spend(self, calls: Sequence[ModelCall]) -> None:
        """Count what calls cost, each once."""
        with self._lock:
            self._paid.update((call, call.cost_usd or 0.0) for call in calls)

    def take_over(self, calls: Sequence[ModelCall]) -> None:
        """Count the calls of a stage that another run made for this one too."""
        self.spend(calls)
        with self._lock:
            self._calls += sum(call.of_language_model for call in calls)


@dataclass(frozen=True, slots=True)
class _Said:
    """A model's reply and its bills; with an error when it broke off: it was sent all the same."""

    text: str
    calls: tuple[ModelCall, ...]
    error: BaseException | None = None


@dataclass(frozen=True)
class Context:
    """The surroundings of one stage run.

    Args:
        llms: language model by purpose ("answer", "rewrite", "judge").
        reranker: None when the strategies that run have no use for one.
        assessor: the offline measure, whose values label passages that no better scorer has seen.
        enriched: the same passages indexed with their contexts; None when the corpus has no such index.
        profile: of the corpus; prompts speak of its subject.
        thesaurus: by which a rewrite may call a medicine by another of its names; None to compare the words.
        engine: everything above that can change a result, by name (`Engines.identity`). Traces carry it, and
            no result is used again where it differs.
        limits: what each run of a strategy may take, calls it shares with others included; `budget` is
            what is left of it.
        shared: model calls already made for this question; equal calls are made once.
        emit: receives the pieces of the answer as they come.
        stop: set when the user stops the run.
        workers: threads for the calls of one stage; 1 makes them one after the other.
    """

    index: Index
    embedder: Embedder
    llms: Mapping[str, Llm]
    labels: LabelRules
    reranker: Reranker | None = None
    assessor: Assessor | None = None
    thesaurus: Thesaurus | None = None
    enriched: Index | None = None
    profile: Profile = Profile()
    engine: Mapping[str, str | None] = field(default_factory=dict)
    limits: Limits = Limits()
    budget: Budget = field(default_factory=lambda: Budget(Limits()))
    shared: Once = field(default_factory=Once)
    emit: Callable[[str], None] = lambda piece: None
    stop: Flag = field(default_factory=threading.Event)
    workers: int = 16
    ledger: list[ModelCall] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @functools.cached_property
    def identity(self) -> Hashable:
        """The engine as part of a key."""
        return tuple(sorted(self.engine.items()))

    def __post_init__(self) -> None:
        if self.budget.limits != self.limits:  # limits bind from the start, in a run or outside one
            object.__setattr__(self, "budget", Budget(self.limits))

    def opened(self) -> Context:
        """A copy with the whole of its limits left: one per run of a strategy."""
        return replace(self, budget=Budget(self.limits))

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

    def embed(self, texts: Sequence[str], kind: TextKind = "query") -> Vectors:
        """(n, d) vectors of n texts; the same texts are embedded once a question."""
        self.check_stop()
        key = ("embed", self.embedder.key, kind, tuple(texts))
        try:
            (vectors, calls), _ = self.shared.get(key, lambda: self.embedder.embed(texts, kind))
        except RagError as error:
            self._pay(error.calls)
            raise
        self._pay(calls)
        return vectors

    def passage_vectors(self, hits: Sequence[Hit]) -> Vectors:
        """(n, d) vectors of n passages: the index's own, or made now where it does not hold them all."""
        try:
            return self.index.vectors([hit.id for hit in hits])
        except KeyError:  # found by a retriever of another library
            return self.embed([hit.passage.indexed_text for hit in hits], "passage")

    def rerank(self, query: str, hits: Sequence[Hit]) -> tuple[Sequence[float], Scale]:
        """One score per hit by the reranker, and their scale; the same hits are scored once a question.

        Raises:
            ProviderError: the reranker gave a wrong number of scores, or one that is no number.
        """
        self.check_stop()
        reranker = self.reranker
        if reranker is None:
            raise ConfigError("No reranker is set.", "Pass one to the Context.")
        key = ("rerank", reranker.key, query, tuple(hit.passage for hit in hits))
        (scores, call), _ = self.shared.get(key, lambda: reranker.score(query, hits))
        self._pay((call,))
        if len(scores) != len(hits) or not all(math.isfinite(score) for score in scores):
            raise ProviderError(f"{reranker.name} gave no usable score for each of {len(hits)} passages.")
        return scores, reranker.scale

    def over(self, *, enriched: bool) -> Index:
        """The index to search.

        Raises:
            MissingResource: the enriched one is asked for, and the corpus has none.
        """
        if not enriched:
            return self.index
        if self.enriched is None:
            corpus = self.index.name.partition(",")[0]
            raise MissingResource(
                f"Corpus {corpus!r} has no enriched index.",
                f"Run `rag index PATH --corpus {corpus} --enrich`, or set enriched=false.",
            )
        return self.enriched

    def complete(self, prompt: Prompt, emit: Callable[[str], None] = lambda piece: None) -> str:
        """The model's whole reply; the same prompt is asked once a question.

        Args:
            emit: receives the reply piece by piece, or at once when another strategy asked for it.
        """

        def ask() -> _Said:
            said: list[str] = []
            bills: list[ModelCall] = []
            try:
                for item in model.stream(prompt, self.stop.is_set):
                    if isinstance(item, ModelCall):
                        bills.append(item)
                    else:
                        said.append(item)
                        emit(item)
                self.check_stop()
            except BaseException as error:  # raised below, to all who wait for it, once its calls are paid
                return _Said("", tuple(bills), error)
            return _Said("".join(said), tuple(bills))

        self.check_stop()
        prompt = prompt.about(self.profile)
        model = self._llm(prompt)
        key = ("complete", model.key, prompt.template, prompt.system, prompt.render())
        self.budget.ask()
        said, first = self.shared.get(key, ask)
        self._pay(said.calls)
        if said.error:
            raise said.error
        if not first:
            emit(said.text)
        return said.text

    def complete_all(self, prompts: Sequence[Prompt]) -> list[str | RagError]:
        """Replies to prompts asked at the same time, in their order; a failed one is its error.

        Raises:
            Stopped: the user stopped the run.
            LimitReached: not all of them may be asked.
        """

        def ask(prompt: Prompt) -> str | RagError:
            try:
                return self.complete(prompt)
            except (Stopped, LimitReached):
                raise
            except RagError as error:
                return error

        return self.map(ask, prompts)

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Apply a function to items on threads, keeping their order and the context variables."""
        if min(len(items), self.workers) < 2:
            return [function(item) for item in items]
        with ThreadPoolExecutor(min(len(items), self.workers)) as pool:
            runs = [pool.submit(contextvars.copy_context().run, function, item) for item in items]
            return [run.result() for run in runs]

    def _pay(self, calls: Sequence[ModelCall]) -> None:
        self.ledger.extend(calls)
        self.budget.spend(calls)
        for call in calls:
            if call.note:
                self.warn(f"{call.model}: {call.note}.")

    def _llm(self, prompt: Prompt) -> Llm:
        try:
            return self.llms[prompt.purpose]
        except KeyError:
            raise ConfigError(f"No language model is set for {prompt.purpose!r}.") from None
