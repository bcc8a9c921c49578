"""The fusion stages behind steps of a trace, built again from their parameters: one formula, one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..stages import FusionStage, MaxFusion, ReciprocalRankFusion, WeightedFusion
from ..values.trace import Step
from ..values.types import Ranking


def fusion_of(step: Step) -> FusionStage | None:
    """The stage that made a step, if it is one of our fusions; otherwise None."""
    given = step.params
    match step.stage:
        case ReciprocalRankFusion.__name__:
            weights = tuple((str(name), float(weight)) for name, weight in given["weights"])
            return ReciprocalRankFusion(given["k"], weights, given["rewrites"])
        case WeightedFusion.__name__:
            return WeightedFusion(
                given["weighting"], given["step"], tuple(given["weights"]), given["combine"]
            )
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
