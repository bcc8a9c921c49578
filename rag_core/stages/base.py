"""The six kinds of stage, each with one method to implement.

| kind | implement | input | output |
|---|---|---|---|
| transform | `rewrite` | the question | queries |
| retrieve | `Retriever.search` | queries | one ranking per query and retriever |
| fuse | `fuse` | rankings | one ranking |
| rerank | `rerank` | rankings | the same rankings, rescored |
| select | `select` | rankings | the same rankings, shortened |
| answer | `__call__` (`Generate`) | one ranking | the answer |

A stage is a frozen dataclass of its parameters. It uses only the state and the context, and returns a new state.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar, Literal, Self

from ..prompts.prompt import Template
from ..runtime.context import Context
from ..values.types import Hit, Query, Ranking, Scale, State, Vote

Content = Literal["the question", "queries", "a ranking", "rankings", "an answer"]
RERANKER = "reranker"  # the scale of the configured reranker, whichever it is


@dataclass(frozen=True, slots=True)
class Flow:
    """What the state will contain between two stages, before a run; score scales by retriever, or by fusion stage."""

    content: Content = "the question"
    scales: Mapping[str, str] = field(default_factory=dict)
    stages: tuple[str, ...] = ()

    @property
    def scores(self) -> str:
        return " and ".join(f"{source} gives {scale} scores" for source, scale in self.scales.items())

    def rescored(self, scale: str) -> Self:
        return replace(self, scales=dict.fromkeys(self.scales, scale))


class Stage(ABC):
    """One step of a strategy."""

    kind: ClassVar[str]

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def params(self) -> Mapping[str, Any]:
        plain = _plain(self)
        assert isinstance(plain, dict)  # a stage is a dataclass
        return plain

    def flow(self, before: Flow) -> Flow:
        """What the state will contain next; raises ConfigError if the stages before it do not suit."""
        return before

    @abstractmethod
    def __call__(self, state: State, ctx: Context) -> State: ...


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
        """The queries for a question, or for the query an earlier transform turned it into."""


class Retriever(ABC):
    """A search method: a frozen dataclass that `Retrieve` runs.

    Attributes:
        name: in rankings, weights and results.
        waits: whether a search waits for a model or a server.
        variant: distinguishes retrievers of the same name; can be empty.
        most: maximum number of hits per search; None when unknown.
        control: the name of `most` in messages to users.
    """

    name: ClassVar[str]
    scale: ClassVar[Scale]
    waits: ClassVar[bool] = False

    @property
    def variant(self) -> str:
        return ""

    @property
    def most(self) -> int | None:
        return None

    @property
    def control(self) -> str:
        return f"the depth of {self.name}"

    @abstractmethod
    def search(self, query: Query, ctx: Context) -> Sequence[Hit]:
        """Hits for one query, in any order."""


class FusionStage(Stage):
    """Fuses several rankings into one."""

    kind = "fuse"
    scale: ClassVar[Scale | None] = None  # of the fused scores; None keeps the scale of the inputs

    def flow(self, before: Flow) -> Flow:
        (first, *_) = before.scales.values()
        return replace(before, content="a ranking", scales={self.name: self.scale or first})

    def __call__(self, state: State, ctx: Context) -> State:
        first: dict[str, Hit] = {}
        votes: dict[str, tuple[Vote, ...]] = {}
        for ranking in state.rankings:
            for hit in ranking:
                identity = hit.passage.id
                if identity in first:
                    votes[identity] += hit.votes
                else:
                    first[identity], votes[identity] = hit, hit.votes
        # as Ranking.sort with a hit each, not two: a slider makes thousands
        scores, name, text = self.fuse(state.rankings), self.name, state.question.text
        hits = []
        # best first, equals by id: two sorts that keep order, with no pair made for each hit
        for rank, identity in enumerate(sorted(sorted(scores), key=scores.__getitem__, reverse=True), start=1):
            score, found = scores[identity], first[identity]
            scale = self.scale or found.scale
            vote = Vote(name, text, rank, score, scale)
            hits.append(Hit(found.passage, score, scale, (*votes[identity], vote), found.relevance))
        return replace(state, rankings=(Ranking(state.question, tuple(hits)),))

    @abstractmethod
    def fuse(self, rankings: Sequence[Ranking]) -> dict[str, float]:
        """Passage id -> fused score; passages without an entry are dropped."""


class RerankStage(Stage):
    """Rescores each ranking.

    Several are each scored against the query they were retrieved with (RAG-MSR's reranking within each query), a single
    one, after fusion or from one search, against the user's question. So do stages that select by relevance (`Mmr`).
    """

    kind = "rerank"
    scale: ClassVar[str] = RERANKER

    def flow(self, before: Flow) -> Flow:
        return before.rescored(self.scale)

    def __call__(self, state: State, ctx: Context) -> State:
        def rescore(ranking: Ranking) -> Ranking:
            query = state.scoring_query(ranking)
            hits = self.rerank(replace(ranking, query=query), ctx) if ranking.hits else ()
            return Ranking.sort(query, hits, self.name, ranking.retriever)

        return replace(state, rankings=tuple(map(rescore, state.rankings)))

    @abstractmethod
    def rerank(self, ranking: Ranking, ctx: Context) -> Iterable[Hit]:
        """The hits of a non-empty ranking with new scores, without those that could not be scored."""


class SelectStage(Stage):
    """Shortens each ranking, to `most` hits if that is set, and can reorder it; users know `most` as `control`."""

    kind = "select"

    @property
    def most(self) -> int | None:
        return None

    @property
    def control(self) -> str:
        return f"the cut of {self.name}"

    def __call__(self, state: State, ctx: Context) -> State:
        def shorten(ranking: Ranking) -> Ranking:
            kept = self.select(replace(ranking, query=state.scoring_query(ranking)), ctx)
            return replace(ranking, hits=tuple(kept))

        return replace(state, rankings=tuple(map(shorten, state.rankings)))

    @abstractmethod
    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        """The hits to keep, best first."""


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


def warn_if_unread(template: Template, ready: Template, ctx: Context) -> None:
    """Warn that the offline engine ignores a custom prompt text: it reads only the fields."""
    if not template.says_the_same_as(ready) and ctx.services.llms[template.purpose].offline:
        ctx.warn(
            "The offline engine cannot read your prompt {name!r} and used its own rules instead.",
            name=template.name,
        )
