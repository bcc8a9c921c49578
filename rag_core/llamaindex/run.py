"""One question through one strategy in the order LlamaIndex responses need: passages, then the answer."""

import threading
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from typing import Any, Protocol

from llama_index.core.base.response.schema import Response
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle

from ..catalog import StrategySpec
from ..models.events import callback_manager
from ..pipeline.strategy import Strategy
from ..pipeline.stream import Done, Event, Failed, StageFinished, StageStarted, StoppedEarly, Token, awaited
from ..prompts.prompt import NO_EVIDENCE
from ..runtime.run import using
from ..values.errors import Stopped
from ..values.trace import Trace
from ..values.types import Ranking
from .nodes import as_nodes, with_embedding_strings


class EventSource(Protocol):
    """The part of a lab that query engines need."""

    def stream(
        self,
        question: str,
        strategies: Sequence[StrategySpec],
        *,
        reuse: Sequence[Trace] = (),
        stop: threading.Event | None = None,
    ) -> Iterator[Event]: ...


class StrategyRun:
    """One question through one strategy: first its passages, then its answer piece by piece.

    `stop` is set when the caller stops reading; `manager` receives events of the model calls. `nodes` are labelled, and
    the response's `metadata` complete, once the answer is.
    """

    def __init__(
        self,
        lab: EventSource,
        strategy: Strategy,
        bundle: QueryBundle,
        stop: threading.Event,
        manager: CallbackManager,
    ) -> None:
        strategy = with_embedding_strings(strategy, bundle)
        self._events = lab.stream(bundle.query_str, [strategy], stop=stop)
        self._stop = stop
        self._manager = manager
        self._trace: Trace | None = None
        self.nodes: list[NodeWithScore] = []
        self.metadata: dict[str, Any] = {
            "strategy": strategy.name,
            "controls": dict(strategy.controls),
            "fingerprint": strategy.fingerprint,
        }

    def retrieve(self) -> None:
        """Run until the answer stage starts, or to the end without one; raises RagError on failure."""
        found: tuple[Ranking, ...] = ()
        # the threads of the run start at the first event, in this context
        with using(callback_manager, self._manager):
            for event in self._events:
                match event:
                    case StageFinished(step=step):
                        found = step.after.rankings
                    case StageStarted(kind="answer"):
                        self.nodes[:] = as_nodes(found[0]) if len(found) == 1 else []
                        return
                    case _:
                        self._take(event)

    def pieces(self) -> Generator[str, None, None]:
        """The answer as it arrives, an abstention in one piece, without its marker; raises RagError."""
        pending, started = "", False
        try:
            for event in self._events:
                if isinstance(event, Token):
                    pending += event.text
                    if not NO_EVIDENCE.startswith(pending.strip()[: len(NO_EVIDENCE)]):
                        yield pending
                        pending, started = "", True
                self._take(event)
        finally:
            self._stop.set()
        self.metadata.update(metadata_of(self.trace))
        answer = self.trace.answer
        if answer and answer.abstained:
            yield f"\n\n{answer.text}" if started else answer.text
            return
        if pending:
            yield pending
        if answer and answer.notice:  # known only now
            yield f"\n\n{answer.notice}"

    def pieces_async(self) -> AsyncGenerator[str, None]:
        return awaited(self.pieces(), self._stop)

    def response(self) -> Response:
        for _ in self.pieces():
            pass
        answer = self.trace.answer
        return Response(answer.text if answer else None, self.nodes, self.metadata)

    @property
    def trace(self) -> Trace:
        """The trace; raises RuntimeError while the run is still going."""
        if self._trace is None:
            raise RuntimeError("the run is not done")
        return self._trace

    def _take(self, event: Event) -> None:
        match event:
            case Done(trace=trace):
                self._trace = trace
                self.nodes[:] = as_nodes(trace.ranking)
            case Failed(error=error):
                raise error
            case StoppedEarly(calls=calls):
                raise Stopped(calls)
            case _:
                pass


def metadata_of(trace: Trace) -> dict[str, Any]:
    """The response metadata of a run."""
    answer = trace.answer
    return {
        "strategy": trace.strategy,
        "controls": dict(trace.controls),
        "fingerprint": trace.fingerprint,
        "cost_usd": trace.cost_usd,
        "seconds": trace.seconds,
        "abstained": answer.abstained if answer else not trace.ranking.hits,
        "warnings": list(trace.warnings),
        "trace": trace.as_json(),
    }
