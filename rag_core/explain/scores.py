"""Every score of a passage taken apart: fused scores into the share of each list, weighted sums into their terms."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..stages import FusionStage, ReciprocalRankFusion, WeightedFusion
from ..values.trace import Trace
from ..values.types import Ranking
from .flow import fusion_of, last_hits, stage_title


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a score.

    Args:
        name: a list ("bm25", "dense · synonyms") or a term ("cosine", "judge", "similarity").
        formula: how `value` comes about: "1 / (60 + 3)", "0.4 · 0.7120"; empty for a score taken over as it is.
        value: its contribution to the score.
        counted: whether the score includes it; where the best part counts, the others do not.
        passage: id of the passage a similarity is to; otherwise empty.
    """

    name: str
    formula: str
    value: float
    counted: bool = True
    passage: str = ""


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """One vote, taken apart into parts, none for a score given as a whole; `note` is the judge's reason."""

    stage: str
    title: str
    query: str
    origin: str
    rank: int
    score: float
    scale: str
    note: str
    parts: tuple[Part, ...] = ()


def decompose(trace: Trace, passage: str) -> tuple[ScoreLine, ...]:
    """Every score that a retrieved passage got, in order, with its parts."""
    hit = last_hits(trace).get(passage)
    origins = {query.text: query.origin for step in trace.steps for query in step.after.queries}
    fused = {
        step.stage: tuple(_parts(fusion, before.after.rankings, passage))
        for before, step in itertools.pairwise(trace.steps)
        if (fusion := fusion_of(step))
    }
    lines: list[ScoreLine] = []
    for vote in hit.votes if hit else ():
        before = lines[-1] if lines else None
        kept = before.parts if before and (before.score, before.scale) == (vote.score, vote.scale) else ()
        terms = tuple(
            Part(term.name, f"{term.weight:g} · {term.value:.4f}", term.weight * term.value, passage=term.passage)
            for term in vote.terms
        )
        lines.append(
            ScoreLine(
                vote.stage,
                stage_title(vote.stage),
                vote.query,
                origins.get(vote.query, "question"),
                vote.rank,
                vote.score,
                vote.scale,
                vote.note,
                fused.get(vote.stage) or terms or kept,  # a stage can reorder and keep the scores
            )
        )
    return tuple(lines)


def _parts(fusion: FusionStage, lists: Sequence[Ranking], passage: str) -> Iterator[Part]:
    found = [
        (ranking, rank, hit.score)
        for ranking in lists
        for rank, hit in enumerate(ranking, start=1)
        if hit.id == passage
    ]
    shares = [_share(fusion, ranking, rank, score) for ranking, rank, score in found]
    counted = _counted(fusion, [value for _, value in shares])
    for (ranking, _, _), (formula, value), counts in zip(found, shares, counted, strict=True):
        yield Part(_listed(ranking), formula, value, counts)


def _share(fusion: FusionStage, ranking: Ranking, rank: int, score: float) -> tuple[str, float]:
    """What one list gives to a passage at a rank, with a score: formula and value."""
    match fusion:
        case ReciprocalRankFusion():
            weight = fusion.weight(ranking)
            return f"{weight:g} / ({fusion.k} + {rank})", weight / (fusion.k + rank) if weight else 0.0
        case WeightedFusion():
            weight = fusion.weight(ranking.query.template_index)
            return f"{weight:g} · {score:.4f}", weight * max(0.0, score)
        case _:
            return "", score


def _counted(fusion: FusionStage, values: Sequence[float]) -> list[bool]:
    """Which parts the fused score includes: all where it is a sum, otherwise the best or the first."""
    if isinstance(fusion, ReciprocalRankFusion) or getattr(fusion, "combine", "max") == "sum":
        return [True] * len(values)
    if not values:
        return []
    chosen = 0 if getattr(fusion, "combine", "max") == "first" else values.index(max(values))
    return [place == chosen for place in range(len(values))]


def _listed(ranking: Ranking) -> str:
    written_by = "" if ranking.query.origin == "question" else ranking.query.origin
    return " · ".join(part for part in (ranking.retriever, written_by) if part)
