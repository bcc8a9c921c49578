"""A thousand settings on every built-in dev question: how long, and are they the scores of each alone? Goal 9.

Run by `make bench`. The issue of speed is a ratio: the same settings one by one, from scratch, on a sample.
"""

import random
import time

import pytest

from rag_core import evaluation as ev
from rag_core.catalog import RECIPES, Number
from rag_core.evaluation.sweep import sweep
from rag_core.lab.opening import open_lab

SAMPLED = 20  # settings run from scratch
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
def test_a_thousand_settings(name, settings, results):
    lab = open_lab()
    judged = ev.read_judged("builtin", "dev", lab.settings)
    metric = ev.parse_metric("ndcg@10")
    built = list(ev.settings_of(HYBRID, {}, settings))
    started = time.perf_counter()
    swept = sweep(judged, built, metric, lab.services)
    seconds = time.perf_counter() - started
    chosen = random.Random(0).sample(range(len(built)), SAMPLED)
    alone = []  # of every setting, by the time of one
    for row in chosen:
        started = time.perf_counter()
        for column, question in enumerate(judged.measured):
            ranking = built[row].run(question.text, lab.services()).ranking
            ranked = list(dict.fromkeys(hit.passage.doc_id for hit in ranking))
            assert metric(ranked, judged.qrels[question.id]) == swept.scores[row, column]
        alone.append((time.perf_counter() - started) * len(built))
    results.note(f"sweep of {len(built)} settings on {len(judged.measured)} questions: {name}", "s", [seconds])
    against = f"the runs one by one, from {len(chosen)}: times faster"
    results.goal(9, f"sweep of {len(built)} settings, {name}", against, [one / seconds for one in alone], 200, at_least=True)  # fmt: skip
