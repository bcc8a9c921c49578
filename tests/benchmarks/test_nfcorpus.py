"""Retrieval quality on NFCorpus (BEIR), against the published figures. Run by `make bench`.

Dense: all-MiniLM-L6-v2 has nDCG@10 0.31594 in the MTEB results store. BM25: rank_bm25 has 0.321 in
xhluca/bm25-benchmarks; our analyser is expected to give at least 0.325.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import pytrec_eval

from rag_core.indexing import CorpusIndex, CorpusStore, read_path
from rag_core.lab import load_engines
from rag_core.settings import Settings
from rag_core.types import Hit

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "nfcorpus"
DEPTH = 100
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=f"{DATA} is not here")

Search = Callable[[str], Sequence[Hit]]


@pytest.fixture(scope="module")
def searches() -> dict[str, Search]:
    settings = Settings(home=Path(".rag/bench"), llm="offline")
    embedder = load_engines(settings).embedder
    store = CorpusStore(settings.home, "nfcorpus", embedder)
    report = store.update(read_path(DATA), lambda what, done, total: print(f"{what} {done}/{total}"))
    print(f"\n{report.passages} passages, {report.embedded} embedded now")
    index = store.open()
    assert isinstance(index, CorpusIndex)
    return {
        "dense": lambda text: index.dense(embedder.embed([text])[0][0], DEPTH),
        "bm25": lambda text: index.lexical(text, DEPTH, 1.5, 0.75),
    }


def judgements() -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    with (DATA / "qrels" / "test.tsv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            judged.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    return judged


@pytest.mark.parametrize(("name", "low", "high"), [("dense", 0.314, 0.318), ("bm25", 0.325, 0.345)])
def test_ndcg_at_10_is_the_published_one(
    searches: dict[str, Search], name: str, low: float, high: float
) -> None:
    judged = judgements()
    lines = (DATA / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    queries = {row["_id"]: row["text"] for row in map(json.loads, lines)}
    started = time.perf_counter()
    run = {
        query: {hit.passage.doc_id: hit.score for hit in searches[name](queries[query])} for query in judged
    }
    seconds = (time.perf_counter() - started) / len(run)
    scores = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut_10", "recall_100"}).evaluate(run)
    ndcg, recall = (
        sum(row[measure] for row in scores.values()) / len(judged)
        for measure in ("ndcg_cut_10", "recall_100")
    )
    print(
        f"\n{name}: nDCG@10 {ndcg:.4f}, Recall@100 {recall:.4f}, {len(run)} queries, {seconds * 1000:.1f} ms each"
    )
    assert low <= ndcg <= high
