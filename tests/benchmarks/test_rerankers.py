"""The offline scorer beside its parts and beside what it replaced, on dev and on test. Run by `BENCH=all make bench`.

Every question's candidates are the first 100 of RRF over BM25 and dense search, to depth 100 each; every scorer
orders the same candidates anew, all of them or the first 15. nDCG@10 of documents (a document's rank is its best
passage's), graded, by pytrec_eval. The scorer was chosen on the dev questions of NFCorpus and of the built-in set.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import pytrec_eval
from numpy.typing import NDArray

from rag_core import evaluation as ev
from rag_core.documents.benchmark import Question
from rag_core.evaluation.statistics import interval
from rag_core.language.analysis import query_tokens
from rag_core.offline.memory import RememberingEmbedder, sentences_of, term_counts
from rag_core.offline.scorer import (
    Calibration,
    Calibrations,
    OfflineScorer,
    bm25_among,
    feedback,
    smoothed,
    standardised,
)
from rag_core.stages import ReciprocalRankFusion
from rag_core.values.settings import Settings
from rag_core.values.types import Hit, Query, Ranking

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
SETS = {"builtin": ("dev", "test"), "nfcorpus": ("dev", "test"), "medquad_obstetric": ("test",)}
LANGUAGES = {"builtin": ["en", "es"]}
DEPTHS = {"builtin": (100, 15), "nfcorpus": (100, 15), "medquad_obstetric": (30, 15)}
GOAL = {("nfcorpus", "test"): 0.365}  # plain RRF: 0.353
FIRST = "RRF, not rescored"
CHOSEN = "offline scorer"


@dataclass(frozen=True)
class Candidates:
    """What a scorer of the table sees."""

    question: NDArray[np.float32]
    vectors: NDArray[np.float32]
    sentences: Sequence[NDArray[np.float32]]
    held: Sequence[Counter[str]]
    asked: Mapping[str, float]
    similar: NDArray[np.float64]


def cosine(c: Candidates) -> NDArray[np.float64]:
    return (c.vectors @ c.question).astype(float)


def sentence(c: Candidates) -> NDArray[np.float64]:
    return np.array([(vectors @ c.question).max() for vectors in c.sentences], float)


def words(c: Candidates) -> NDArray[np.float64]:
    return c.similar


def lexical(c: Candidates) -> NDArray[np.float64]:
    return bm25_among(c.asked, c.held)


def added(*parts: Callable[[Candidates], NDArray[np.float64]]) -> Callable[[Candidates], NDArray[np.float64]]:
    return lambda c: standardised(np.sum([standardised(part(c)) for part in parts], axis=0))


def fed(c: Candidates) -> NDArray[np.float64]:
    own = added(lexical, sentence, cosine, words)(c)
    return own + 0.5 * feedback(own, c.held, c.vectors)


SCORERS = {
    "cosine": cosine,
    "best sentence": sentence,
    "word by word": words,
    "BM25 among candidates": lexical,
    "BM25 + cosine": added(lexical, cosine),
    "BM25 + sentence": added(lexical, sentence),
    "BM25 + sentence + cosine": added(lexical, sentence, cosine),
    "BM25 + sentence + cosine + words": added(lexical, sentence, cosine, words),
    "... smoothed": lambda c: smoothed(added(lexical, sentence, cosine, words)(c), c.vectors),
    "... with feedback": fed,
}


@pytest.mark.slow  # embeds thousands of documents
@pytest.mark.timeout(3600)  # every sentence is embedded
@pytest.mark.parametrize("name", SETS)
def test_the_offline_scorer_is_worth_its_place(name):
    folder = name if name == "builtin" else str(DATA / name)
    if name != "builtin" and not (DATA / name).is_dir():
        pytest.skip(f"{DATA / name} is not here")
    settings = Settings(home=Path(".rag/bench"), llm="offline")
    lab = ev.open_judged(folder, settings)
    embedder = RememberingEmbedder(lab.engines.scorer.embedder, size=100_000)
    pieces = lab.engines.scorer.pieces
    scorer = OfflineScorer(embedder, pieces, Calibrations({}, *[Calibration(0.0, (0.0,) * 4)] * 2))
    deep, shallow = DEPTHS[name]

    def rankings(question: Question) -> dict[str, list[str]]:
        query = Query(question.text)
        vector = lab.engines.embedder.embed([question.text])[0][0]
        dense = Ranking.sort(query, lab.index.dense(vector, 100), "Dense")
        words = Ranking.sort(query, lab.index.lexical(question.text, 100, 1.5, 0.75), "Bm25")
        hits: dict[str, Hit] = {hit.id: hit for ranking in (dense, words) for hit in ranking}
        scores = ReciprocalRankFusion().fuse([words, dense])
        first = [hits[key] for key in sorted(scores, key=lambda key: (-scores[key], key))][:deep]
        passages = [hit.passage for hit in first]
        candidates = Candidates(
            vector,
            lab.index.vectors([passage.id for passage in passages]),
            [embedder.embed(sentences_of(passage), "passage")[0] for passage in passages],
            [term_counts(passage.indexed_text, passage.language) for passage in passages],
            dict.fromkeys(query_tokens(question.text, LANGUAGES.get(name, ["en"])), 1.0),
            np.array([scorer.signals(question.text, [hit])[0].words for hit in first]),
        )
        found = {FIRST: first}
        for label, score in SCORERS.items():
            found[label] = reordered(first, score(candidates))
        found[CHOSEN] = reordered(first, scorer.score(question.text, first)[0])
        top = first[:shallow]
        found[f"{CHOSEN}, first {shallow}"] = reordered(top, scorer.score(question.text, top)[0])
        return {label: documents(ranked) for label, ranked in found.items()}

    for split in SETS[name]:
        judged = ev.read_judged(folder, split, settings)
        evaluator = pytrec_eval.RelevanceEvaluator(
            {question.id: dict(judged.qrels[question.id]) for question in judged.measured}, {"ndcg_cut_10"}
        )
        runs: dict[str, dict[str, dict[str, float]]] = {}
        for question in judged.measured:
            for label, ranked in rankings(question).items():
                runs.setdefault(label, {})[question.id] = {key: -float(i) for i, key in enumerate(ranked)}
        scores = {
            label: np.array([row["ndcg_cut_10"] for _, row in sorted(evaluator.evaluate(run).items())])
            for label, run in runs.items()
        }
        spoken = np.array([q.language for q in sorted(judged.measured, key=lambda q: q.id)])
        print(f"\n{name} {split}, {len(judged.measured)} questions, first {deep} of RRF: nDCG@10")
        for label, row in scores.items():
            by_language = " ".join(f"{code} {row[spoken == code].mean():.4f}" for code in LANGUAGES.get(name, []))
            print(f"  {label:<30}{row.mean():.4f}  {by_language}  {gain(row - scores[FIRST])}")
        assert scores[CHOSEN].mean() >= scores[FIRST].mean()
        assert scores[CHOSEN].mean() >= GOAL.get((name, split), 0.0)


def reordered(hits: Sequence[Hit], scores: Sequence[float] | NDArray[np.float64]) -> list[Hit]:
    return [hit for _, hit in sorted(zip(scores, hits, strict=True), key=lambda pair: (-pair[0], pair[1].id))]


def documents(hits: Sequence[Hit]) -> list[str]:
    return list(dict.fromkeys(hit.passage.doc_id for hit in hits))


def gain(gaps: NDArray[np.float64]) -> str:
    found = interval(gaps)
    return f"{found.mean:+.4f} to RRF, 95 % interval {found.low:+.4f} to {found.high:+.4f}"
