"""A thousand settings on every built-in dev question: how long, and are they the scores of each alone?

Run by `make bench`. The issue of speed is a ratio: the same settings one by one, from scratch, on a sample.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence

import pytest

from rag_core import evaluation as ev
from rag_core.catalog import RECIPES, Number
from rag_core.evaluation.sweep import sweep
from rag_core.lab.opening import open_lab

HYBRID = RECIPES["hybrid_rrf"]
GRID = {
    "rrf_k": range(1, 101, 11),
    "mmr_lambda": [i / 10 for i in range(10)],
    "k_rrf_pool": range(10, 101, 10),
}
EVERY = {
    control.name: ev.axis_values(control, control.min, min(control.max, 30))
    for control in HYBRID.controls
    if isinstance(control, Number)
} | {"mmr": (True, False)}


@pytest.mark.parametrize(
    ("name", "settings"), [("a grid", ev.grid(GRID)), ("every control at random", ev.sample(EVERY, 1000))]
)
def test_a_thousand_settings(name: str, settings: Sequence[Mapping[str, object]]) -> None:
    lab = open_lab()
    judged = ev.read_judged("builtin", "dev", lab.settings)
    metric = ev.parse_metric("ndcg@10")
    built = list(ev.settings_of(HYBRID, {}, settings))
    started = time.perf_counter()
    swept = sweep(judged, built, metric, lab.services)
    seconds = time.perf_counter() - started
    chosen = random.Random(0).sample(range(len(built)), 20)
    started = time.perf_counter()
    for row in chosen:
        for column, question in enumerate(judged.measured):
            ranking = built[row].run(question.text, lab.services()).ranking
            ranked = list(dict.fromkeys(hit.passage.doc_id for hit in ranking))
            assert metric(ranked, judged.qrels[question.id]) == swept.scores[row, column]
    alone = (time.perf_counter() - started) / len(chosen) * len(built)
    print(
        f"\n{name}: {len(built)} settings on {len(judged.measured)} questions in {seconds:.1f} s, "
        f"{alone / seconds:.0f} times faster than one by one; 20 of them run from scratch gave the same scores"
    )
