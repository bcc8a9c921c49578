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

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar, Literal

from ..prompts.prompt import Template
from ..runtime.context import Context
from ..values.errors import ConfigError
from ..values.types import Hit, Query, Ranking, Scale, State
from . import messages

Content = Literal["the question", "queries", "a ranking", "rankings", "an answer"]
RERANKER = "reranker"  # the scale of whichever reranker is set
_FIELD = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")


@dataclass(frozen=True, slots=True)
class Flow:
    """What the state between two stages will contain, known before anything runs.

    Args:
        content: what the state contains for the next stage.
        scales: source of the scores -> their scale. The source is the retriever until rankings are fused, then
            the stage that fused them.
        stages: names of the stages so far.
    """

    content: Content = "the question"
    scales: Mapping[str, str] = field(default_factory=dict)
    stages: tuple[str, ...] = ()

    @property
    def scores(self) -> str:
        """Each source and its scale, in words."""
        return " and ".join(f"{source} gives {scale} scores" for source, scale in self.scales.items())

    def rescored(self, scale: str) -> Flow:
        """The same flow with every ranking on another scale."""
        return replace(self, scales=dict.fromkeys(self.scales, scale))


class Stage(ABC):
    """One step of a strategy."""

    kind: ClassVar[str]

    @property
    def name(self) -> str:
        """The class's name, used in votes, traces and on screens."""
        return type(self).__name__

    @property
    def params(self) -> Mapping[str, Any]:
        """The parameters as plain JSON values."""
        plain = _plain(self)
        assert isinstance(plain, dict)  # a stage is a dataclass
        return plain

    def flow(self, before: Flow) -> Flow:
        """What this stage leaves.

        Raises:
            ConfigError: this stage cannot follow the ones before it.
        """
        return before

    @abstractmethod
    def __call__(self, state: State, ctx: Context) -> State:
        """The state after this stage."""


class TransformStage(Stage):
    """Writes the queries to search with."""

    kind = "transform"
    fans_out: ClassVar[bool] = True  # writes several queries, so their rankings need fusing

    def flow(self, before: Flow) -> Flow:
        return replace(before, content="queries" if self.fans_out else "the question")

    def __call__(self, state: State, ctx: Context) -> State:
        return replace(state, queries=self.rewrite(state.queries[0], ctx))

    @abstractmethod
    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        """The queries for a question, or for the one query an earlier transform made of it."""


class Retriever(ABC):
    """A way to search; a frozen dataclass that `Retrieve` runs.

    Attributes:
        name: used in rankings, weights and results.
        scale: of its scores.
    """

    name: ClassVar[str]
    scale: ClassVar[Scale]

    @property
    def variant(self) -> str:
        """Distinguishes it from another retriever of the same name; may be empty."""
        return ""

    @property
    def most(self) -> int | None:
        """The most hits a search returns; None when unknown."""
        return None

    @property
    def control(self) -> str:
        """The name users see for `most`."""
        return f"the depth of {self.name}"

    @abstractmethod
    def search(self, query: Query, ctx: Context) -> Sequence[Hit]:
        """Hits for one query, in any order."""


class FusionStage(Stage):
    """Makes one ranking of several."""

    kind = "fuse"
    scale: ClassVar[Scale | None] = None  # of the fused scores; None when they keep their scale

    def flow(self, before: Flow) -> Flow:
        (first, *_) = before.scales.values()
        return replace(before, content="a ranking", scales={self.name: self.scale or first})

    def __call__(self, state: State, ctx: Context) -> State:
        seen: dict[str, Hit] = {}
        for ranking in state.rankings:
            for hit in ranking:
                earlier = seen.get(hit.id)
                seen[hit.id] = hit if earlier is None else earlier.with_votes(*hit.votes)
        hits = [
            seen[identity].with_score(score, self.scale or seen[identity].scale)
            for identity, score in self.fuse(state.rankings).items()
        ]
        return replace(state, rankings=(Ranking.sort(state.question, hits, self.name),))

    @abstractmethod
    def fuse(self, rankings: Sequence[Ranking]) -> dict[str, float]:
        """Passage id -> fused score; passages without an entry are dropped."""


class RerankStage(Stage):
    """Rescores every ranking it is given.

    Several rankings are each scored against the query they were searched with (RAG-MSR's reranking within
    each query). A single ranking, after fusion or from one search, is scored against the user's question,
    whatever the query was. The same applies to stages that select by relevance (`Mmr`).
    """

    kind = "rerank"
    scale: ClassVar[str] = RERANKER

    def flow(self, before: Flow) -> Flow:
        return before.rescored(self.scale)

    def __call__(self, state: State, ctx: Context) -> State:
        def again(ranking: Ranking) -> Ranking:
            asked = replace(ranking, query=state.scoring_query(ranking))
            hits = self.rerank(asked, ctx) if asked.hits else ()
            return Ranking.sort(asked.query, hits, self.name, ranking.retriever)

        return replace(state, rankings=tuple(map(again, state.rankings)))

    @abstractmethod
    def rerank(self, ranking: Ranking, ctx: Context) -> Iterable[Hit]:
        """The hits of a ranking (at least one) with new scores; hits that could not be scored are left out."""


class SelectStage(Stage):
    """Shortens every ranking it is given, and may reorder it."""

    kind = "select"

    @property
    def most(self) -> int | None:
        """The most hits it keeps of a ranking; None when it does not cut by number."""
        return None

    @property
    def control(self) -> str:
        """The name users see for `most`."""
        return f"the cut of {self.name}"

    def __call__(self, state: State, ctx: Context) -> State:
        return replace(
            state,
            rankings=tuple(
                replace(
                    ranking,
                    hits=tuple(self.select(replace(ranking, query=state.scoring_query(ranking)), ctx)),
                )
                for ranking in state.rankings
            ),
        )

    @abstractmethod
    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        """The hits that stay, best first."""


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type | Template):
        named = {one.name: _plain(getattr(value, one.name)) for one in fields(value) if one.compare}
        return {"retriever": type(value).__name__, **named} if isinstance(value, Retriever) else named
    if isinstance(value, Template):
        return {"name": value.name, "text": value.text, "temperature": value.temperature}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int | float | Mapping):
        return value
    return type(value).__name__  # an object of another library


def check_fields(stage: str, template: Template, needed: Iterable[str], optional: Iterable[str] = ()) -> None:
    """Check that a template has the fields its stage fills, and no others.

    Raises:
        ConfigError: naming the stage, the template, and the missing or unknown field.
    """
    found, needed, optional = set(_FIELD.findall(template.text)), list(needed), list(optional)
    step = f"Its text needs {_in_braces(needed)}"
    step += f" and may have {_in_braces(optional)}" if optional else ""
    step += "; double the braces of other text."
    if missing := [name for name in needed if name not in found]:
        raise ConfigError(f"{stage}: template {template.name!r} lacks {_in_braces(missing)}.", step)
    if unknown := sorted(found - {*needed, *optional}):
        raise ConfigError(
            f"{stage}: template {template.name!r} has {_in_braces(unknown)}, which {stage} does not fill.",
            step,
        )


def _in_braces(names: Sequence[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in names)


def warn_if_unread(template: Template, ready: Template, ctx: Context) -> None:
    """Warn that the offline engine, which reads only the fields, ignores a custom text."""
    if template.text != ready.text and ctx.services.llms[template.purpose].offline:
        ctx.warn(messages.prompt_unread(template.name))
