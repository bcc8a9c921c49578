"""NFCorpus: an evaluation without answers beside the least it can take, and retrieval alone: goal 11.

Indexes it once, sentences included, which takes minutes. On the dev questions, since only time is measured.
"""

import time
from pathlib import Path

import numpy as np
import pytest
from helpers.results import Results, ratios

from rag_core import evaluation as ev
from rag_core.catalog import RECIPES
from rag_core.documents.documents import BUILTIN
from rag_core.evaluation.datasets import corpus_of
from rag_core.indexing import CorpusStore, read_path
from rag_core.lab.lab import Lab
from rag_core.lab.opening import embed_sentences, open_lab
from rag_core.values.settings import Settings

NFCORPUS = Path(__file__).resolve().parents[3] / "shared" / "data" / "nfcorpus"
WHAT = "evaluation of `simple_semantic` on NFCorpus"
TURNS, DEPTH = 3, 100
QUESTIONS, WARMING = 40, 5
MOST_MS = {"simple_semantic": 8, "ensemble": 70}  # retrieval of a question


@pytest.fixture(scope="module")
def lab(results: Results) -> Lab:
    """A lab on NFCorpus, in .rag/bench."""
    if not NFCORPUS.is_dir():
        for what in (WHAT, *map(retrieval_of, MOST_MS)):
            results.not_measured(11, what, "../shared/data/nfcorpus is not here")
        pytest.skip("NFCorpus is not here")
    settings = Settings(home=Path(".rag/bench"), llm="offline")
    engines = open_lab(BUILTIN, settings=settings).engines
    corpus = corpus_of(NFCORPUS)
    store = CorpusStore(settings.home, corpus, engines.embedder, settings.data / "vectors")
    store.update(read_path(NFCORPUS))
    return Lab(settings, corpus, engines, store)


def retrieval_of(strategy: str) -> str:
    return f"retrieval of `{strategy}` on NFCorpus"


@pytest.mark.timeout(3600)
def test_an_evaluation_takes_little_longer_than_encoding_and_search(lab, tmp_path, results):
    judged = ev.read_judged(str(NFCORPUS), "dev", lab.settings)
    questions = [question.text for question in judged.measured]
    held = lab.index.vectors(list(lab.index.passages))
    strategies = ev.build_strategies({"dense": "simple_semantic"}, DEPTH)
    whole, least = [], []
    for turn in range(TURNS):
        manifest = ev.describe_run(judged, strategies, depth=DEPTH, engine=lab.engine, source=str(NFCORPUS))
        run = ev.RunFolder.create(tmp_path / f"run-{turn}", manifest, judged)
        started = time.perf_counter()
        for _ in ev.evaluate(run, strategies, lab.services):
            pass
        ev.conclude(run, ev.choose_metrics(depth=DEPTH))
        whole.append(time.perf_counter() - started)
        started = time.perf_counter()
        vectors, _ = lab.engines.embedder.embed(questions, "passage", ["en"] * len(questions))
        np.argpartition(-(vectors @ held.T), DEPTH, axis=1)[:, :DEPTH]
        least.append(time.perf_counter() - started)
    results.note(f"{WHAT}, {len(questions)} questions", "s", whole)
    results.note("encoding the questions in one batch, and exact search", "s", least)
    results.goal(11, WHAT, "encoding the questions in one batch, and exact search", ratios(whole, least), 3)


@pytest.mark.timeout(3600)
def test_retrieval(lab, results):
    embed_sentences(lab.index, lab.engines, lambda *_: None)
    questions = ev.read_judged(str(NFCORPUS), "dev", lab.settings).measured[: WARMING + QUESTIONS]
    for name, most in MOST_MS.items():
        retrieval, services, took = RECIPES[name].build().without_answer(), lab.services(), []
        for question in questions:
            started = time.perf_counter()
            retrieval.run(question.text, services)
            took.append(1000 * (time.perf_counter() - started))
        results.goal(11, retrieval_of(name), "", took[WARMING:], most, "ms")
