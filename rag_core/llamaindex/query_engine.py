"""A LlamaIndex retriever and query engines over a strategy, and its templates as LlamaIndex prompts."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Literal, get_args

from llama_index.core import PromptTemplate
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import RESPONSE_TYPE, AsyncStreamingResponse, StreamingResponse
from llama_index.core.callbacks import CallbackManager, CBEventType, EventPayload
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.instrumentation.events.retrieval import RetrievalEndEvent, RetrievalStartEvent
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts import BasePromptTemplate
from llama_index.core.prompts.mixin import PromptDictType, PromptMixinType
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import BaseSynthesizer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from ..catalog import RECIPES, PromptText, Templates
from ..pipeline.strategy import Strategy
from ..prompts.prompt import Template
from ..prompts.templates import READY_TEMPLATES
from ..stages import Stage
from ..values.errors import ConfigError
from ..values.trace import Trace
from .nodes import Label, Postprocess, as_documents
from .run import EventSource, StrategyRun, metadata_of

_TEMPLATES = Templates("templates", tuple(READY_TEMPLATES), "Of strategies outside the catalogue.")
OPTIONAL = {"form", "refused", "urgency"}  # fields that a prompt may leave out


def prompts_of(strategy: Strategy) -> dict[str, BasePromptTemplate]:
    """Template name -> its message. The system message (`Template.system`) is not exposed and stays as it is."""
    return {name: PromptTemplate(template.text) for name, template in _templates(strategy).items()}


def with_prompts(strategy: Strategy, prompts: Mapping[str, BasePromptTemplate]) -> Strategy:
    """The strategy with other messages, those of modules ignored; raises ConfigError for a wrong template or field."""
    templates = _templates(strategy)
    given = {name: prompt for name, prompt in prompts.items() if ":" not in name}
    if unknown := given.keys() - templates.keys():
        raise ConfigError(
            f"{strategy.name} has no prompt {min(unknown)!r}.",
            f"Its prompts: {', '.join(templates) or 'none'}.",
        )
    changed = {name: replace(templates[name], text=_text(templates[name], prompt)) for name, prompt in given.items()}
    stages = tuple(_with_templates(stage, changed) for stage in strategy.stages)
    return replace(strategy, stages=stages, controls=_controls(strategy, stages))


def _templates(strategy: Strategy) -> dict[str, Template]:
    return {template.name: template for stage in strategy.stages for template in _templates_of(stage)}


def _templates_of(stage: Stage) -> Iterator[Template]:
    for one in fields(stage):  # type: ignore[arg-type]  # a stage is a dataclass
        value = getattr(stage, one.name)
        yield from (part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, Template))


def _with_templates(stage: Stage, changed: Mapping[str, Template]) -> Stage:
    def new(value: Any) -> Any:
        return changed.get(value.name, value) if isinstance(value, Template) else value

    values: dict[str, Any] = {}
    for one in fields(stage):  # type: ignore[arg-type]
        value = getattr(stage, one.name)
        values[one.name] = tuple(map(new, value)) if isinstance(value, tuple) else new(value)
    return replace(stage, **values) if any(t.name in changed for t in _templates_of(stage)) else stage  # type: ignore[type-var]


def _text(template: Template, prompt: BasePromptTemplate) -> str:
    """The message of a LlamaIndex prompt, checked against the fields of the template it replaces."""
    known = set(PromptTemplate(template.text).template_vars)
    text = prompt.get_template()
    found = set(PromptTemplate(text).template_vars)
    if missing := known - OPTIONAL - found:
        raise ConfigError(
            f"The prompt {template.name!r} is missing {_braced(missing)}.", f"Its fields: {_braced(known)}."
        )
    if more := found - known:
        raise ConfigError(
            f"The prompt {template.name!r} has {_braced(more)}, which nothing fills.",
            f"Its fields: {_braced(known)}; write literal braces twice.",
        )
    return text


def _braced(names: set[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))


def _controls(strategy: Strategy, stages: tuple[Stage, ...]) -> Mapping[str, Any]:
    made = {template.name: template for stage in stages for template in _templates_of(stage)}
    controls = dict(strategy.controls)
    recipe = RECIPES.get(strategy.name)
    for control in recipe.controls if recipe else (_TEMPLATES,):
        if isinstance(control, PromptText) and control.default.name in made:
            controls[control.name] = control.plain(made[control.default.name])
        if isinstance(control, Templates) and control.name in controls:
            names = [one if isinstance(one, str) else one["name"] for one in controls[control.name]]
            if made.keys() >= set(names):
                controls[control.name] = control.plain([made[name] for name in names])
    return controls


THEIR_BILL = "The answer's cost is unknown: a LlamaIndex synthesizer called its own model."

NodeKind = Literal["passage", "document"]
_events = get_dispatcher(__name__)


class StrategyRetriever(BaseRetriever):
    """A strategy without its answer, as a LlamaIndex retriever.

    A bundle's own embedding strings are used where the strategy embeds the question (`nodes.with_embedding_strings`).
    Its `embedding` is not: nothing says which model made it. `get_prompts` and `update_prompts` go by the
    names of the strategy's templates.

    Args:
        by: what a node is: a passage, or a document, each once at the rank of its best passage.
        labels: whether nodes have relevance labels, which take longer than a search.
        callback_manager: receives events of retrievals and of the model calls behind them.
    """

    def __init__(
        self,
        lab: EventSource,
        strategy: Strategy,
        on_trace: Callable[[Trace], None] = lambda trace: None,
        callback_manager: CallbackManager | None = None,
        by: NodeKind = "passage",
        labels: bool = False,
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        if by not in get_args(NodeKind):
            raise ConfigError(f"A node is no {by!r}.", f"Choose by: {', '.join(get_args(NodeKind))}.")
        self._lab = lab
        self._by = by
        retrieval = strategy.without_answer()
        self.strategy = replace(retrieval, stages=(*retrieval.stages, Label())) if labels else retrieval
        self._on_trace = on_trace

    def _get_prompts(self) -> PromptDictType:
        return prompts_of(self.strategy)

    def _update_prompts(self, prompts: PromptDictType) -> None:
        self.strategy = with_prompts(self.strategy, prompts)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self._find(query_bundle, threading.Event())

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self._find, query_bundle, stop)
        finally:
            stop.set()  # when cancelled

    def _find(self, query_bundle: QueryBundle, stop: threading.Event) -> list[NodeWithScore]:
        run = StrategyRun(self._lab, self.strategy, query_bundle, stop, self.callback_manager)
        run.retrieve()
        self._on_trace(run.trace)
        return as_documents(run.trace.ranking) if self._by == "document" else run.nodes


class StrategyQueryEngine(BaseQueryEngine):
    """A strategy with its answer, as a LlamaIndex query engine.

    `source_nodes` are the passages the answer was written from: its marker [n] names the nth. `metadata` holds
    strategy, controls, fingerprint, cost_usd (None when unknown), seconds, abstained, warnings and the trace. While an
    answer streams, nodes have no label and metadata no figures yet: both are completed in place with the last piece, by
    which time a citation of no source has been taken out of the trace's answer.

    A bundle's own embedding strings are used as `StrategyRetriever` uses them. `get_prompts` and
    `update_prompts` go by the names of the strategy's templates: "answer", "judge_passage", "hypothetical",
    "analysis", and those of the rewrites.

    If `streaming`, it answers with a StreamingResponse, or an AsyncStreamingResponse to `aquery`.
    """

    def __init__(
        self,
        lab: EventSource,
        strategy: Strategy,
        *,
        streaming: bool = False,
        node_postprocessors: Sequence[BaseNodePostprocessor] = (),
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        *found, write = strategy.stages
        if write.kind != "answer":
            raise ConfigError(f"{strategy.name} writes no answer.", "Give a response_synthesizer.")
        if node_postprocessors:
            strategy = replace(strategy, stages=(*found, Postprocess(tuple(node_postprocessors)), write))
        self.strategy = strategy
        self._lab = lab
        self._streaming = streaming

    def _get_prompts(self) -> PromptDictType:
        return prompts_of(self.strategy)

    def _update_prompts(self, prompts: PromptDictType) -> None:
        self.strategy = with_prompts(self.strategy, prompts)

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        manager = self.callback_manager
        retriever = StrategyRetriever(self._lab, self.strategy, callback_manager=manager, labels=True)
        return retriever.retrieve(query_bundle)

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        payload: dict[str, Any] = {EventPayload.QUERY_STR: query_bundle.query_str}
        with self.callback_manager.event(CBEventType.QUERY, payload=payload) as event:
            run = self._retrieved(query_bundle, threading.Event())
            response: RESPONSE_TYPE = (
                StreamingResponse(run.pieces(), run.nodes, run.metadata) if self._streaming else run.response()
            )
            event.on_end(payload={EventPayload.RESPONSE: response})
        return response

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        stop = threading.Event()
        payload: dict[str, Any] = {EventPayload.QUERY_STR: query_bundle.query_str}
        try:
            with self.callback_manager.event(CBEventType.QUERY, payload=payload) as event:
                run = await asyncio.to_thread(self._retrieved, query_bundle, stop)
                response: RESPONSE_TYPE = (
                    AsyncStreamingResponse(run.pieces_async(), run.nodes, run.metadata)
                    if self._streaming
                    else await asyncio.to_thread(run.response)
                )
                event.on_end(payload={EventPayload.RESPONSE: response})
        except BaseException:
            stop.set()  # when cancelled
            raise
        return response

    def _retrieved(self, query_bundle: QueryBundle, stop: threading.Event) -> StrategyRun:
        """A run up to its answer, with the events of any LlamaIndex retriever."""
        run = StrategyRun(self._lab, self.strategy, query_bundle, stop, self.callback_manager)
        _events.event(RetrievalStartEvent(str_or_query_bundle=query_bundle))
        payload: dict[str, Any] = {EventPayload.QUERY_STR: query_bundle.query_str}
        with self.callback_manager.event(CBEventType.RETRIEVE, payload=payload) as event:
            run.retrieve()
            event.on_end(payload={EventPayload.NODES: run.nodes})
        _events.event(RetrievalEndEvent(str_or_query_bundle=query_bundle, nodes=run.nodes))
        return run


class SynthesizedQueryEngine(RetrieverQueryEngine):
    """A strategy's passages, answered from by a LlamaIndex response synthesizer.

    `metadata` also has what StrategyQueryEngine's has, of the retrieval; `cost_usd` is None: that model is not ours to bill.
    """

    def __init__(
        self,
        lab: EventSource,
        strategy: Strategy,
        response_synthesizer: BaseSynthesizer,
        node_postprocessors: Sequence[BaseNodePostprocessor] = (),
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(
            StrategyRetriever(lab, strategy, callback_manager=callback_manager, labels=True),
            response_synthesizer,
            list(node_postprocessors),
            callback_manager=callback_manager,
        )
        self.strategy = strategy
        self._lab = lab

    def _get_prompts(self) -> PromptDictType:
        return prompts_of(self.strategy.without_answer())

    def _update_prompts(self, prompts: PromptDictType) -> None:
        own = {name: prompt for name, prompt in prompts.items() if ":" not in name}
        with_prompts(self.strategy.without_answer(), own)  # refuses the answer's prompt, which is not used
        self.strategy = with_prompts(self.strategy, own)

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        traces: list[Trace] = []
        return self._with_metadata(self._recording(traces.append)._query(query_bundle), traces)

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        traces: list[Trace] = []
        return self._with_metadata(await self._recording(traces.append)._aquery(query_bundle), traces)

    def _recording(self, on_trace: Callable[[Trace], None]) -> RetrieverQueryEngine:
        """This engine for one query, so that queries at the same time keep their traces apart."""
        retriever = StrategyRetriever(self._lab, self.strategy, on_trace, self.callback_manager, labels=True)
        return self.with_retriever(retriever)

    def _with_metadata(self, response: RESPONSE_TYPE, traces: Sequence[Trace]) -> RESPONSE_TYPE:
        own = metadata_of(traces[0])
        own |= {
            "fingerprint": self.strategy.fingerprint,
            "cost_usd": None,
            "warnings": [*own["warnings"], THEIR_BILL],
            "abstained": not response.source_nodes,
        }
        response.metadata = {**(response.metadata or {}), **own}
        return response


def query_engine(
    lab: EventSource,
    strategy: Strategy,
    *,
    streaming: bool = False,
    response_synthesizer: BaseSynthesizer | None = None,
    node_postprocessors: Sequence[BaseNodePostprocessor] = (),
    callback_manager: CallbackManager | None = None,
) -> BaseQueryEngine:
    """A query engine: with our own answers, or those of a LlamaIndex response synthesizer.

    Raises ConfigError for `streaming` beside a synthesizer, which streams or not as it was made, or if nothing answers.
    """
    if response_synthesizer is None:
        return StrategyQueryEngine(
            lab,
            strategy,
            streaming=streaming,
            node_postprocessors=node_postprocessors,
            callback_manager=callback_manager,
        )
    if streaming:
        raise ConfigError(
            "Whether it streams is the response_synthesizer's own setting.",
            "Make it with get_response_synthesizer(streaming=True), and leave streaming out here.",
        )
    return SynthesizedQueryEngine(lab, strategy, response_synthesizer, node_postprocessors, callback_manager)
