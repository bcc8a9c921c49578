"""What is measured of a room's answers, to stand beside its votes, and where the two disagree."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ...values.trace import Trace
from .ranking import Gap
from .room import Round

Measured: TypeAlias = tuple[float, float, float]  # a mean and its interval, from low to high
Agreement: TypeAlias = Literal["same", "opposite", "votes", "figure", "neither", "unknown"]


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one strategy's answers in a room.

    Args:
        traces: of its answers, in the order of the questions.
        supported, sentences: sentences that their passages support, and all of them.
        cost_usd: of one answer, the mean; None where a price is unknown.
    """

    traces: tuple[Trace, ...]
    supported: int
    sentences: int
    cost_usd: float | None


def figures(rounds: Collection[Round]) -> dict[str, Figures]:
    """Label -> what is measured of its answers to these questions."""
    traces: dict[str, list[Trace]] = {}
    for asked in rounds:
        for one in asked.question.answers:
            traces.setdefault(one.label, []).append(one.trace)
    return {label: _figures(found) for label, found in traces.items()}


def _figures(traces: Collection[Trace]) -> Figures:
    sentences = [one for trace in traces if trace.answer for one in trace.answer.sentences]
    costs = [trace.cost_usd for trace in traces]
    known = [cost for cost in costs if cost is not None]
    return Figures(
        tuple(traces),
        sum(one.support == "supported" for one in sentences),
        len(sentences),
        sum(known) / len(known) if len(known) == len(costs) else None,
    )


def compare(gap: Gap, measured: Mapping[str, Measured | None]) -> Agreement:
    """Whether a figure, the higher the better, orders two strategies as the votes do.

    Votes tell them apart as the ranking says; a figure does where its intervals do not meet. "votes" and "figure": only
    that one tells them apart; "unknown": one of them was not measured.
    """
    better, worse = measured.get(gap.better), measured.get(gap.worse)
    if better is None or worse is None:
        return "unknown"
    if better[1] <= worse[2] and worse[1] <= better[2]:
        return "votes" if gap.apart else "neither"
    if not gap.apart:
        return "figure"
    return "same" if better[0] > worse[0] else "opposite"
