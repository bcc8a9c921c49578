"""The lab: one corpus, its models, and every strategy; what the app, the command line and programs use."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .catalog import Chosen, build, build_all
from .compare import Event, collect, stream
from .context import Context, Limits, Llm
from .engines import ROLES, Engines
from .errors import ConfigError, IndexDamaged, MissingResource, RagError
from .indexing import CorpusIndex, CorpusStore
from .models import RehearsedEmbedder, RehearsedLlm
from .questions import check_question
from .settings import Settings
from .trace import Trace

if TYPE_CHECKING:
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.response_synthesizers import BaseSynthesizer

    from .llamaindex import StrategyRetriever


class Lab:
    """A corpus open for questions. Safe to share between threads and browser sessions.

    Attributes:
        engines: its models; another lab can share them.
        warnings: what had to be mended when the corpus was opened.
    """

    def __init__(self, settings: Settings, corpus: str, engines: Engines, store: CorpusStore) -> None:
        self.settings = settings
        self.corpus = corpus
        self.warnings: list[str] = []
        self.engines = engines
        self._store = store
        self._lock = threading.Lock()
        self._offline: tuple[CorpusIndex, Llm] | None = None

    @property
    def engine(self) -> dict[str, str | None]:
        """Names of the models and the index, as traces carry them."""
        return self._engine(self.index)

    def _engine(self, index: CorpusIndex) -> dict[str, str | None]:
        return {
            "llm": self._llms(index)["answer"].name,
            "embedding": self.engines.embedder.name,
            "reranker": self.engines.reranker.name,
            "index": index.name,
        }

    @property
    def index(self) -> CorpusIndex:
        """The current generation; opened again when another process wrote a new one."""
        with self._lock:
            index = self._store.open()
        if index is None:
            raise MissingResource(
                f"Corpus {self.corpus!r} has no index.", f"Run `rag index PATH --corpus {self.corpus}`."
            )
        return index

    @property
    def enriched(self) -> CorpusIndex | None:
        """The same passages with contexts, opened likewise; None when the corpus has no such index.

        A damaged one counts as none, so that it keeps only those from answering who search it.
        """
        with self._lock:
            try:
                return self._store.enriched.open()
            except IndexDamaged:
                return None

    def stream(
        self,
        question: str,
        strategies: Sequence[Chosen],
        *,
        reuse: Sequence[Trace] = (),
        stop: threading.Event | None = None,
    ) -> Iterator[Event]:
        """Events of strategies running on a question at the same time.

        Args:
            strategies: names, (name, control values), or Strategy values.
            reuse: earlier traces of this question; stages that have not changed since are taken over.
            stop: set it to stop the run.

        Raises:
            InputError: the question cannot be asked.
            ConfigError: a strategy, control or value is wrong.
        """
        asked = check_question(question)
        built = build_all(strategies)
        index = self.index
        ctx = self._context(index, stop)
        return stream(asked, built, ctx, engine=self._engine(index), reuse=reuse)

    def context(self, stop: threading.Event | None = None) -> Context:
        """What one question's stages touch: for running a Strategy without the event stream."""
        return self._context(self.index, stop)

    def rehearsal(self) -> Context:
        """A context in which every billed model is replaced by a stand-in that sends nothing."""
        index, engines = self.index, self.engines
        prices = engines.prices
        if not engines.embedder.local:
            embedder = RehearsedEmbedder(engines.embedder, index.manifest.dimensions, prices)
            engines = replace(engines, embedder=embedder)
        offline = engines.offline(index)
        llms: Mapping[str, Llm] = {
            role: RehearsedLlm(llm.name, prices, offline) for role, llm in engines.paid.items()
        } or dict.fromkeys(ROLES, offline)
        ctx = self._context(index, None)
        return replace(ctx, embedder=engines.embedder, llms=llms, limits=Limits())

    def _context(self, index: CorpusIndex, stop: threading.Event | None) -> Context:
        engines, settings = self.engines, self.settings
        return Context(
            index=index,
            enriched=self.enriched,
            embedder=engines.embedder,
            llms=self._llms(index),
            labels=engines.labels,
            reranker=engines.reranker,
            # read for the answer anyway by the offline engine; a provider's answer would wait for it
            assessor=None if "answer" in engines.paid else engines.scorer,
            limits=Limits(settings.max_calls, settings.max_cost_usd) if engines.paid else Limits(),
            stop=stop or threading.Event(),
        )

    def _llms(self, index: CorpusIndex) -> Mapping[str, Llm]:
        """The model of each role. The offline engine is kept: it remembers the sentences it has read."""
        paid = self.engines.paid
        if set(ROLES) <= set(paid):
            return paid
        with self._lock:
            if self._offline is None or self._offline[0] is not index:
                self._offline = (index, self.engines.offline(index))
            return {**dict.fromkeys(ROLES, self._offline[1]), **paid}

    def run(self, question: str, strategy: Chosen, **controls: object) -> Trace:
        """One strategy on one question.

        Raises:
            RagError: what went wrong; see `stream`.
        """
        (settled,) = collect(self.stream(question, [_with(strategy, controls)]))
        return _trace(settled)

    def compare(self, question: str, strategies: Sequence[Chosen]) -> list[Trace]:
        """Several strategies on one question at the same time.

        Raises:
            RagError: the first column's failure, when any failed; `stream` gives each its own.
        """
        return [_trace(settled) for settled in collect(self.stream(question, strategies))]

    def what_if(self, trace: Trace, **controls: object) -> Trace:
        """The same question and strategy with other control values.

        Only the stages from the first changed one on run again.
        """
        changed = (trace.strategy, {**trace.controls, **controls})
        (settled,) = collect(self.stream(trace.question, [changed], reuse=[trace]))
        return _trace(settled)

    def with_engines(self, engines: Engines) -> Lab:
        """The same corpus and index with other models."""
        return Lab(self.settings, self.corpus, engines, self._store)

    def retriever(self, strategy: Chosen, **controls: object) -> StrategyRetriever:
        """A strategy without its answer as a LlamaIndex retriever.

        Raises:
            ConfigError: the strategy, a control or a value is wrong.
        """
        from .llamaindex import StrategyRetriever

        return StrategyRetriever(self, build(_with(strategy, controls)))

    def query_engine(
        self,
        strategy: Chosen,
        *,
        streaming: bool = False,
        response_synthesizer: BaseSynthesizer | None = None,
        node_postprocessors: Sequence[BaseNodePostprocessor] = (),
        **controls: object,
    ) -> BaseQueryEngine:
        """A strategy as a LlamaIndex query engine.

        Args:
            response_synthesizer: writes the answer in place of the strategy's own answer stage.
            node_postprocessors: run on the passages before the answer.

        Raises:
            ConfigError: the strategy, a control or a value is wrong; see also `llamaindex.query_engine`.
        """
        from .llamaindex import query_engine

        return query_engine(
            self,
            build(_with(strategy, controls)),
            streaming=streaming,
            response_synthesizer=response_synthesizer,
            node_postprocessors=node_postprocessors,
        )


def _with(strategy: Chosen, controls: Mapping[str, object]) -> Chosen:
    if not controls:
        return strategy
    if isinstance(strategy, str):
        return (strategy, controls)
    if isinstance(strategy, tuple):
        return (strategy[0], {**strategy[1], **controls})
    raise ConfigError(
        f"{strategy.name} is built already; its controls cannot be set.", "Pass its name instead."
    )


def _trace(settled: Trace | RagError) -> Trace:
    if isinstance(settled, RagError):
        raise settled
    return settled
