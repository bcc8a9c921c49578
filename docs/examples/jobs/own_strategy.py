"""A strategy of one's own, from the stages there are; docs/examples/ward_rag is one with a stage of its own, as a package."""

import rag_core
from rag_core.catalog import Recipe, count
from rag_core.stages import Bm25, Dense, Generate, ReciprocalRankFusion, Retrieve, Top
from rag_core.testing import check_strategy

BOTH = Recipe(
    "both",
    "Both",
    "Words and vectors.",
    "Ours.",
    (count("k_final", 5, "Passages used."),),
    lambda c: (Retrieve((Bm25(k=15), Dense(k=15))), ReciprocalRankFusion(), Top(c["k_final"]), Generate()),
    helps="Either kind of question.",
    hurts="Time.",
    calls={"answer": 1},
)
check_strategy(BOTH)
rag_core.register(BOTH)
print(rag_core.open_lab().run("When is anti-D given?", "both", k_final=3))
