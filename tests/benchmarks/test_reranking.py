"""Reranking 50 candidates with the offline scorer: passages just met, and again: goal 15.

Each turn is a process of its own with the lab open. The first reranking also loads what is loaded once; it is noted
by itself. Passages are "cold" when the process has not read them yet.
"""

import json
import os
import subprocess
import sys

from helpers.small import ROOT

from rag_core.lab.opening import open_lab
from rag_core.values.settings import Settings

TURNS, CANDIDATES = 3, 50
MEASURE = f"""
import json, time
from pathlib import Path
from rag_core.documents.benchmark import read_builtin
from rag_core.lab.opening import open_lab

lab = open_lab()
scorer, met, took = lab.engines.scorer, set(), []
for question in [one.text for one in read_builtin(Path("data"), "dev").measured][:40]:
    vector = lab.engines.embedder.embed([question])[0][0]
    scorer.embedder.embed([question])
    hits = [hit for hit in lab.index.dense(vector, 400) if hit.id not in met][:{CANDIDATES}]
    met.update(hit.id for hit in hits)
    if len(hits) < {CANDIDATES}:
        continue
    times = []
    for _ in range(2):
        started, processor = time.perf_counter(), time.process_time()
        scorer.score(question, hits)
        times.append((time.perf_counter() - started, time.process_time() - processor))
    took.append(times)
print(json.dumps(took))
"""


def test_reranking_fifty(results, real_home):
    open_lab(settings=Settings(home=real_home, llm="offline"))
    first: list[float] = []
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(TURNS):
        done = subprocess.run(
            [sys.executable, "-c", MEASURE],
            cwd=ROOT,
            env={**os.environ, "RAG_HOME": str(real_home), "RAG_LLM": "offline"},
            capture_output=True,
            text=True,
            check=True,
        )
        took = json.loads(done.stdout)
        first.append(1000 * took[0][0][0])
        cold += [1000 * times[0][0] for times in took[1:]]
        warm += [1000 * times[1][0] for times in took[1:]]
    results.note("the first reranking of a process", "ms", first)
    results.goal(15, f"reranking {CANDIDATES} candidates just met", "", cold, 60, "ms")
    results.goal(15, f"reranking {CANDIDATES} candidates again", "", warm, 60, "ms")
