"""Strategies on the judged questions, test split, by kind of question. Run by `BENCH=all make bench`.

nDCG@10 and Recall@20 of documents (a document's score is its best passage's), graded, by pytrec_eval;
BM25 and dense to depth 100, hybrid their RRF. Questions outside the collection have no relevant
document and are left out.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval

from rag_core.documents.benchmark import KINDS, read_builtin
from rag_core.lab.opening import open_lab
from rag_core.stages import ReciprocalRankFusion
from rag_core.values.types import Hit, Query, Ranking

DATA = Path(__file__).resolve().parents[2] / "data"
DEPTH, REPEATS = 100, 10_000
MEASURES = ("ndcg_cut_10", "recall_20")


def by_document(hits: Sequence[tuple[str, float]]) -> dict[str, float]:
    best: dict[str, float] = {}
    for document, score in hits:
        best[document] = max(score, best.get(document, score))
    return best


@pytest.mark.slow  # no timing, and on the test split
def test_kinds_of_questions_separate_the_strategies():
    lab = open_lab()
    index, embedder = lab.index, lab.engines.embedder
    held = read_builtin(DATA, "test")
    questions = {question.id: question for question in held.measured}
    judged = {identity: dict(held.qrels[identity]) for identity in questions}

    runs: dict[str, dict[str, dict[str, float]]] = {"bm25": {}, "simple_semantic": {}, "hybrid_rrf": {}}
    for identity in judged:
        text = questions[identity].text
        query = Query(text)
        dense = Ranking.sort(query, index.dense(embedder.embed([text])[0][0], DEPTH), "Dense")
        lexical = Ranking.sort(query, index.lexical(text, DEPTH, 1.5, 0.75), "Bm25")

        def documents(ranking: Ranking) -> dict[str, float]:
            return by_document([(hit.passage.doc_id, hit.score) for hit in ranking])

        hits: dict[str, Hit] = {hit.id: hit for ranking in (dense, lexical) for hit in ranking}
        fused = ReciprocalRankFusion().fuse([lexical, dense])
        runs["bm25"][identity] = documents(lexical)
        runs["simple_semantic"][identity] = documents(dense)
        runs["hybrid_rrf"][identity] = by_document(
            [(hits[name].passage.doc_id, score) for name, score in fused.items()]
        )
    evaluator = pytrec_eval.RelevanceEvaluator(judged, set(MEASURES))
    scores = {name: evaluator.evaluate(run) for name, run in runs.items()}

    def mean(name: str, measure: str, chosen: Sequence[str]) -> float:
        return float(np.mean([scores[name].get(q, {}).get(measure, 0.0) for q in chosen]))

    groups = {kind: [q for q in judged if questions[q].kind == kind] for kind in KINDS}
    groups |= {code: [q for q in judged if questions[q].language == code] for code in ("en", "es")}
    groups["all"] = list(judged)
    print(f"\n{'':<16}{'n':>4}  " + "  ".join(f"{name:>22}" for name in runs))
    for name, chosen in groups.items():
        if chosen:
            cells = [" / ".join(f"{mean(run, measure, chosen):.3f}" for measure in MEASURES) for run in runs]
            print(f"{name:<16}{len(chosen):>4}  " + "  ".join(f"{cell:>22}" for cell in cells))

    generator = np.random.default_rng(0)
    for measure in MEASURES:
        for other in ("bm25", "simple_semantic"):
            gaps = np.array(
                [
                    scores["hybrid_rrf"][q][measure] - scores[other].get(q, {}).get(measure, 0.0)
                    for q in judged
                ]
            )
            draws = generator.choice(gaps, (REPEATS, len(gaps))).mean(axis=1)
            low, high = np.quantile(draws, [0.025, 0.975])
            print(
                f"{measure}: hybrid_rrf - {other} {gaps.mean():+.3f}, 95 % interval {low:+.3f} to {high:+.3f}"
            )
    ndcg, recall = MEASURES
    for kind in ("lay", "misspelt"):
        assert mean("simple_semantic", ndcg, groups[kind]) > mean("bm25", ndcg, groups[kind])
    for kind in ("keywords", "number_negation"):
        assert mean("bm25", ndcg, groups[kind]) > mean("simple_semantic", ndcg, groups[kind])
    for other in ("bm25", "simple_semantic"):
        assert mean("hybrid_rrf", recall, groups["all"]) > mean(other, recall, groups["all"])
