"""When each stage, search and model call of a trace began and how long it took: what a waterfall is drawn from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ...values.trace import Step, Trace

Level = Literal["stage", "search", "call"]


@dataclass(frozen=True, slots=True)
class Span:
    """One bar of a waterfall.

    Args:
        name: of the stage; of a search its retriever; of a call its purpose.
        detail: of a search who wrote its query, empty for the question as asked; of a call the model.
        kind: of the stage it belongs to.
        position: of that stage, from 0.
        started: seconds after the run began.
        seconds: >= 0; 0 for what an earlier run did.
        reused: another strategy of the same run did it at this time, or an earlier run did.
    """

    level: Level
    name: str
    detail: str
    kind: str
    position: int
    started: float
    seconds: float
    reused: bool = False

    @property
    def ended(self) -> float:
        """Seconds after the run began."""
        return self.started + self.seconds


def spans(trace: Trace) -> tuple[Span, ...]:
    """Every stage, each followed by the searches and calls that were timed within it.

    Stages of an earlier run take no time in this one. Where starts are unknown, stages follow each other, and their
    searches and calls are left out.
    """
    found: list[Span] = []
    end = 0.0
    for position, step in enumerate(trace.steps):
        earlier = step.reused and step.started is None
        started = end if step.started is None else step.started
        stage = Span(
            "stage",
            step.stage,
            "",
            step.kind,
            position,
            started,
            0.0 if earlier else step.seconds,
            step.reused,
        )
        found.append(stage)
        end = stage.ended
        if step.started is not None:
            found += sorted(_within(step, position), key=lambda span: span.started)
    return tuple(found)


def _within(step: Step, position: int) -> Iterator[Span]:
    """The searches and the calls of a stage whose start is known; of calls only those it made."""
    for ranking in step.after.rankings if step.kind == "retrieve" else ():
        if ranking.started is not None:
            wrote = ranking.query.origin
            wrote = "" if wrote == "question" else wrote
            yield Span(
                "search",
                ranking.retriever,
                wrote,
                step.kind,
                position,
                ranking.started,
                ranking.seconds,
                step.reused,
            )
    for call in dict.fromkeys(step.calls):
        if call.started is not None and call.seconds is not None and call not in step.shared:
            yield Span(
                "call", call.purpose, call.model, step.kind, position, call.started, call.seconds, step.reused
            )
