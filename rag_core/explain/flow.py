"""A strategy's stages in outline, and the ranked lists that a trace went through: what the rank flow is drawn from."""

import inspect
import itertools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..catalog import format_value
from ..pipeline.strategy import Strategy
from ..stages import FusionStage, MaxFusion, ReciprocalRankFusion, Stage, WeightedFusion
from ..values.message import Message
from ..values.trace import Step, Trace
from ..values.types import Hit, Ranking

_DECLARED = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
TITLES, QUERIES, _PARAMETERS = (
    {name: Message(text) for name, text in _DECLARED[section].items()}
    for section in ("stages", "queries", "parameters")
)


def stage_title(stage: str) -> str:
    """What people call a stage or a retriever: "MMR" for "Mmr"; its own name if it has no other."""
    return TITLES.get(stage, stage)


def query_title(origin: str) -> str:
    """What people call the template that wrote a query: "entity-aware"; its own name if it has no other."""
    return QUERIES.get(origin, origin)


@dataclass(frozen=True, slots=True)
class Lane:
    """One ranked list after one stage; a stage leaves several while queries or retrievers are apart.

    Args:
        position: of the step, from 0.
        retriever: who searched; empty after fusion.
        origin: who wrote the query: "question", or the name of a template.
        apart: whether the stage left several lists.
    """

    position: int
    stage: str
    kind: str
    retriever: str
    origin: str
    query: str
    size: int
    apart: bool


@dataclass(frozen=True, slots=True)
class Place:
    """A passage's place in one list: the list's position in `lanes`, from 0, and the rank from 1."""

    lane: int
    rank: int
    score: float
    scale: str


def lanes(trace: Trace) -> tuple[Lane, ...]:
    """Every ranked list of a trace, in the order of its stages, queries and retrievers."""
    return tuple(
        Lane(
            position,
            step.stage,
            step.kind,
            ranking.retriever,
            ranking.query.origin,
            ranking.query.text,
            len(ranking),
            len(step.after.rankings) > 1,
        )
        for position, step in enumerate(trace.steps)
        for ranking in step.after.rankings
    )


@dataclass(frozen=True, slots=True)
class FlowColumn:
    """A column of the rank flow, a search or a stage after it, with its lists' positions in `lanes`."""

    title: str
    lanes: tuple[int, ...]


def flow_columns(trace: Trace) -> tuple[FlowColumn, ...]:
    """The columns of the rank flow, in the order of the stages; each search has its own."""
    columns = []
    listed = list(enumerate(lanes(trace)))
    for _, group in itertools.groupby(listed, key=lambda pair: pair[1].position):
        found = list(group)
        if found[0][1].kind == "retrieve":
            columns += [FlowColumn(_search(lane), (place,)) for place, lane in found]
        else:
            columns.append(FlowColumn(stage_title(found[0][1].stage), tuple(place for place, _ in found)))
    return tuple(columns)


def _search(lane: Lane) -> str:
    name = stage_title(lane.retriever)
    if lane.origin == "question":
        return name
    return Message("{search} · {query}", search=name, query=query_title(lane.origin))


def rankings(trace: Trace) -> tuple[Ranking, ...]:
    """The lists themselves, in the order of `lanes`."""
    return tuple(ranking for step in trace.steps for ranking in step.after.rankings)


def places(trace: Trace) -> Mapping[str, tuple[Place, ...]]:
    """Passage id -> its places in all lists, first to last."""
    found: dict[str, tuple[Place, ...]] = {}
    for lane, ranking in enumerate(rankings(trace)):
        for rank, hit in enumerate(ranking, start=1):
            found[hit.id] = (*found.get(hit.id, ()), Place(lane, rank, hit.score, hit.scale))
    return found


def last_hits(trace: Trace) -> Mapping[str, Hit]:
    """Passage id -> its hit in the last list that has it, with the votes up to there."""
    return {hit.id: hit for ranking in rankings(trace) for hit in ranking}


def fusion_of(step: Step) -> FusionStage | None:
    """The stage that made a step, if it is one of our fusions; otherwise None."""
    given = step.params
    match step.stage:
        case ReciprocalRankFusion.__name__:
            weights = tuple((str(name), float(weight)) for name, weight in given["weights"])
            return ReciprocalRankFusion(given["k"], weights, given["rewrites"])
        case WeightedFusion.__name__:
            return WeightedFusion(given["weighting"], given["step"], tuple(given["weights"]), given["combine"])
        case MaxFusion.__name__:
            return MaxFusion()
    return None


def query_weights(steps: Sequence[Step]) -> Mapping[str, float]:
    """Query text -> its weight in the fusion; empty before it, and where the fusion weighs no queries."""
    for step in steps:
        match fusion_of(step):
            case ReciprocalRankFusion() as fusion:
                return {query.text: fusion.weight(Ranking(query, ())) for query in step.after.queries}
            case WeightedFusion():
                return {query.text: query.weight for query in step.after.queries}
    return {}


_NOT_A_PARAMETER = ("template", "retrievers")
_REFERENCE = re.compile(r" \([^()]*`[^()]*\)")  # to code, in a docstring


@dataclass(frozen=True, slots=True)
class Part:
    """A retriever or stage, the first sentence of its docstring, and its parameters: "keeps 15 · k1 1.5"."""

    name: str
    params: Message
    summary: str


@dataclass(frozen=True, slots=True)
class OutlinedStage:
    """One stage; it has several parts where it searches in several ways at the same time."""

    kind: str
    parts: tuple[Part, ...]


def outline(strategy: Strategy) -> tuple[OutlinedStage, ...]:
    """The stages of a strategy in order."""
    return tuple(OutlinedStage(stage.kind, tuple(_parts(stage))) for stage in strategy.stages)


def _parts(stage: Stage) -> Iterator[Part]:
    retrievers = getattr(stage, "retrievers", ())
    for retriever in retrievers:
        yield Part(type(retriever).__name__, _params(retriever), _summary(retriever))
    if not retrievers:
        yield Part(stage.name, _params(stage), _summary(stage))


def _summary(value: object) -> str:
    text = _REFERENCE.sub("", " ".join((inspect.getdoc(type(value)) or "").split()))
    return text.partition(". ")[0].rstrip(".")


def _params(value: Any) -> Message:
    parts = []
    for field in fields(value):
        name, setting = field.name, getattr(value, field.name)
        if not field.compare or name in _NOT_A_PARAMETER or setting == () or setting is False:
            continue
        if (name, setting) == ("rewrites", 1.0):  # the question and its rewrites weigh the same
            continue
        if name == "templates":
            parts.append(Message.joined(query_title(template.name) for template in setting))
        elif name == "weights" and isinstance(setting[0], tuple):
            parts += [_named(stage_title(retriever), weight) for retriever, weight in setting]
        elif words := _PARAMETERS.get(f"{type(value).__name__}.{name}") or _PARAMETERS.get(name):
            parts.append(Message(words, value=Message(format_value(setting))))
        else:
            parts.append(_named(name.replace("_", " "), setting))
    return Message.joined(parts, " · ")


def _named(name: str, setting: object) -> Message:
    return Message("{name} {value}", name=Message(name), value=Message(format_value(setting)))
