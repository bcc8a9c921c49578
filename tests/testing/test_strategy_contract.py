"""`check_strategy`: every strategy of ours passes, and each broken one fails with a sentence that names its fault."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest
from helpers.looping import for_each
from helpers.small import ROOT

from rag_core import stages
from rag_core.catalog import RECIPES, Choice, Number, Preset, Recipe, Switch
from rag_core.prompts.templates import MULTI_QUERY
from rag_core.runtime.context import Context
from rag_core.stages import Bm25, Dense, Generate, RerankStage, Retrieve, Retriever, Stage, Top
from rag_core.testing import check_stage, check_strategy
from rag_core.values.types import Hit, Query, Ranking, Scale, State

NEEDED = {"Rewrite": (MULTI_QUERY,), "Retrieve": ((Bm25(), Dense()),), "EmbedBy": (("cats",),)}

CALLS = iter(range(10**9))


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
    ran = subprocess.run([sys.executable, "-O", "-c", script], cwd=ROOT, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr


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
