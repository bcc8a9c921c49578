"""`check_stage`: every stage of ours passes, and each broken one fails with a sentence that names its fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pytest
from helpers.looping import for_each
from helpers.stage_classes import STAGE_CLASSES

from rag_core import stages
from rag_core.prompts.templates import HYPOTHETICAL, MULTI_QUERY
from rag_core.runtime.context import Context
from rag_core.stages import (
    Bm25,
    Dense,
    Flow,
    FusionStage,
    RerankStage,
    Retrieve,
    Retriever,
    SelectStage,
    Top,
    TransformStage,
)
from rag_core.testing import (
    PASSAGES,
    check_stage,
)
from rag_core.values.errors import ProviderError, RagError
from rag_core.values.types import Hit, Query, Ranking, Scale, State

NEEDED = {"Rewrite": (MULTI_QUERY,), "Retrieve": ((Bm25(), Dense()),), "EmbedBy": (("cats",),)}


@for_each("one", STAGE_CLASSES, ids=lambda one: one.__name__)
def test_every_stage_keeps_the_contract(one: type):
    check_stage(one(*NEEDED.get(one.__name__, ())))


@dataclass
class NotFrozen(SelectStage):
    k: int = 3

    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return ranking.hits[: self.k]


@dataclass(frozen=True)
class WithAList(SelectStage):
    keep: list[int] = field(default_factory=lambda: [0, 1])

    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return [hit for place, hit in enumerate(ranking) if place in self.keep]


@dataclass(frozen=True, eq=False)
class ByIdentity(SelectStage):
    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return ranking.hits[:3]


@dataclass(frozen=True)
class Unseen(SelectStage):
    """Its parameter is no part of its fingerprint."""

    k: int = field(default=3, repr=False)

    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return ranking.hits[: self.k]


@dataclass(frozen=True)
class NotJson(SelectStage):
    limit: float = float("inf")

    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return [hit for hit in ranking if hit.score < self.limit]


@dataclass(frozen=True)
class WrongScale(RerankStage):
    """Says judge scores, gives cosines."""

    scale: ClassVar[str] = "judge"

    def rerank(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return [hit.with_score(0.5, "cosine") for hit in ranking]


@dataclass(frozen=True)
class SaysOne(TransformStage):
    fans_out: ClassVar[bool] = False

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        return (question, replace(question, text="cats"))


@dataclass(frozen=True)
class Same(RerankStage):
    """All scores equal; `__call__` of some heirs is broken."""

    scale: ClassVar[str] = "judge"

    def rerank(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return [hit.with_score(1.0, "judge") for hit in ranking]


@dataclass(frozen=True)
class TiesAsTheyCame(Same):
    def __call__(self, state: State, ctx: Context) -> State:
        after = super().__call__(state, ctx)
        came = [[hit.id for hit in ranking] for ranking in state.rankings]
        return replace(
            after,
            rankings=tuple(
                replace(one, hits=tuple(sorted(one.hits, key=lambda hit: ids.index(hit.id))))
                for one, ids in zip(after.rankings, came, strict=True)
            ),
        )


@dataclass(frozen=True)
class FromZero(Same):
    def __call__(self, state: State, ctx: Context) -> State:
        after = super().__call__(state, ctx)
        return replace(after, rankings=tuple(map(self._lowered, after.rankings)))

    def _lowered(self, ranking: Ranking) -> Ranking:
        hits = [
            replace(hit, votes=(*hit.votes[:-1], replace(hit.votes[-1], rank=hit.votes[-1].rank - 1)))
            for hit in ranking
        ]
        return replace(ranking, hits=tuple(hits))


@dataclass(frozen=True)
class ForgetsVotes(RerankStage):
    scale: ClassVar[str] = "judge"

    def rerank(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return [Hit(hit.passage, 1.0, "judge") for hit in ranking]


@dataclass(frozen=True)
class NoVotes(RerankStage):
    scale: ClassVar[str] = "judge"

    def __call__(self, state: State, ctx: Context) -> State:
        hits = tuple(hit.with_score(1.0, "judge") for hit in state.rankings[0])
        return replace(state, rankings=(replace(state.rankings[0], hits=hits), *state.rankings[1:]))

    def rerank(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return ()


@dataclass(frozen=True)
class NotANumber(RerankStage):
    scale: ClassVar[str] = "judge"

    def rerank(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return [hit.with_score(float("nan"), "judge") for hit in ranking]


@dataclass(frozen=True)
class Mutates(SelectStage):
    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        for hit in ranking:
            object.__setattr__(hit, "score", hit.score / 2)
        return ranking.hits


@dataclass(frozen=True)
class Twice(SelectStage):
    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return ranking.hits[:1] * 2


@dataclass(frozen=True)
class Invents(SelectStage):
    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return [Hit(replace(PASSAGES[0], id="new"), 1.0, hit.scale) for hit in ranking.hits[:1]]


@dataclass(frozen=True)
class NeedsAHit(SelectStage):
    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return ranking.hits[: 1 + (ranking.hits[0].score > 0)]


@dataclass(frozen=True)
class NeedsTwoHits(SelectStage):
    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return ranking.hits[: 1 + (ranking.hits[1].score > 0)] if ranking.hits else ()


CALLS = iter(range(10**9))


@dataclass(frozen=True)
class ByChance(SelectStage):
    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return ranking.hits[: next(CALLS) % 3]


@dataclass(frozen=True)
class NeverStops(TransformStage):
    fans_out: ClassVar[bool] = False

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        try:
            return (replace(question, text=ctx.complete(HYPOTHETICAL.fill(question=question.text))),)
        except RagError as error:
            ctx.warn(error.message)
            return (question,)


@dataclass(frozen=True)
class Silent(TransformStage):
    """A failed call becomes the question, and nobody hears of it."""

    fans_out: ClassVar[bool] = False

    def rewrite(self, question: Query, ctx: Context) -> tuple[Query, ...]:
        try:
            return (replace(question, text=ctx.complete(HYPOTHETICAL.fill(question=question.text))),)
        except ProviderError:
            return (question,)


@dataclass(frozen=True)
class LosesARanking(SelectStage):
    def __call__(self, state: State, ctx: Context) -> State:
        return replace(state, rankings=state.rankings[1:])

    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return ranking.hits


@dataclass(frozen=True)
class TurnsTheQueries(Same):
    def __call__(self, state: State, ctx: Context) -> State:
        return replace(super().__call__(state, ctx), queries=(Query("something else"),))


@dataclass(frozen=True)
class WrongHit(Retriever):
    """Scores on another scale than it says."""

    name: ClassVar[str] = "wrong"
    scale: ClassVar[Scale] = "cosine"

    def search(self, query: Query, ctx: Context) -> Sequence[Hit]:
        return [Hit(PASSAGES[0], 1.0, "bm25")]


@dataclass(frozen=True)
class FirstOnly(FusionStage):
    """Fine: a fusion may leave passages out."""

    def fuse(self, rankings: Sequence[Ranking]) -> dict[str, float]:
        return {hit.id: hit.score for hit in rankings[0]}


@dataclass(frozen=True)
class ChangesTheFlow(Top):
    def flow(self, before: Flow) -> Flow:
        before.scales["mine"] = "cosine"  # type: ignore[index]
        return before


FAULTS: dict[str, tuple[Any, str]] = {
    "not frozen": (NotFrozen(), "is not a frozen dataclass"),
    "a list as parameter": (WithAList(), "has no hash"),
    "equal by identity": (ByIdentity(), "two with equal parameters are not equal"),
    "a parameter outside the fingerprint": (Unseen(), "have one fingerprint"),
    "params that are no JSON": (NotJson(), "params are not JSON"),
    "another scale than its flow": (WrongScale(), "its flow says judge scores, but a hit has a cosine score"),
    "more queries than its flow": (SaysOne(), "its flow says the question, but it leaves 2 queries"),
    "ties in the order they came": (TiesAsTheyCame(), "equal scores by passage id"),
    "ranks from 0": (FromZero(), "counted from 1"),
    "votes forgotten": (ForgetsVotes(), "lost votes"),
    "no votes": (NoVotes(), "ordered by score|must have that rank"),
    "a score that is no number": (NotANumber(), "not a number"),
    "the state changed": (Mutates(), "changed the state it was given"),
    "a passage twice": (Twice(), "a passage twice"),
    "a passage invented": (Invents(), "not given: new"),
    "no hits": (NeedsAHit(), "broke on .* with 0 hits: IndexError"),
    "one hit": (NeedsTwoHits(), "broke on .* with 1 hits: IndexError"),
    "chance": (ByChance(), "another result the second time"),
    "Stopped swallowed": (NeverStops(), "went on after the user had stopped the run"),
    "a failure unnoticed": (Silent(), "neither raised nor warned"),
    "a ranking lost": (LosesARanking(), "one ranking|0 rankings"),
    "the queries changed": (TurnsTheQueries(), "changed the queries"),
    "a retriever's scale": (WrongHit(), "its flow says cosine scores, but a hit has a bm25 score"),
    "its Flow changed": (ChangesTheFlow(), "changed the Flow it was given"),
    "no stage": (Query("cats"), "neither a Stage nor a Retriever"),
}


@for_each(("stage", "sentence"), FAULTS.values(), ids=FAULTS)
def test_a_broken_stage_is_named_with_its_fault(stage: Any, sentence: str):
    with pytest.raises(AssertionError, match=sentence) as found:
        check_stage(stage)
    assert "\n" not in str(found.value)
    assert str(found.value).endswith(".")
    assert type(stage).__name__ in str(found.value) or "Top" in str(found.value)


def test_a_fusion_of_ones_own_passes():
    check_stage(FirstOnly())


def test_a_stage_that_fits_nowhere_asks_for_what_it_needs():
    late = stages.Blend(alpha=0.2)
    with pytest.raises(AssertionError, match="Pass those it needs as `after`"):
        check_stage(late, after=(Retrieve((Bm25(),)),))
    check_stage(late, after=(Retrieve((Bm25(),)), stages.LlmRerank()))
