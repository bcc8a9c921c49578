"""An evaluation without answers beside the least it can take: goal 11. Indexes NFCorpus once, which takes minutes."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from helpers.results import Results, ratios

from rag_core import evaluation as ev
from rag_core.documents.documents import BUILTIN
from rag_core.evaluation.datasets import corpus_of
from rag_core.indexing import CorpusStore, read_path
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.values.settings import Settings

NFCORPUS = Path(__file__).resolve().parents[3] / "shared" / "data" / "nfcorpus"
WHAT = "evaluation of `simple_semantic` on NFCorpus"
TURNS, DEPTH = 3, 100


@pytest.mark.timeout(3600)
def test_an_evaluation_takes_little_longer_than_encoding_and_search(tmp_path: Path, results: Results) -> None:
    """On the dev questions, since only time is measured."""
    if not NFCORPUS.is_dir():
        results.not_measured(11, WHAT, "../shared/data/nfcorpus is not here")
        pytest.skip("NFCorpus is not here")
    settings = Settings(home=Path(".rag/bench"), llm="offline")
    base = open_lab(BUILTIN, settings=settings)
    corpus = corpus_of(NFCORPUS)
    store = CorpusStore(settings.home, corpus, base.engines.embedder, settings.data / "vectors")
    store.update(read_path(NFCORPUS))
    lab = Lab(settings, corpus, base.engines, store)
    judged = ev.read_judged(str(NFCORPUS), "dev", settings)
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
