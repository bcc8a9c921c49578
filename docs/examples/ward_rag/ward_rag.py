"""A strategy of one's own, in a package that registers it: `pip install docs/examples/ward_rag`."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag_core.catalog import Number, Recipe
from rag_core.runtime.context import Context
from rag_core.stages import Bm25, Generate, Retrieve, SelectStage
from rag_core.values.types import Hit, Ranking


@dataclass(frozen=True)
class EveryOther(SelectStage):
    """A stage is a frozen dataclass with one method; this one keeps every nth passage."""

    n: int = 2

    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return ranking.hits[:: self.n]


SKIP = Number("skip", 2, "Keep one passage out of this many.", min=1, max=5, step=1, whole=True)
STRATEGY = Recipe(
    "ward_skip",
    "Ward skip",
    "BM25, keeping every other passage.",
    "Our ward.",
    (SKIP,),
    lambda c: (Retrieve((Bm25(k=6),)), EveryOther(c["skip"]), Generate()),
    helps="Variety.",
    hurts="Precision.",
    calls={"answer": 1},
)
