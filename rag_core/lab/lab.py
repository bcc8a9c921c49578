"""The lab: one corpus, its models, and every strategy; what the app, the command line and programs use."""

from __future__ import annotations

import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from ..catalog import StrategySpec, build
from ..catalog.setup import Setup, SetupSpec, set_up, set_up_all
from ..documents.documents import BUILTIN
from ..explain import ControlTips, Tuner, WhyNot, answer_without, tipping_points, why_not
from ..indexing import CorpusIndex, CorpusStore
from ..language.questions import check_question
from ..models import RehearsedEmbedder, RehearsedIndex, RehearsedLlm, RehearsedOffline, RehearsedReranker
from ..models.same_model import ProbedEmbedder
from ..offline import NAME as OFFLINE
from ..offline.asked import AskedIndex
from ..pipeline.stream import Event, awaited, calls_of, collect, stream
from ..runtime.context import Context
from ..runtime.run import Limits
from ..runtime.services import Llm, Services
from ..safety.urgency.triage import triage_for
from ..values.errors import IndexDamaged, InputError, MissingResource, RagError, attach_calls_to_errors
from ..values.message import Message
from ..values.model_choice import AS_SET, ModelChoice
from ..values.profile import Profile
from ..values.settings import Settings
from ..values.trace import Trace
from ..values.types import ModelCall, Passage
from ..values.where import fits, where_text
from .asked import asked_state, open_asked
from .engines import ROLES, Engines, vector_files

if TYPE_CHECKING:
    from llama_index.core import VectorStoreIndex
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.response_synthesizers import BaseSynthesizer
    from llama_index.core.vector_stores import MetadataFilters
    from llama_index.vector_stores.chroma import ChromaVectorStore

    from ..llamaindex import StrategyRetriever

MOST_VALUES = 100  # of a name in metadata, to choose one from a list
_Made = TypeVar("_Made")
_Searched = tuple[CorpusIndex, CorpusIndex | None, AskedIndex | None]


class Lab:
    """A corpus open for questions. Safe to share between threads and browser sessions.

    Attributes:
        calls: the embedding calls made then.
        others: opens the labs of other corpora, for the columns that search them; None if there are none.
        taught: whether passages are found by the questions that people taught.
        unasked: questions of an exam: passages are not found by one that is nearly equal.
        where: the filter of the columns that have none of their own (`among`); empty for none.
    """

    def __init__(self, settings: Settings, corpus: str, engines: Engines, store: CorpusStore) -> None:
        self.settings = settings
        self.corpus = corpus
        self.warnings: list[str] = []
        self.calls: tuple[ModelCall, ...] = ()
        self.engines = engines
        self.others: Callable[[str], Lab] | None = None
        self.taught = True
        self.unasked: tuple[str, ...] = ()
        self.where = ""
        self._store = store
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[tuple[object, ...], Any]] = {}

    def __repr__(self) -> str:
        return f"<Lab of corpus {self.corpus!r}{f' where {self.where}' if self.where else ''}>"

    @property
    def engine(self) -> dict[str, str | None]:
        """Everything that can change a result, by name, as traces carry it."""
        return dict(self.services().engine)

    @property
    def index(self) -> CorpusIndex:
        """The current generation; opened again when another process wrote a new one."""
        with self._lock:
            index = self._store.open()
        if index is None:
            again = "rag doctor" if self.corpus == BUILTIN else f"rag index PATH --corpus {self.corpus}"
            weights = self.engines.embedder.weights
            others = ", ".join(self._store.other_models)
            what = Message("Corpus {corpus!r} has no index.", corpus=self.corpus)
            if others:
                what = Message(
                    "Corpus {corpus!r} has no index for the embedding model {weights}; it was indexed with {others}.",
                    corpus=self.corpus,
                    weights=weights,
                    others=others,
                )
            raise MissingResource(what, Message("Run `{command}` to make it.", command=again))
        return index

    @property
    def profile(self) -> Profile:
        """What the corpus is about, for whom, and in which languages."""
        return self.index.profile

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
        columns: Sequence[SetupSpec],
        *,
        reuse: Sequence[Trace] = (),
        stop: threading.Event | None = None,
        country: str | None = None,
    ) -> Iterator[Event]:
        """Events of strategies running on a question at the same time.

        Raises InputError if the question cannot be asked, ConfigError for a wrong strategy, control or value.

        Args:
            columns: names, (name, values), `Strategy` or `Setup` values; see `set_up` for models and corpora.
            reuse: earlier traces of this question; unchanged stages are not run again.
            stop: set it to stop the run.
            country: ISO 3166 code of the country whose guidance leads; RAG_COUNTRY by default, empty for none.
        """
        asked, setups = check_question(question), set_up_all(columns)
        each = [self._services_or_error(one, country) for one in setups]
        return stream(asked, [one.strategy for one in setups], each, reuse=reuse, stop=stop)

    def beside(self, corpus: str) -> Lab:
        """The lab of another corpus, or this one; raises RagError if it cannot be opened."""
        if corpus in ("", self.corpus):
            return self
        if self.others is None:
            raise MissingResource(
                Message("This lab searches {corpus!r} alone.", corpus=self.corpus),
                Message("Open corpus {corpus!r} with open_lab.", corpus=corpus),
            )
        return self.others(corpus)

    def services_for(self, setup: Setup, country: str | None = None) -> Services:
        """What a column runs on; raises RagError if its models or its corpus cannot be used."""
        return self.beside(setup.corpus).services(country, setup.models, setup.where or self.where)

    def _services_or_error(self, setup: Setup, country: str | None) -> Services | RagError:
        """A column whose choice cannot be used fails; the others run."""
        if not setup.runs_on:
            return self.services(country)
        try:
            return self.services_for(setup, country)
        except RagError as error:
            return error

    def services(self, country: str | None = None, models: ModelChoice = AS_SET, where: str = "") -> Services:
        """Models and indexes as they are now, for one question: `Strategy.run(question, lab.services())`.

        Raises SettingsError if a model needs a provider, and there is none; InputError if no passage fits `where`.
        """
        settings, whole, where = self.settings, self.index, where or self.where
        engines = self._engines(whole).choosing(models)
        index, enriched, asked = self._searched(whole, where)
        llms = self._llms(index, asked, engines.paid, whole=index is whole)
        chosen = (settings.country if country is None else country).upper()
        engine = {**engines.identity(llms, index, enriched), "asked": asked.key if asked else None}
        if asked and asked.taught:
            engine["taught"] = str(asked.taught)
        if where:
            engine["where"] = where
        return Services(
            index=index,
            enriched=enriched,
            asked=asked,
            profile=index.profile,
            embedder=self._probed(index) if engines.embedder.server else engines.embedder,
            llms=llms,
            labels=engines.labels,
            reranker=engines.reranker,
            assessor=engines.scorer.knowing(asked) if asked else engines.scorer,
            evidence=engines.evidence,
            triage=triage_for(index.profile.subject),
            grounder=engines.grounder,
            reader=self._once("reader", (whole,), lambda: self._engines(whole).reading(whole)),
            thesaurus=engines.thesaurus,
            engine={**engine, "country": chosen} if chosen else engine,
            models=models,
            limits=Limits(settings.max_calls, settings.max_cost_usd) if engines.paid else Limits(),
        )

    def _searched(self, index: CorpusIndex, where: str) -> _Searched:
        """What is searched: plain, with contexts, and by known questions; a filter holds in all three."""
        enriched, asked = self.enriched, self._known_questions(index)
        if not where:
            return index, enriched, asked

        def make() -> _Searched:
            fitting, called = partial(fits, where=where), f"where {where}"
            if (found := index.among(fitting, called)) is None:
                names = sorted({name for one in index.passages.values() for name, _ in one.metadata})
                raise InputError(
                    f"No passage of corpus {self.corpus!r} fits {where}.",
                    f"They have: {', '.join((*names, 'doc_id, title and language'))}.",
                )
            return found, enriched and enriched.among(fitting, called), asked and asked.among(fitting)

        return self._once("where", (index, enriched, asked, where), make)

    def among(self, where: Mapping[str, object] | MetadataFilters | str) -> Lab:
        """The same, whose columns search only the passages that a filter fits (`where_text`), unless they have another.

        Also takes LlamaIndex's `MetadataFilters`. Raises ConfigError for what is no filter.
        """
        if not isinstance(where, Mapping | str):
            from ..llamaindex.nodes import as_where

            where = as_where(where)
        lab = self.with_engines(self.engines)
        lab.where = where_text(where)
        return lab

    @property
    def filters(self) -> tuple[str, ...]:
        """The filters (`where_text`) by one value of the documents' metadata, without names that have more than `MOST_VALUES`."""
        index = self.index

        def make() -> tuple[str, ...]:
            values: dict[str, set[str]] = {}
            for passage in index.passages.values():
                for name, value in passage.metadata:
                    values.setdefault(name, set()).add(value)
            few = {name: found for name, found in sorted(values.items()) if len(found) <= MOST_VALUES}
            return tuple(where_text({name: one}) for name, found in few.items() for one in sorted(found))

        return self._once("filters", (index,), make)

    def _probed(self, index: CorpusIndex) -> ProbedEmbedder:
        """The embedding model of a server, checked to be the one that made this index."""
        embedder = self.engines.embedder
        cached, _ = vector_files(self.settings, embedder.weights)
        again = "open it again" if self.corpus == BUILTIN else f"run `rag index PATH --corpus {self.corpus}`"
        return ProbedEmbedder(
            embedder,
            index.manifest.probe,
            f"the index of {self.corpus!r}",
            f"delete {cached}, run `rag forget {self.corpus}`, and {again}",
        )

    def rehearsal(self) -> Services:
        """Stand-ins that send nothing, and bill the most a run can cost."""
        engines, enriched = self.engines, self.enriched
        embedder = RehearsedEmbedder(engines.embedder, self.index.manifest.dimensions)
        offline = RehearsedOffline(OFFLINE, embedder)
        return Services(
            index=_rehearsed(self.index),
            enriched=_rehearsed(enriched) if enriched else None,
            asked=self.asked,
            embedder=embedder,
            llms={
                role: RehearsedLlm(engines.paid[role].name, engines.prices) if role in engines.paid else offline
                for role in ROLES
            },
            labels=engines.labels,
            reranker=RehearsedReranker(engines.reranker),
            profile=self.index.profile,
            triage=triage_for(self.index.profile.subject),
            workers=1,
        )

    def _engines(self, index: CorpusIndex) -> Engines:
        engines = self.engines.about(index.profile.subject)
        return engines if self.corpus == BUILTIN else engines.elsewhere

    def _once(self, what: str, of: tuple[object, ...], make: Callable[[], _Made]) -> _Made:
        """What was made of these, kept until one of them is another."""
        with self._lock:
            if what not in self._kept or self._kept[what][0] != of:
                self._kept[what] = of, make()
            made: _Made = self._kept[what][1]
            return made

    @property
    def asked(self) -> AskedIndex | None:
        """The questions that its passages are known to answer; None if there are none."""
        return self._known_questions(self.index)

    def _known_questions(self, index: CorpusIndex) -> AskedIndex | None:
        """The questions that the passages are known to answer, kept until those or the index change."""

        def make() -> AskedIndex | None:
            asked = open_asked(self.settings, self.corpus, index, self.engines, taught=self.taught)
            return asked.unlike(self.unasked) if asked and self.unasked else asked

        return self._once("asked", (index, asked_state(self.settings, self.corpus)), make)

    def _llms(
        self, index: CorpusIndex, asked: AskedIndex | None, paid: Mapping[str, Llm], *, whole: bool
    ) -> Mapping[str, Llm]:
        """The model of each role. The offline engine is kept: it remembers the sentences it has read."""
        if set(ROLES) <= set(paid):
            return paid
        kept = "offline" if whole else "offline where"  # each remembers
        offline = self._once(kept, (index, asked), lambda: self._engines(index).offline(index, asked))
        return {**dict.fromkeys(ROLES, offline), **paid}

    def run(self, question: str, strategy: SetupSpec, **values: object) -> Trace:
        """One strategy on one question; `values` are controls, `where`, `model`, ... (`set_up`); raises RagError."""
        (outcome,) = collect(self.stream(question, [set_up(strategy, **values)]))
        return _trace(outcome)

    def astream(self, question: str, columns: Sequence[SetupSpec], **options: Any) -> AsyncGenerator[Event, None]:
        """`stream`, each event awaited; ending it early stops the run."""
        stop = threading.Event()
        return awaited(self.stream(question, columns, stop=stop, **options), stop)

    async def arun(self, question: str, strategy: SetupSpec, **values: object) -> Trace:
        """`run`, awaited; cancelling it stops the run."""
        events = [event async for event in self.astream(question, [set_up(strategy, **values)])]
        return _trace(collect(iter(events))[0])

    def compare(
        self,
        question: str,
        columns: Sequence[SetupSpec],
        *,
        stop: threading.Event | None = None,
        country: str | None = None,
    ) -> list[Trace]:
        """Several strategies on one question at the same time; for `columns` and `country` see `stream`.

        Raises the RagError of the first column that failed, with the calls of all; `stream` gives each its own.

        Example:
            lab.compare("When is anti-D given?", ["bm25", ("hyde", {"model": "gpt-4o-mini"}), ("hyde", {"corpus": "ward"})])
        """
        outcomes = collect(self.stream(question, columns, stop=stop, country=country))
        with attach_calls_to_errors(calls_of(outcomes)):
            return [_trace(one) for one in outcomes]

    def what_if(self, trace: Trace, **values: object) -> Trace:
        """The same question, country and column with other control values, models or corpus.

        Only the first changed stage and those after it run again.
        """
        before = {**trace.controls, **trace.models.named, "corpus": trace.corpus, "where": trace.where}
        changed = set_up((trace.strategy, {**before, **values}))
        (outcome,) = collect(self.stream(trace.question, [changed], reuse=[trace], country=trace.country))
        return _trace(outcome)

    def tuner(self, trace: Trace) -> Tuner:
        """`what_if` for a slider: many moves of one result, in milliseconds each, without answers and models.

        Raises ConfigError as `tipping_points` does.
        """
        return Tuner(trace, self._services_of(trace), self.rehearsal())

    def tipping_points(self, trace: Trace) -> tuple[ControlTips, ...]:
        """How far each control of a trace can move before the used passages change; calls no model.

        Raises ConfigError if the strategy is not in the catalogue, or the models or the index have changed.
        """
        return tipping_points(trace, self._services_of(trace))

    def _services_of(self, trace: Trace) -> Services:
        """What a trace was made with, if nothing has changed since."""
        return self.beside(trace.corpus).services(trace.country, trace.models, trace.where)

    @property
    def passages(self) -> Mapping[str, Passage]:
        """Every passage of the corpus, by id."""
        return self.index.passages

    def why_not(self, trace: Trace, passage: str) -> WhyNot:
        """Where a strategy lost a passage, by its id in the strategy's corpus, found or not; calls no model.

        Raises ConfigError as `tipping_points` does, and InputError for an unknown passage.
        """
        return why_not(trace, passage, self._services_of(trace), self.beside(trace.corpus).passages)

    def without(self, trace: Trace, *passages: str) -> Trace:
        """A trace answered again without some of its passages, by id: which did the answer need?

        Raises ConfigError as `tipping_points` does, and StageError if the answer failed.
        """
        return answer_without(trace, passages, self._services_of(trace))

    def with_engines(self, engines: Engines) -> Lab:
        lab = Lab(self.settings, self.corpus, engines, self._store)
        lab.warnings, lab.calls, lab.taught, lab.where = self.warnings, self.calls, self.taught, self.where
        lab.unasked = self.unasked
        if (others := self.others) is not None:
            lab.others = lambda corpus: others(corpus).with_engines(engines)
        return lab

    def untaught(self, exam: Sequence[str] = ()) -> Lab:
        """The same without the questions that people taught, for measuring: they may have taught a judged one.

        Nor with known questions nearly equal to one of an `exam`, which would not be asked for the first time then.
        """
        if not self.taught and not exam:
            return self
        lab = self.with_engines(self.engines)
        lab.taught, lab.unasked = False, tuple(exam)
        if (others := lab.others) is not None:
            lab.others = lambda corpus: others(corpus).untaught(exam)
        return lab

    def retriever(
        self,
        strategy: StrategySpec,
        *,
        by: Literal["passage", "document"] = "passage",
        labels: bool = False,
        where: Mapping[str, object] | MetadataFilters | str = "",
        callback_manager: CallbackManager | None = None,
        **controls: object,
    ) -> StrategyRetriever:
        """A strategy without its answer as a LlamaIndex retriever; raises ConfigError as `stream` does.

        Args:
            by: "document" for nodes under the ids of documents, each once, as LlamaIndex's `RetrieverEvaluator`
                compares with judged documents.
            labels: whether nodes have relevance labels, which take longer than a search.
            where: as for `among`.
        """
        from ..llamaindex import StrategyRetriever

        made = build(strategy, **controls)
        lab = self.among(where) if where else self
        return StrategyRetriever(lab, made, callback_manager=callback_manager, by=by, labels=labels)

    def query_engine(
        self,
        strategy: StrategySpec,
        *,
        streaming: bool = False,
        response_synthesizer: BaseSynthesizer | None = None,
        node_postprocessors: Sequence[BaseNodePostprocessor] = (),
        callback_manager: CallbackManager | None = None,
        **controls: object,
    ) -> BaseQueryEngine:
        """A strategy as a LlamaIndex query engine; raises ConfigError as `stream` and `llamaindex.query_engine` do.

        Args:
            response_synthesizer: writes the answer in place of the strategy's own answer stage.
            node_postprocessors: run on the passages before the answer.
        """
        from ..llamaindex import query_engine

        return query_engine(
            self,
            build(strategy, **controls),
            streaming=streaming,
            response_synthesizer=response_synthesizer,
            node_postprocessors=node_postprocessors,
            callback_manager=callback_manager,
        )

    def vector_store(self, *, enriched: bool = False) -> ChromaVectorStore:
        """The passages and their vectors as a LlamaIndex vector store, to be read; see `docs/llamaindex.md`.

        Raises MissingResource if RAG_VECTORS keeps them elsewhere, or there are none with contexts; IndexDamaged or
        StorageError if the collection cannot be used. Questions are answered without it.
        """
        index = Context(self.services()).index_for(enriched=enriched)
        return cast(CorpusIndex, index).vector_store()

    def vector_index(self, *, enriched: bool = False) -> VectorStoreIndex:
        """A LlamaIndex index over `vector_store`, which embeds questions as this lab does."""
        from llama_index.core import VectorStoreIndex

        from ..llamaindex import Embedding

        embedding = Embedding(self.services().embedder)
        return VectorStoreIndex.from_vector_store(self.vector_store(enriched=enriched), embed_model=embedding)


def _rehearsed(index: CorpusIndex) -> RehearsedIndex:
    return RehearsedIndex(index.name, index.passages.values(), index.manifest.dimensions)


def _trace(outcome: Trace | RagError) -> Trace:
    if isinstance(outcome, RagError):
        raise outcome
    return outcome
