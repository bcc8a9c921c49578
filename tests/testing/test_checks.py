"""`check_stage` and `check_strategy`: ours pass, and each broken one fails with a sentence that names its fault."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, make_dataclass, replace
from typing import Any, ClassVar

import pytest
from helpers.looping import for_each
from helpers.small import python
from helpers.stage_classes import STAGE_CLASSES

from rag_core import stages
from rag_core.catalog import RECIPES, Choice, Number, Preset, Recipe, Switch
from rag_core.prompts.templates import HYPOTHETICAL, MULTI_QUERY
from rag_core.runtime.context import Context
from rag_core.stages import (
    Bm25,
    Dense,
    Flow,
    FusionStage,
    Generate,
    RerankStage,
    Retrieve,
    Retriever,
    SelectStage,
    Stage,
    Top,
    TransformStage,
)
from rag_core.testing import PASSAGES, check_stage, check_strategy
from rag_core.values.errors import ProviderError, RagError
from rag_core.values.types import Hit, Query, Ranking, Scale, State

NEEDED = {"Rewrite": (MULTI_QUERY,), "Retrieve": ((Bm25(), Dense()),), "EmbedBy": (("cats",),)}


@for_each("one", STAGE_CLASSES, ids=lambda one: one.__name__)
def test_every_stage_keeps_the_contract(one):
    check_stage(one(*NEEDED.get(one.__name__, ())))


def made(name: str, base: type, /, *fields: Any, frozen: bool = True, eq: bool = True, **namespace: Any) -> Any:
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

    return replace(after, rankings=tuple(replace(one, hits=tuple(map(lowered, one))) for one in after.rankings))


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
    check_stage(made("FirstOnly", FusionStage, fuse=lambda self, rankings: {hit.id: hit.score for hit in rankings[0]}))


def test_a_stage_that_fits_nowhere_asks_for_what_it_needs():
    late = stages.Blend(alpha=0.2)
    with pytest.raises(AssertionError, match="Pass those it needs as `after`"):
        check_stage(late, after=(Retrieve((Bm25(),)),))
    check_stage(late, after=(Retrieve((Bm25(),)), stages.LlmRerank()))


@dataclass(frozen=True)
class Reversed(RerankStage):
    """A broken stage: worst first."""

    scale: ClassVar[str] = "bm25"

    def __call__(self, state: State, ctx: Context) -> State:
        turned = tuple(replace(one, hits=one.hits[::-1]) for one in state.rankings)
        return replace(state, rankings=turned)

    def rerank(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return ()


@for_each("recipe", RECIPES.values(), ids=RECIPES)
def test_every_strategy_keeps_the_contract(recipe):
    check_strategy(recipe)


@for_each("recipe", RECIPES.values(), ids=RECIPES)
def test_every_stage_of_every_preset_keeps_the_contract(recipe):
    for preset in recipe.presets:
        built = recipe.build(**preset.values).stages
        for place, stage in enumerate(built):
            check_stage(stage, after=built[:place])


def test_it_needs_no_test_framework_and_no_application():
    script = (
        "import sys; sys.modules['pytest'] = sys.modules['streamlit'] = None\n"
        "from rag_core import RECIPES\nfrom rag_core.testing import check_strategy\n"
        "check_strategy(RECIPES['hybrid_rrf'])\n"
    )
    ran = python("-O", "-c", script)
    assert ran.code == 0, ran.err


K = Number("k_final", 3, "Passages.", min=1, max=9, step=1, whole=True)
GOOD = Recipe(
    "mine", "Mine", "Keyword search.", "This test.", (K,),
    lambda c: (Retrieve((Bm25(k=c["k_final"]),)), Generate()),
    "Anything.", "Nothing.", {"answer": 1}, (Preset("short", {"k_final": 1}, "One passage."),),
)  # fmt: skip


def strategy(**changes: Any) -> Recipe:
    return replace(GOOD, **changes)


def later(c: Any) -> tuple[Stage, ...]:
    return (Retrieve((Bm25(k=c["k_final"]),)), Reversed(), Generate())


def counted(c: Any) -> tuple[Stage, ...]:
    return (Retrieve((Bm25(k=next(CALLS) % 50 + 1),)), Generate())


def calling(c: Any) -> tuple[Stage, ...]:
    return (stages.Hyde(), Retrieve((Dense(k=c["k_final"]),)), Generate())


class Unbounded(Number):
    """A broken control: it takes every number."""

    def parse(self, value: object) -> int:
        return int(str(value))


ON = Switch("on", False, "On or off.")
WRONG: dict[str, tuple[Recipe, str]] = {
    "no summary": (strategy(summary=""), "its summary must be one line"),
    "help on two lines": (strategy(controls=(replace(K, help="a\nb"),)), "its help of k_final must be one line"),
    "two controls of one name": (strategy(controls=(K, K)), "have one name"),
    "it does not build": (strategy(stages=lambda c: (Generate(),)), "does not build with its defaults"),
    "no answer": (strategy(stages=lambda c: (Retrieve((Bm25(k=c["k_final"]),)),)), "must end with an answer"),
    "another each time": (strategy(stages=counted), "another fingerprint each time"),
    "a broken stage": (strategy(stages=later), "equal scores by passage id"),
    "calls not declared": (strategy(stages=calling), "declares 0 calls for 'rewrite' but made 1"),
    "a control without use": (strategy(controls=(K, ON)), "mine.on changes no fingerprint"),
    "a control that acts though idle": (
        strategy(controls=(ON, replace(K, needs=(("on", (True,)),)))),
        "mine.on changes no fingerprint|mine.k_final acts although on is false",
    ),
    "it needs what is not there": (strategy(controls=(replace(K, needs=(("gone", (1,)),)),)), "needs 'gone'"),
    "a default out of bounds": (strategy(controls=(replace(K, default=10),)), "does not build with its defaults"),
    "a bound that cannot be reached": (
        strategy(controls=(replace(K, min=0),), stages=lambda c: (Retrieve((Bm25(k=6 // c["k_final"]),)), Generate())),
        "does not build with k_final=0",
    ),
    "a range that is not checked": (
        strategy(controls=(Unbounded("k_final", 3, "Passages.", min=2, max=9, step=1, whole=True),)),
        "mine.k_final takes 1, which is out of its bounds",
    ),
    "a choice that changes nothing": (
        strategy(
            controls=(K, Choice("way", "left", "Which way.", choices=("left", "right"))),
            stages=lambda c: (
                Retrieve((Bm25(k=c["k_final"]),)),
                Top(99 + (c["way"] == "right")),
                Generate(),
            ),
        ),
        "mine.way changes nothing in any result",
    ),
    "a preset of another strategy": (
        strategy(presets=(Preset("far", {"rrf_k": 1}, "Far."),)),
        "preset 'far' sets a control that is not there",
    ),
}  # fmt: skip


def test_the_strategy_that_is_broken_below_is_fine():
    check_strategy(GOOD)


@for_each(("recipe", "sentence"), WRONG.values(), ids=WRONG)
def test_a_broken_strategy_is_named_with_its_fault(recipe, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_strategy(recipe)


def test_a_strategy_that_goes_online_is_refused():
    import socket

    def dial(c: Any) -> tuple[Stage, ...]:
        return (Retrieve((Online(c["k_final"]),)), Generate())

    @dataclass(frozen=True)
    class Online(Retriever):
        k: int
        name: ClassVar[str] = "online"
        scale: ClassVar[Scale] = "external"

        def search(self, query: Query, ctx: Context) -> Sequence[Hit]:
            with socket.socket(socket.AF_INET) as line:
                line.connect(("127.0.0.1", 9))
            return ()

    connect = socket.socket.connect
    with pytest.raises(AssertionError, match="opened a network connection"):
        check_strategy(strategy(stages=dial))
    assert socket.socket.connect is connect
