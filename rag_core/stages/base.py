"""The six kinds of stage. Each leaves one small method to write; each formula is one small class.

| kind | method | finds in the state | leaves |
|---|---|---|---|
| transform | rewrite | the question | queries |
| retrieve | search (of a Retriever) | queries | one ranking per query and retriever |
| fuse | fuse | rankings | one ranking |
| rerank | score | rankings | the same rankings, rescored |
| select | keep | rankings | the same rankings, shortened |
| answer | answer | one ranking | the answer |

A stage is a frozen dataclass of its parameters; it may touch nothing but the state and the context.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar

from ..context import Context
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
        return replace(state, queries=self.rewrite(state.question, ctx))

    @abstractmethod
    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        """The queries for a question."""


class Retriever(ABC):
    """A way of searching; a frozen dataclass held by `Retrieve`."""

    @abstractmethod
    def search(self, query: Query, ctx: Context) -> Sequence[Hit]:
        """Hits for one query, in any order."""


class Fuse(Stage):
    """Makes one ranking of several."""

    kind = "fuse"
    scale: ClassVar[Scale]

    def __call__(self, state: State, ctx: Context) -> State:
        seen: dict[str, Hit] = {}
        for ranking in state.rankings:
            for hit in ranking:
                held = seen.get(hit.id)
                seen[hit.id] = hit if held is None else held.voted(*hit.votes)
        hits = [
            Hit(seen[identity].passage, score, self.scale, seen[identity].votes)
            for identity, score in self.fuse(state.rankings).items()
        ]
        return replace(state, rankings=(Ranking.sort(state.question, hits, self.name),))

    @abstractmethod
    def fuse(self, rankings: Sequence[Ranking]) -> dict[str, float]:
        """Passage id -> fused score."""


class Rerank(Stage):
    """Rescores every ranking it is given: one per query before fusion, the single one after it."""

    kind = "rerank"
    scale: ClassVar[Scale]

    def __call__(self, state: State, ctx: Context) -> State:
        return replace(state, rankings=tuple(self._rescored(ranking, ctx) for ranking in state.rankings))

    def _rescored(self, ranking: Ranking, ctx: Context) -> Ranking:
        scores = self.score(ranking.query, ranking.hits, ctx)
        hits = [
            replace(hit, score=score, scale=self.scale) for hit, score in zip(ranking, scores, strict=True)
        ]
        return Ranking.sort(ranking.query, hits, self.name)

    @abstractmethod
    def score(self, query: Query, hits: Sequence[Hit], ctx: Context) -> Sequence[float]:
        """One new score per hit, in their order."""


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
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return {"retriever": type(value).__name__, **named} if isinstance(value, Retriever) else named
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
