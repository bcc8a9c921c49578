"""What one stage sees: the lab's services, the run it belongs to, and a meter for its calls and warnings."""

import contextvars
import math
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from ..prompts.prompt import Block, Prompt, Template
from ..prompts.replies import COMPLETE, INCOMPLETE_STEP, Restart, excerpt
from ..values.errors import ConfigError, LimitReached, MissingResource, ProviderError, RagError, Stopped
from ..values.message import Message
from ..values.trace import Exchange
from ..values.triage import ROUTINE, Triage
from ..values.types import Hit, ModelCall, Outranked, Scale, Vectors
from .run import Run, stop_flag, using
from .services import Index, Llm, Services, TextKind

T = TypeVar("T")
R = TypeVar("R")

ATTEMPTS = 2  # at a structured reply
COMPARED = 20  # passages of each of the usual searches that a label compares with


@dataclass(frozen=True, slots=True)
class Meter:
    """What one stage did: calls it used (those it made itself in `made`), warnings, and the rest as in a `Step`."""

    calls: list[ModelCall] = field(default_factory=list)
    made: set[ModelCall] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)
    readings: dict[str, str] = field(default_factory=dict)
    outranked: list[Outranked] = field(default_factory=list)
    embeddings: dict[Hashable, Any] = field(default_factory=dict)
    exchanges: list[Exchange] = field(default_factory=list)

    @property
    def in_order(self) -> tuple[Exchange, ...]:
        """The exchanges as the stage asked for them, whichever was answered first."""
        return tuple(sorted(self.exchanges, key=lambda one: one.place))


@dataclass(frozen=True, slots=True)
class _Reply:
    """What was sent and received; with an error when it failed, since its calls are billed all the same."""

    exchange: Exchange
    error: BaseException | None = None

    @property
    def finish(self) -> str:
        return self.exchange.calls[-1].finish if self.exchange.calls else COMPLETE


@dataclass(frozen=True, slots=True)
class Context:
    """What one stage sees while it runs, with a meter of its own; `Context(services)` makes a run too."""

    services: Services
    run: Run = field(default_factory=Run)
    meter: Meter = field(default_factory=Meter)

    def warn(self, message: str, /, **fields: object) -> None:
        """Warn with a message, or with one made of a template and its fields (see `Message`)."""
        self.meter.warnings.append(Message(message, **fields) if fields else message)

    def as_read(self, text: str) -> str:
        """A query as retrieval and the offline engine read it: as spelt, and with abbreviations written out."""
        reader = self.services.reader
        if reader is None:
            return text
        # searches and strategies that begin together wait for one reading instead of making one each
        read, _ = self.run.shared.get(("read", reader, text), lambda: reader.read(text))
        return read

    def urgency(self, question: str) -> Triage:
        """How urgent a question is, read once for all strategies that run together."""
        reader = self.services.triage
        if reader is None:
            return ROUTINE
        read, _ = self.run.shared.get(("triage", self.services.identity, question), lambda: reader(question))
        return read

    def as_searched(self, text: str) -> str:
        """A query as read and, if it is urgent, with the names of its signs, which its own words may be far from.

        "She is jerking all over" is then searched for with "a fit". Over the 58 dev questions with a sign, nDCG@8 is 0.551
        for `simple_semantic`, 0.432 `bm25`, 0.500 `hybrid_rrf`, 0.697 `ensemble`; as read, 0.477, 0.330, 0.451, 0.649.
        """
        return " ".join((self.as_read(text), *self.urgency(text).signs))

    def leave_out(self, outranked: Outranked) -> None:
        """Note the hits that a selection leaves out of its next list, for their fates."""
        self.meter.outranked.append(outranked)

    def usual_hits(self, question: str, k: int) -> Sequence[Hit]:
        """The k passages that a question finds by known questions, then those by words; none where no questions are known.

        What is decided for the question, alone or with a passage, is decided by these: it is the same in every column.
        """
        asked, read = self.services.asked, self.as_read(question)
        if asked is None:
            return ()

        most = max(k, COMPARED)

        def search() -> tuple[Sequence[Hit], Sequence[Hit]]:
            return asked.search(read, most), self.services.index.lexical(read, most, 1.5, 0.75)

        (known, worded), _ = self.run.shared.get(("usual", self.services.identity, read, most), search)
        found: dict[str, Hit] = {}
        for hit in (*known[:k], *worded[:k]):
            found.setdefault(hit.id, hit)
        return tuple(found.values())

    def embed(self, texts: Sequence[str], kind: TextKind = "query", languages: Sequence[str] = ()) -> Vectors:
        """(n, d) vectors of n texts, of queries as searched; equal texts are embedded once per question."""
        self.run.check_stop()
        embedder = self.services.embedder
        if kind == "query":
            self.note_readings(texts)
            texts = [self.as_searched(text) for text in texts]
        key = ("embed", embedder.key, kind, tuple(texts), tuple(languages))

        def embed() -> tuple[Vectors, tuple[ModelCall, ...]]:
            started = self.run.elapsed()
            vectors, calls = embedder.embed(texts, kind, languages)
            return vectors, self._timed(calls, started) if len(calls) == 1 else calls

        try:
            with using(stop_flag, self.run.is_stopped):
                embedded, first = self.run.shared.get(key, embed)
        except RagError as error:
            self._pay(error.calls)
            self.run.check_stop()
            raise
        self.meter.embeddings[key] = embedded
        vectors, calls = embedded
        self._pay(calls, made=first)
        return vectors

    def note_readings(self, queries: Sequence[str]) -> None:
        """Note the queries that are searched for in other words than their own, for the trace."""
        read = {query: self.services.embedder.read(self.as_searched(query)) for query in queries}
        self.meter.readings.update((query, text) for query, text in read.items() if text != query)

    def passage_vectors(self, hits: Sequence[Hit]) -> Vectors:
        """(n, d) vectors of n passages: stored in the index, or embedded now when it lacks any."""
        try:
            return self.services.index.vectors([hit.id for hit in hits])
        except KeyError:  # a retriever of another library found it
            passages = [hit.passage for hit in hits]
            texts, languages = zip(*((one.indexed_text, one.language) for one in passages), strict=True)
            return self.embed(texts, "passage", languages)

    def rerank(self, query: str, hits: Sequence[Hit]) -> tuple[Sequence[float], Scale]:
        """The reranker's scores for a query as searched, and their scale; raises ConfigError or ProviderError."""
        self.run.check_stop()
        reranker = self.services.reranker
        if reranker is None:
            raise ConfigError(Message("No reranker is set."), Message("Pass one to Services."))
        query = self.as_searched(query)
        key = ("rerank", reranker.key, query, tuple(hit.passage for hit in hits))

        def score() -> tuple[Sequence[float], tuple[ModelCall, ...]]:
            started = self.run.elapsed()
            scores, call = reranker.score(query, hits)
            return scores, self._timed((call,), started)

        (scores, calls), first = self.run.shared.get(key, score)
        self._pay(calls, made=first)
        if len(scores) != len(hits) or not all(math.isfinite(score) for score in scores):
            raise ProviderError(
                Message(
                    "{model} gave no usable score for each of {count} passages.",
                    model=reranker.name,
                    count=len(hits),
                )
            )
        return scores, reranker.scale

    def index_for(self, *, enriched: bool) -> Index:
        """The index to search; raises MissingResource without an enriched index where that is wanted."""
        if not enriched:
            return self.services.index
        if self.services.enriched is None:
            corpus = self.services.index.name.partition(",")[0]
            raise MissingResource(
                Message("Corpus {corpus!r} has no enriched index.", corpus=corpus),
                Message("Run `rag index PATH --corpus {corpus} --enrich`, or set enriched=false.", corpus=corpus),
            )
        return self.services.enriched

    def complete(self, prompt: Prompt) -> str:
        """The model's complete reply, for a program; raises ProviderError if it was cut off or filtered."""
        text, finish = self.reply(prompt)
        if finish != COMPLETE:
            name = self.services.llm(prompt.purpose).name
            what = Message("Model {model}: the reply is incomplete ({finish}).", model=name, finish=finish)
            raise ProviderError(what, INCOMPLETE_STEP)
        return text

    def reply(self, prompt: Prompt, emit: Callable[[str], None] = lambda piece: None) -> tuple[str, str]:
        """The model's reply and why it ended (`ModelCall.finish`); equal prompts are sent once.

        The offline engine gets the question as read, a model as typed. `emit` gets pieces, or a shared reply at once.
        """

        def ask() -> _Reply:
            pieces: list[str] = []
            bills: list[ModelCall] = []
            started = self.run.elapsed()
            try:
                with using(stop_flag, self.run.is_stopped):
                    for item in model.stream(prompt, self.run.is_stopped):
                        if isinstance(item, ModelCall):
                            bills.append(item)
                        else:
                            if isinstance(item, Restart):
                                pieces.clear()
                            pieces.append(item)
                            emit(item)
                self.run.check_stop()
            except BaseException as error:  # raised below to all who wait, once its calls are counted
                failure = Stopped() if self.run.is_stopped() else error
                return _Reply(_exchange(prompt, model, pieces, self._timed(bills, started), failure), failure)
            return _Reply(_exchange(prompt, model, pieces, self._timed(bills, started)))

        self.run.check_stop()
        prompt = prompt.about(self.services.profile)
        model = self.services.llm(prompt.purpose)
        if model.offline and "question" in prompt.fields:
            prompt = prompt.asking(self.as_read(prompt.fields["question"]))
        searched = self.services.index.name if model.offline else ""  # the offline engine rewrites from it
        key = (
            "complete",
            model.key,
            searched,
            prompt.template,
            prompt.system,
            prompt.render(),
            prompt.sample,
        )
        self.run.budget.start_call(self.services.limits)
        reply, first = self.run.shared.get(key, ask)
        self.meter.exchanges.append(reply.exchange)
        self._pay(reply.exchange.calls, made=first)
        if reply.error:
            raise reply.error
        if not first:
            emit(reply.exchange.reply)
        return reply.exchange.reply, reply.finish

    def complete_all(self, prompts: Sequence[Prompt]) -> list[str | RagError]:
        """Replies to prompts sent at the same time, in order, or a call's error; raises Stopped, or LimitReached for all."""
        return self.map_or_error(self.complete, prompts)

    def complete_parsed(self, template: Template, parse: Callable[[str], T], **fields: Any) -> T:
        """A structured reply, parsed; a malformed one is requested once more.

        `parse` raises ValueError, whose reason the template's field `refused` gets. ProviderError: every reply was malformed.
        """
        reason = reply = ""
        for _ in range(ATTEMPTS):
            refused = Block(f"Your last reply was refused: {reason}.\n" if reason else "")
            try:
                reply = self.complete(template.fill(**fields, refused=refused))
                return parse(reply)
            except ValueError as error:
                reason = str(error)
        role = template.purpose
        raise ProviderError(
            Message(
                "The {role}'s reply was malformed {times} times: {reason}. The last one: {reply}",
                role=role,
                times=ATTEMPTS,
                reason=reason,
                reply=excerpt(reply),
            ),
            Message("Try another {setting}.", setting=f"RAG_{role.upper()}_MODEL"),
        )

    def map_or_error(self, function: Callable[[T], R], items: Sequence[T]) -> list[R | RagError]:
        """As `map`; a failed item gives its error. Stopped and LimitReached end the whole stage instead."""

        def attempt(item: T) -> R | RagError:
            try:
                return function(item)
            except (Stopped, LimitReached):
                raise
            except RagError as error:
                return error

        return self.map(attempt, items)

    def map(self, function: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Apply a function to items on threads; keeps their order and passes on context variables."""
        if min(len(items), self.services.workers) < 2:
            return [function(item) for item in items]
        with ThreadPoolExecutor(min(len(items), self.services.workers)) as pool:
            runs = [pool.submit(contextvars.copy_context().run, function, item) for item in items]
            return [run.result() for run in runs]

    def _timed(self, calls: Sequence[ModelCall], started: float) -> tuple[ModelCall, ...]:
        """The calls, the last one, whose reply was waited for, with its start and duration until now."""
        seconds = self.run.elapsed() - started
        return (*calls[:-1], *(replace(call, started=started, seconds=seconds) for call in calls[-1:]))

    def _pay(self, calls: Sequence[ModelCall], *, made: bool = True) -> None:
        """Note calls and their cost; not `made`, they were found among the work that is shared."""
        self.meter.calls.extend(calls)
        if made:
            self.meter.made.update(calls)
        self.run.budget.spend(calls)
        for call in calls:
            if call.note:
                self.warn("{model}: {note}.", model=call.model, note=call.note)


def _exchange(
    prompt: Prompt,
    model: Llm,
    pieces: Sequence[str],
    bills: Sequence[ModelCall],
    error: BaseException | None = None,
) -> Exchange:
    """What a model was sent; the offline engine is sent no text."""
    reason = "" if error is None else error.message if isinstance(error, RagError) else type(error).__name__
    return Exchange(
        prompt.template.name,
        prompt.purpose,
        model.name,
        "" if model.offline else prompt.system,
        "" if model.offline else prompt.render(),
        prompt.filled,
        "".join(pieces),
        model.offline,
        tuple(bills),
        reason,
        prompt.sample,
    )
