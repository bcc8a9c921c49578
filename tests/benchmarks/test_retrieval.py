"""Retrieval of hybrid_rrf, warm, beside the embedding of its question alone: goal 4."""

import time
from pathlib import Path

from helpers.results import ratios

from rag_core.catalog import RECIPES
from rag_core.documents.benchmark import read_builtin
from rag_core.lab.opening import open_lab
from rag_core.values.settings import Settings

DATA = Path(__file__).resolve().parents[2] / "data"
QUESTIONS, WARMING = 120, 5


def test_retrieval_takes_little_longer_than_embedding(results, real_home):
    lab = open_lab(settings=Settings(home=real_home, llm="offline"))
    retrieval = RECIPES["hybrid_rrf"].build().without_answer()
    services, embedder = lab.services(), lab.engines.embedder
    whole, alone = [], []
    for question in [one.text for one in read_builtin(DATA, "dev").measured][: QUESTIONS + WARMING]:
        started = time.perf_counter()
        embedder.embed([question])
        alone.append(time.perf_counter() - started)
        started = time.perf_counter()
        retrieval.run(question, services)
        whole.append(time.perf_counter() - started)
    whole, alone = whole[WARMING:], alone[WARMING:]
    results.note("embedding a question", "ms", [1000 * one for one in alone])
    results.note("retrieval of hybrid_rrf", "ms", [1000 * one for one in whole])
    results.goal(4, "retrieval of `hybrid_rrf`", "embedding its question", ratios(whole, alone), 1.5)
