"""The contract of a stage, checked by running it on the sample collection."""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import fields, is_dataclass, replace
from threading import Event
from typing import Any

from ..pipeline.strategy import NEEDS, Strategy
from ..prompts.templates import MULTI_QUERY
from ..runtime.context import Context
from ..runtime.run import Run
from ..runtime.services import Services
from ..stages import Bm25, Dense, Flow, LlmRerank, ReciprocalRankFusion, Retrieve, Retriever, Rewrite, Stage
from ..stages.base import RERANKER
from ..values.errors import ConfigError, ProviderError, RagError, Stopped
from ..values.types import Hit, Query, Ranking, State
from .collection import PASSAGES, ScriptedLlm, sample_services

QUESTION = "Where do cats sleep at night?"
QUESTIONS = (QUESTION, "horses stable", "¿Dónde duermen los gatos? (cats sleep at night)", "xylophone")

_REWRITES = Rewrite(MULTI_QUERY[:2])
_DENSE, _BM25 = Retrieve((Dense(6),)), Retrieve((Bm25(6),))
# Usual stages before another; each combination that its `flow` accepts is tried.
_BEFORE: tuple[tuple[Stage, ...], ...] = (
    (),
    (_REWRITES,),
    (_DENSE,),
    (_BM25,),
    (_DENSE, LlmRerank()),
    (_REWRITES, _DENSE),
    (Retrieve((Bm25(6), Dense(6))),),
    (Retrieve((Bm25(6), Dense(6))), ReciprocalRankFusion()),
)


def require(condition: bool, sentence: str) -> None:
    """Raise AssertionError with this sentence if a condition is false, also under `python -O`."""
    if not condition:
        raise AssertionError(sentence)


def check_stage(stage: Stage | Retriever, *, after: Sequence[Stage] | None = None) -> None:
    """Check that a stage, or a retriever, keeps the contract of all stages; raises AssertionError, which says where.

    It is a frozen dataclass, equal and hashable by its parameters, which are JSON. It leaves what its `flow` says,
    ranks from 1, orders equal scores by passage id, keeps earlier votes and adds its own, changes none of its inputs,
    gives the same result twice, and works on one passage and on none. It raises `Stopped` when the user has stopped the
    run, and does not hide a failed model call. It runs `after` these stages; by default, after every usual combination.
    """
    one = Retrieve((stage,)) if isinstance(stage, Retriever) else stage
    _check_value(stage)
    require(isinstance(one, Stage), f"{type(stage).__name__} is neither a Stage nor a Retriever.")
    kind = getattr(one, "kind", None)
    require(kind in NEEDS, f"{one.name}: its kind is {kind!r}, not one of {', '.join(NEEDS)}.")
    tried = _BEFORE if after is None else (tuple(after),)
    fitting = [before for before in tried if not refused(Strategy, "check", (*before, one))]
    require(
        bool(fitting),
        f"{one.name}: its flow accepts none of the usual stages before it. Pass those it needs as `after`.",
    )
    for before in fitting:
        for question in QUESTIONS:
            _check_run(one, before, question)
        for passages in (PASSAGES[:1], ()):
            services = sample_services(passages)
            start = _left(before, QUESTION, services)
            _check_result(one, _flow(before), start, _run(one, start, services), services)
        _check_faults(one, before)


def _check_value(stage: object) -> None:
    name = type(stage).__name__
    frozen = is_dataclass(stage) and getattr(type(stage), "__dataclass_params__").frozen  # noqa: B009
    require(bool(frozen), f"{name} is not a frozen dataclass: add @dataclass(frozen=True).")
    try:
        hash(stage)
    except TypeError as error:
        raise AssertionError(f"{name} has no hash ({error}): use tuples for its parameters.") from None
    twin = replace(stage)  # type: ignore[type-var]
    require(
        twin == stage and hash(twin) == hash(stage),
        f"{name}: two with equal parameters are not equal, or their hashes differ.",
    )
    require(
        repr(twin) == repr(stage) and " at 0x" not in repr(stage),
        f"{name}: its repr is not the same each time, so its fingerprint is not stable.",
    )
    if isinstance(stage, Stage):
        try:
            plain = json.loads(json.dumps(stage.params, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise AssertionError(f"{name}: its params are not JSON ({error}).") from None
        require(plain == stage.params, f"{name}: its params change when written as JSON and read again.")
    for other in _variants(stage):
        require(
            other != stage and repr(other) != repr(stage),
            f"{name}: two with different parameters are equal or have one fingerprint: {other!r}.",
        )


def _variants(stage: Any) -> Iterator[Any]:
    """The stage with one number or switch changed, where it takes the other value."""
    for one in fields(stage):
        value = getattr(stage, one.name)
        if one.compare and one.init and isinstance(value, bool | int | float):
            others = [not value] if isinstance(value, bool) else [value + 1, value / 2]
            for other in others:
                try:
                    changed = replace(stage, **{one.name: other})
                except RagError:
                    continue
                if getattr(changed, one.name) != value:
                    yield changed


def refused(make: Callable[..., object], *given: object, **values: object) -> bool:
    """Whether a function raises ConfigError for these."""
    try:
        make(*given, **values)
    except ConfigError:
        return True
    return False


def _flow(stages: Sequence[Stage]) -> Flow:
    flow = Flow()
    for stage in stages:
        flow = replace(stage.flow(flow), stages=(*flow.stages, stage.name))
    return flow


def _left(before: Sequence[Stage], question: str, services: Services) -> State:
    state = State.start(question)
    for stage in before:
        state = stage(state, Context(services))
    return state


def _run(stage: Stage, state: State, services: Services) -> State:
    try:
        after = stage(state, Context(services))
    except RagError as error:
        raise AssertionError(f"{stage.name} failed on “{state.question.text}”: {error}") from error
    except Exception as error:
        found = sum(len(ranking) for ranking in state.rankings)
        raise AssertionError(
            f"{stage.name} broke on “{state.question.text}” with {found} hits: {type(error).__name__}: {error}."
        ) from error
    require(isinstance(after, State), f"{stage.name} returned a {type(after).__name__}, not a State.")
    return after


def _check_run(stage: Stage, before: Sequence[Stage], question: str) -> None:
    services = sample_services()
    start, flow = _left(before, question, services), _flow(before)
    kept = deepcopy(start)
    scales = dict(flow.scales)
    after = _run(stage, start, services)
    require(start == kept, f"{stage.name} changed the state it was given.")
    stage.flow(flow)
    require(dict(flow.scales) == scales, f"{stage.name}: its flow changed the Flow it was given.")
    _check_result(stage, flow, start, after, services)
    require(
        after == _run(stage, start, services),
        f"{stage.name} gave another result the second time, on “{question}”.",
    )
    if stage.kind == "rerank":
        turned = replace(start, rankings=tuple(replace(one, hits=one.hits[::-1]) for one in start.rankings))
        same = [_ids(one) for one in _run(stage, turned, services).rankings] == [_ids(one) for one in after.rankings]
        require(same, f"{stage.name}: the order of equal scores depends on the order they came in.")


def _check_result(stage: Stage, before: Flow, start: State, after: State, services: Services) -> None:
    _check_flow(stage, stage.flow(before), after, services)
    require(after.question == start.question, f"{stage.name} changed the question.")
    if stage.kind != "transform":
        require(
            [query.text for query in after.queries] == [query.text for query in start.queries],
            f"{stage.name} changed the queries; only a transform may.",
        )
    for ranking in after.rankings:
        _check_ranking(stage, ranking)
    if stage.kind in ("fuse", "rerank", "select", "answer"):
        _check_votes(stage, start, after)
    if stage.kind in ("rerank", "select"):
        require(
            [one.retriever for one in after.rankings] == [one.retriever for one in start.rankings],
            f"{stage.name} must leave one ranking for each it finds, in their order.",
        )
        if stage.kind == "select" and not any(one.hits for one in start.rankings):
            require(not any(one.hits for one in after.rankings), f"{stage.name} found hits in empty rankings.")


def _check_flow(stage: Stage, flow: Flow, after: State, services: Services) -> None:
    count = len(after.rankings)
    fine = {
        "the question": count == 0 and len(after.queries) == 1,
        "queries": count == 0 and len(after.queries) >= 1,
        "a ranking": count == 1,
        "rankings": count >= 1,
        "an answer": after.answer is not None and count == 1,
    }
    require(flow.content in fine, f"{stage.name}: its flow holds {flow.content!r}, not one of {', '.join(fine)}.")
    require(
        fine[flow.content],
        f"{stage.name}: its flow says {flow.content}, but it leaves {len(after.queries)} queries, {count} "
        f"rankings and {'an' if after.answer else 'no'} answer.",
    )
    reranker = services.reranker.scale if services.reranker else ""
    for ranking in after.rankings:
        sources = [ranking.retriever] if ranking.retriever in flow.scales else list(flow.scales)
        known = {reranker if flow.scales[one] == RERANKER else flow.scales[one] for one in sources}
        for hit in ranking:
            require(
                hit.scale in known,
                f"{stage.name}: its flow says {' or '.join(sorted(known))} scores, but a hit has a {hit.scale} score.",
            )


def _check_ranking(stage: Stage, ranking: Ranking) -> None:
    ids = _ids(ranking)
    require(len(set(ids)) == len(ids), f"{stage.name} left a passage twice in one ranking.")
    require(all(math.isfinite(hit.score) for hit in ranking), f"{stage.name} gave a score that is not a number.")
    if stage.kind not in ("retrieve", "fuse", "rerank"):
        return
    ordered = sorted(ranking, key=lambda hit: (-hit.score, hit.id))
    require(
        ids == [hit.id for hit in ordered],
        f"{stage.name}: hits must be ordered by score, equal scores by passage id (Ranking.sort does it).",
    )
    for rank, hit in enumerate(ranking, start=1):
        last = hit.votes[-1] if hit.votes else None
        require(
            last is not None and (last.rank, last.score, last.scale) == (rank, hit.score, hit.scale),
            f"{stage.name}: the last vote of the hit at rank {rank} must have that rank, counted from 1, and "
            "the hit's score and scale (Ranking.sort adds it).",
        )


def _check_votes(stage: Stage, start: State, after: State) -> None:
    """No vote is lost, no passage invented, and a vote that is added has the rank of its hit."""
    earlier: dict[str, list[tuple[Query, Hit]]] = {}
    for ranking in start.rankings:
        for hit in ranking:
            earlier.setdefault(hit.id, []).append((ranking.query, hit))
    for place, ranking in enumerate(after.rankings):
        for rank, hit in enumerate(ranking, start=1):
            require(hit.id in earlier, f"{stage.name} left a passage that it was not given: {hit.id}.")
            came = earlier[hit.id]
            if stage.kind != "fuse":
                came = [
                    (one.query, old) for one in start.rankings[place : place + 1] for old in one if old.id == hit.id
                ]
                require(bool(came), f"{stage.name} moved a passage to another ranking: {hit.id}.")
            votes = {vote for _, old in came for vote in old.votes}
            require(
                votes <= set(hit.votes),
                f"{stage.name} lost votes of passage {hit.id}; a stage only adds votes.",
            )
            require(hit.passage == came[0][1].passage, f"{stage.name} changed passage {hit.id}.")
            if set(hit.votes) > votes:
                require(
                    hit.votes[-1].rank == rank,
                    f"{stage.name}: its vote for the hit at rank {rank} says rank {hit.votes[-1].rank}.",
                )


def _check_faults(stage: Stage, before: Sequence[Stage]) -> None:
    """Stopped runs stop, and a failed call of a language model is an error or a warning."""
    services = sample_services()
    start = _left(before, QUESTION, services)
    usual = Context(services)
    stage(start, usual)
    if usual.meter.calls:
        stop = Event()
        stop.set()
        try:
            stage(start, Context(services, Run(stop=stop)))
        except Stopped:
            pass
        else:
            raise AssertionError(f"{stage.name} went on after the user had stopped the run: let `Stopped` through.")
    if any(call.of_language_model for call in usual.meter.calls):
        refusing = ScriptedLlm(ProviderError("The provider refused.", "Try again."))
        context = Context(replace(services, llms=dict.fromkeys(services.llms, refusing)))
        try:
            stage(start, context)
        except RagError:
            return
        except Exception as error:
            raise AssertionError(
                f"{stage.name}: a failed model call became {type(error).__name__}: {error}; raise a RagError."
            ) from error
        require(
            bool(context.meter.warnings),
            f"{stage.name}: every model call failed, and it neither raised nor warned.",
        )


def _ids(ranking: Ranking) -> list[str]:
    return [hit.id for hit in ranking]
