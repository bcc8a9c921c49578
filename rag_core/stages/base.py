"""The six kinds of stage. Each leaves one small method to write; each formula is one small class.

| kind | method | finds in the state | leaves |
|---|---|---|---|
| transform | rewrite | the question | queries |
| retrieve | search (of a Retriever) | queries | one ranking per query and retriever |
| fuse | fuse | rankings | one ranking |
| rerank | rescored | rankings | the same rankings, rescored |
| select | keep | rankings | the same rankings, shortened |
| answer | answer | one ranking | the answer |

A stage is a frozen dataclass of its parameters; it may touch nothing but the state and the context.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar

from ..context import Context
from ..prompts import Template
from ..types import Hit, Query, Ranking, Scale, State


class Stage(ABC):
    """One step of a strategy."""

    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """The class's name; how votes, traces and screens call this stage."""
        return type(self).__name__

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters as plain JSON values."""
        plain = _plain(self)
        assert isinstance(plain, dict)  # a stage is a dataclass
        return plain

    @abstractmethod
    def __call__(self, state: State, ctx: Context) -> State:
        """The state after this stage."""


class Transform(Stage):
    """Writes the queries to search with."""

    kind = "transform"
    fans_out: ClassVar[bool] = True  # writes several queries, so their rankings need fusing

    def __call__(self, state: State, ctx: Context) -> State:
        return replace(state, queries=self.rewrite(state.queries[0], ctx))

    @abstractmethod
    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        """The queries for a question, or for the one query an earlier transform made of it."""


class Retriever(ABC):
    """A way of searching; a frozen dataclass held by `Retrieve`."""

    @abstractmethod
    def search(self, query: Query, ctx: Context) -> Sequence[Hit]:
        """Hits for one query, in any order."""


class Fuse(Stage):
    """Makes one ranking of several."""

    kind = "fuse"

    def __call__(self, state: State, ctx: Context) -> State:
        seen: dict[str, Hit] = {}
        for ranking in state.rankings:
            for hit in ranking:
                held = seen.get(hit.id)
                seen[hit.id] = hit if held is None else held.voted(*hit.votes)
        hits = [
            Hit(seen[identity].passage, score, self.scale_of(seen[identity]), seen[identity].votes)
            for identity, score in self.fuse(state.rankings).items()
        ]
        return replace(state, rankings=(Ranking.sort(state.question, hits, self.name),))

    @abstractmethod
    def scale_of(self, hit: Hit) -> Scale:
        """What the fused score of a hit is, given the hit as it came."""

    @abstractmethod
    def fuse(self, rankings: Sequence[Ranking]) -> dict[str, float]:
        """Passage id -> fused score; a passage that is not named drops out."""


class Rerank(Stage):
    """Rescores every ranking it is given: one per query before fusion, the single one after it."""

    kind = "rerank"

    def __call__(self, state: State, ctx: Context) -> State:
        rankings = (
            Ranking.sort(ranking.query, self.rescored(ranking, ctx) if ranking.hits else (), self.name)
            for ranking in state.rankings
        )
        return replace(state, rankings=tuple(rankings))

    @abstractmethod
    def rescored(self, ranking: Ranking, ctx: Context) -> Iterable[Hit]:
        """The hits of a ranking, at least one, with their new scores; one that could get none is left out."""


class Select(Stage):
    """Shortens every ranking it is given, and may reorder it."""

    kind = "select"

    def __call__(self, state: State, ctx: Context) -> State:
        return replace(
            state,
            rankings=tuple(
                Ranking(ranking.query, tuple(self.keep(ranking, ctx))) for ranking in state.rankings
            ),
        )

    @abstractmethod
    def keep(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        """The hits that stay, best first."""


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type | Template):
        named = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return {"retriever": type(value).__name__, **named} if isinstance(value, Retriever) else named
    if isinstance(value, Template):
        return {"name": value.name, "text": value.text, "temperature": value.temperature}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
