"""What each query found and which lists share a passage: read off recorded rankings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .types import Passage, Ranking


@dataclass(frozen=True, slots=True)
class QueryResults:
    """How many passages a query found, and how many of them no other query found."""

    found: int
    unique: int


@dataclass(frozen=True, slots=True)
class SharedPassage:
    """A passage and its rank (from 1) in each list that contains it, by the list's position."""

    passage: Passage
    ranks: Mapping[int, int]


def results_by_query(rankings: Iterable[Ranking]) -> dict[str, QueryResults]:
    """Query text -> what its searches found, each passage counted once."""
    found: dict[str, set[str]] = {}
    for ranking in rankings:
        found.setdefault(ranking.query.text, set()).update(hit.id for hit in ranking)
    results = {}
    for text, ids in found.items():
        others = {one for other, theirs in found.items() if other != text for one in theirs}
        results[text] = QueryResults(len(ids), len(ids - others))
    return results


def shared_passages(rankings: Sequence[Ranking | None]) -> list[SharedPassage]:
    """Every passage of the rankings: first those in most of them, then by best rank, then by id."""
    ranks: dict[str, dict[int, int]] = {}
    passages: dict[str, Passage] = {}
    for position, ranking in enumerate(rankings):
        for rank, hit in enumerate(ranking or (), start=1):
            ranks.setdefault(hit.id, {})[position] = rank
            passages[hit.id] = hit.passage
    order = sorted(ranks, key=lambda name: (-len(ranks[name]), min(ranks[name].values()), name))
    return [SharedPassage(passages[name], ranks[name]) for name in order]
