"""The contract tests themselves: every stage and strategy of ours passes them, and broken ones do not."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pytest
from helpers.small import ROOT
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
from rag_core.testing import (
    PASSAGES,
    BagOfWords,
    MemoryIndex,
    ScriptedLlm,
    WordOverlap,
    check_stage,
    check_strategy,
    sample_context,
    sample_services,
)
from rag_core.values.errors import ProviderError, RagError
from rag_core.values.types import Hit, Query, Ranking, Scale, State

NEEDED = {"Rewrite": (MULTI_QUERY,), "Retrieve": ((Bm25(), Dense()),), "EmbedBy": (("cats",),)}


@pytest.mark.parametrize("one", STAGE_CLASSES, ids=lambda one: one.__name__)
def test_every_stage_keeps_the_contract(one: type):
    check_stage(one(*NEEDED.get(one.__name__, ())))


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_every_strategy_keeps_the_contract(recipe: Recipe):
    check_strategy(recipe)


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_every_stage_of_every_preset_keeps_the_contract(recipe: Recipe):
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
    ran = subprocess.run([sys.executable, "-O", "-c", script], cwd=ROOT, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr


# --- broken stages


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


@pytest.mark.parametrize(("stage", "sentence"), FAULTS.values(), ids=FAULTS)
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


# --- broken strategies

K = Number("k_final", 3, "Passages.", min=1, max=9, step=1, whole=True)
GOOD = Recipe(
    "mine", "Mine", "Keyword search.", "This test.", (K,),
    lambda c: (Retrieve((Bm25(k=c["k_final"]),)), Generate()),
    "Anything.", "Nothing.", {"answer": 1}, (Preset("short", {"k_final": 1}, "One passage."),),
)  # fmt: skip


def strategy(**changes: Any) -> Recipe:
    return replace(GOOD, **changes)


def later(c: Any) -> tuple[Stage, ...]:
    return (Retrieve((Bm25(k=c["k_final"]),)), TiesAsTheyCame(), Generate())


def counted(c: Any) -> tuple[Stage, ...]:
    return (Retrieve((Bm25(k=next(CALLS) % 50 + 1),)), Generate())


def calling(c: Any) -> tuple[Stage, ...]:
    return (stages.Hyde(), Retrieve((Dense(k=c["k_final"]),)), Generate())


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


@pytest.mark.parametrize(("recipe", "sentence"), WRONG.values(), ids=WRONG)
def test_a_broken_strategy_is_named_with_its_fault(recipe: Recipe, sentence: str):
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


# --- the small collection


def test_the_collection_is_a_dozen_passages_two_of_them_alike():
    assert len(PASSAGES) == len({one.id for one in PASSAGES}) == 12
    index, embedder = MemoryIndex(), BagOfWords()
    (vector,), _ = embedder.embed(("Horses sleep",))
    first, second, *_ = index.dense(vector, 12)
    assert (first.id, second.id, first.score) == ("p11", "p12", second.score)
    assert [hit.id for hit in index.lexical("stable", 5, 1.5, 0.75)] == ["p11", "p12"]
    assert index.lexical("xylophone", 5, 1.5, 0.75) == []
    assert np.allclose(np.linalg.norm(index.vectors(list(index.passages)), axis=1), 1)
    with pytest.raises(KeyError):
        index.vectors(["elsewhere"])
    assert MemoryIndex(()).dense(vector, 3) == MemoryIndex(()).lexical("cats", 3, 1.5, 0.75) == []


def test_the_scripted_model_replies_by_rule_or_as_it_was_set():
    services = sample_services()
    ctx = sample_context(services)
    (hit, *_) = services.index.lexical("cats purr", 1, 1.5, 0.75)
    trace = GOOD.build().run("Do cats purr?", services)
    assert trace.answer
    assert trace.answer.text.endswith("[1].")
    assert ctx.rerank("cats purr", [hit])[0] == [2.0]
    set_to = ScriptedLlm({"hypothetical": "Cats purr.", "*": ProviderError("No.", "Wait.")})
    context = sample_context(sample_services(llm=set_to))
    assert context.complete(HYPOTHETICAL.fill(question="q")) == "Cats purr."
    with pytest.raises(ProviderError):
        context.complete(MULTI_QUERY[0].fill(question="q"))
    assert [prompt.template.name for prompt in set_to.prompts] == ["hypothetical", MULTI_QUERY[0].name]


def test_the_scripted_model_stops():
    stop = threading.Event()
    replies = ScriptedLlm({"*": "one two three"}).stream(HYPOTHETICAL.fill(question="q"), stop.is_set)
    assert next(replies) == "one"
    stop.set()
    (bill,) = replies
    assert bill.output_tokens == 1
    assert WordOverlap().scale == "cross_encoder"
