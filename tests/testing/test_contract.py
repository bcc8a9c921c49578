"""`check_stage`: every stage of ours passes, and each broken one fails with a sentence that names its fault."""

from collections.abc import Callable, Sequence
from dataclasses import field, make_dataclass, replace
from typing import Any

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
from rag_core.testing import PASSAGES, check_stage
from rag_core.values.errors import ProviderError, RagError
from rag_core.values.types import Hit, Query, Ranking, State

NEEDED = {"Rewrite": (MULTI_QUERY,), "Retrieve": ((Bm25(), Dense()),), "EmbedBy": (("cats",),)}


@for_each("one", STAGE_CLASSES, ids=lambda one: one.__name__)
def test_every_stage_keeps_the_contract(one):
    check_stage(one(*NEEDED.get(one.__name__, ())))


def made(
    name: str, base: type, /, *fields: Any, frozen: bool = True, eq: bool = True, **namespace: Any
) -> Any:
    """An instance of a dataclass of this name with these fields, methods and class attributes."""
    return make_dataclass(name, fields, bases=(base,), namespace=namespace, frozen=frozen, eq=eq)()


def selecting(name: str, select: Callable[..., Any], *fields: Any, **more: Any) -> Any:
    """A selection; `select` takes the stage and the ranking."""
    return made(name, SelectStage, *fields, select=lambda self, ranking, ctx: select(self, ranking), **more)


def reranking(name: str, rerank: Callable[[Ranking], Any] = lambda ranking: (), **more: Any) -> Any:
    """A reranking that says judge scores."""
    return made(name, RerankStage, scale="judge", rerank=lambda self, ranking, ctx: rerank(ranking), **more)


def first(stage: Any, ranking: Ranking) -> Any:
    return ranking.hits[: getattr(stage, "k", 3)]


def all_equal(ranking: Ranking) -> list[Hit]:
    return [hit.with_score(1.0, "judge") for hit in ranking]


def equal_and_then(name: str, change: Callable[[State, State], State]) -> Any:
    """All scores equal, and the state before and after changed into another."""
    return reranking(
        name,
        all_equal,
        __call__=lambda self, state, ctx: change(state, RerankStage.__call__(self, state, ctx)),
    )


def as_they_came(before: State, after: State) -> State:
    came = [[hit.id for hit in ranking] for ranking in before.rankings]
    ordered = (
        replace(one, hits=tuple(sorted(one.hits, key=lambda hit: ids.index(hit.id))))
        for one, ids in zip(after.rankings, came, strict=True)
    )
    return replace(after, rankings=tuple(ordered))


def counted_from_0(before: State, after: State) -> State:
    def lowered(hit: Hit) -> Hit:
        return replace(hit, votes=(*hit.votes[:-1], replace(hit.votes[-1], rank=hit.votes[-1].rank - 1)))

    return replace(
        after, rankings=tuple(replace(one, hits=tuple(map(lowered, one))) for one in after.rankings)
    )


def without_votes(self: Any, state: State, ctx: Context) -> State:
    hits = tuple(all_equal(state.rankings[0]))
    return replace(state, rankings=(replace(state.rankings[0], hits=hits), *state.rankings[1:]))


def halve_all(self: Any, ranking: Ranking) -> Sequence[Hit]:
    for hit in ranking:
        object.__setattr__(hit, "score", hit.score / 2)
    return ranking.hits


def going_on_after(kind: type[Exception], warning: bool) -> Callable[..., Any]:
    """A rewrite that takes the question where its call fails."""

    def rewrite(self: Any, question: Query, ctx: Context) -> tuple[Query, ...]:
        try:
            return (replace(question, text=ctx.complete(HYPOTHETICAL.fill(question=question.text))),)
        except kind as error:
            if warning:
                ctx.warn(str(error))
            return (question,)

    return rewrite


def change_flow(self: Any, before: Flow) -> Flow:
    before.scales["mine"] = "cosine"  # type: ignore[index]
    return before


CALLS = iter(range(10**9))

FAULTS: dict[str, tuple[Any, str]] = {
    "not frozen": (selecting("NotFrozen", first, ("k", int, 3), frozen=False), "is not a frozen dataclass"),
    "a list as parameter": (
        selecting("WithAList", first, ("keep", list, field(default_factory=lambda: [0, 1]))),
        "has no hash",
    ),
    "equal by identity": (
        selecting("ByIdentity", first, eq=False),
        "two with equal parameters are not equal",
    ),
    "a parameter outside the fingerprint": (
        selecting("Unseen", first, ("k", int, field(default=3, repr=False))),
        "have one fingerprint",
    ),
    "params that are no JSON": (
        selecting("NotJson", first, ("limit", float, float("inf"))),
        "params are not JSON",
    ),
    "another scale than its flow": (
        reranking("WrongScale", lambda ranking: [hit.with_score(0.5, "cosine") for hit in ranking]),
        "its flow says judge scores, but a hit has a cosine score",
    ),
    "more queries than its flow": (
        made("SaysOne", TransformStage, fans_out=False, rewrite=lambda self, question, ctx: (question, replace(question, text="cats"))),
        "its flow says the question, but it leaves 2 queries",
    ),
    "ties in the order they came": (equal_and_then("TiesAsTheyCame", as_they_came), "equal scores by passage id"),
    "ranks from 0": (equal_and_then("FromZero", counted_from_0), "counted from 1"),
    "votes forgotten": (
        reranking("ForgetsVotes", lambda ranking: [Hit(hit.passage, 1.0, "judge") for hit in ranking]),
        "lost votes",
    ),
    "no votes": (reranking("NoVotes", __call__=without_votes), "ordered by score|must have that rank"),
    "a score that is no number": (
        reranking("NotANumber", lambda ranking: [hit.with_score(float("nan"), "judge") for hit in ranking]),
        "not a number",
    ),
    "the state changed": (selecting("Mutates", halve_all), "changed the state it was given"),
    "a passage twice": (selecting("Twice", lambda self, ranking: ranking.hits[:1] * 2), "a passage twice"),
    "a passage invented": (
        selecting("Invents", lambda self, ranking: [Hit(replace(PASSAGES[0], id="new"), 1.0, hit.scale) for hit in ranking.hits[:1]]),
        "not given: new",
    ),
    "no hits": (
        selecting("NeedsAHit", lambda self, ranking: ranking.hits[: 1 + (ranking.hits[0].score > 0)]),
        "broke on .* with 0 hits: IndexError",
    ),
    "one hit": (
        selecting("NeedsTwoHits", lambda self, ranking: ranking.hits[: 1 + (ranking.hits[1].score > 0)] if ranking.hits else ()),
        "broke on .* with 1 hits: IndexError",
    ),
    "chance": (
        selecting("ByChance", lambda self, ranking: ranking.hits[: next(CALLS) % 3]),
        "another result the second time",
    ),
    "Stopped swallowed": (
        made("NeverStops", TransformStage, fans_out=False, rewrite=going_on_after(RagError, warning=True)),
        "went on after the user had stopped the run",
    ),
    "a failure unnoticed": (
        made("Silent", TransformStage, fans_out=False, rewrite=going_on_after(ProviderError, warning=False)),
        "neither raised nor warned",
    ),
    "a ranking lost": (
        selecting("LosesARanking", first, __call__=lambda self, state, ctx: replace(state, rankings=state.rankings[1:])),
        "one ranking|0 rankings",
    ),
    "the queries changed": (
        equal_and_then("TurnsTheQueries", lambda before, after: replace(after, queries=(Query("something else"),))),
        "changed the queries",
    ),
    "a retriever's scale": (
        made("WrongHit", Retriever, name="wrong", scale="cosine", search=lambda self, query, ctx: [Hit(PASSAGES[0], 1.0, "bm25")]),
        "its flow says cosine scores, but a hit has a bm25 score",
    ),
    "its Flow changed": (made("ChangesTheFlow", Top, flow=change_flow), "changed the Flow it was given"),
    "no stage": (Query("cats"), "neither a Stage nor a Retriever"),
}  # fmt: skip


@for_each(("stage", "sentence"), FAULTS.values(), ids=FAULTS)
def test_a_broken_stage_is_named_with_its_fault(stage, sentence):
    with pytest.raises(AssertionError, match=sentence) as found:
        check_stage(stage)
    assert "\n" not in str(found.value)
    assert str(found.value).endswith(".")
    assert type(stage).__name__ in str(found.value) or "Top" in str(found.value)


def test_a_fusion_of_ones_own_that_leaves_passages_out_passes():
    check_stage(
        made("FirstOnly", FusionStage, fuse=lambda self, rankings: {hit.id: hit.score for hit in rankings[0]})
    )


def test_a_stage_that_fits_nowhere_asks_for_what_it_needs():
    late = stages.Blend(alpha=0.2)
    with pytest.raises(AssertionError, match="Pass those it needs as `after`"):
        check_stage(late, after=(Retrieve((Bm25(),)),))
    check_stage(late, after=(Retrieve((Bm25(),)), stages.LlmRerank()))
