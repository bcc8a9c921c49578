"""Strategies on benchmark sets in BEIR form, to depth 100. Run by `BENCH=all make bench`.

NFCorpus: all-MiniLM-L6-v2 has nDCG@10 0.31594 in the MTEB results store; rank_bm25 has 0.321 in
xhluca/bm25-benchmarks, and our analyser is expected to give at least 0.325; the plain RRF of the two (no MMR,
equal depth) at least 0.349. The first run embeds every document, which takes minutes.
"""

from pathlib import Path

import pytest

from rag_core import evaluation as ev
from rag_core.values.settings import Settings

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
DEPTH = 100
STRATEGIES = {
    "bm25": "bm25",
    "simple_semantic": "simple_semantic",
    "plain_rrf": ("hybrid_rrf", {"mmr": False}),
}
EXPECTED = {
    "nfcorpus": {"simple_semantic": (0.314, 0.318), "bm25": (0.325, 0.345), "plain_rrf": (0.349, 0.37)},
    "medquad_obstetric": {},
}


@pytest.mark.slow  # embeds thousands of documents
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", EXPECTED)
def test_depth_100(name, tmp_path):
    if not (DATA / name).is_dir():
        pytest.skip(f"{DATA / name} is not here")
    settings = Settings(home=Path(".rag/bench"), llm="offline")
    judged = ev.read_judged(str(DATA / name), "test", settings)
    lab = ev.open_judged(str(DATA / name), settings)
    strategies = ev.build_strategies(STRATEGIES, DEPTH)
    manifest = ev.describe_run(judged, strategies, depth=DEPTH, engine=lab.engine, source=name)
    run = ev.RunFolder.create(tmp_path / "run", manifest, judged)
    for _ in ev.evaluate(run, strategies, lab.services):
        pass
    results = ev.conclude(run, ev.choose_metrics(depth=DEPTH))
    print(f"\n{ev.markdown(results)}\n")
    for label, row in results.strategies.items():
        recall = row.metrics["recall@100"].mean
        print(f"{label}: Recall@100 {recall:.4f}, {1000 * row.seconds_per_query:.1f} ms a question")
    print(f"peak memory {results.peak_memory_mb:.0f} MB")
    for label, (low, high) in EXPECTED[name].items():
        assert low <= results.strategies[label].metrics["ndcg@10"].mean <= high, label
