"""The ranked lists a trace went through: what the rank flow is drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..values.trace import Trace
from ..values.types import Hit, Ranking


@dataclass(frozen=True, slots=True)
class Lane:
    """One ranked list after one stage; a stage leaves several while queries or retrievers are apart.

    Args:
        position: of the step, from 0.
        retriever: who searched; empty after fusion.
        origin: who wrote the query: "question", or the name of a template.
        query: the query's text.
        size: how many passages the list has.
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
    """A passage's place in one list.

    Args:
        lane: position of the list in `lanes`, from 0.
        rank: from 1.
    """

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
