"""Fit the weights that choose an answer's sentences (rag_core/offline/extract.py): WEIGHTS.

    python tests/benchmarks/fit_sentences.py

For each question of the dev answer set and several strategies: the features of the sentences found, and which of
them make a statement that an acceptable answer needs. The weights maximise the likelihood of drawing such a sentence
from a softmax over the question's sentences, with a ridge penalty on standardised features. Prints them relative to
the cosine's, and how often the best sentence of a question left out of the fit (seven folds) is such a sentence.
`rag answers --split dev` shows what the answers are worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

import rag_core
from rag_core.data.answer_set import answer_file, read_answer_set, sentence_terms
from rag_core.data.benchmark import read_builtin
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.offline.extract import WEIGHTS, Extractor
from rag_core.offline.quotable import read_sources
from rag_core.offline.subject import TermWeights
from rag_core.prompts.prompt import Sources

DATA = Path(__file__).resolve().parents[2] / "data"
STRATEGIES = ("simple_semantic", "bm25", "hybrid_rrf", "ensemble")
RIDGE, FOLDS = 0.003, 7


class Found(NamedTuple):
    """The sentences found for one question: their features, and which make a needed statement."""

    question: str
    features: np.ndarray
    needed: np.ndarray


def read(lab: Lab) -> Iterator[Found]:
    """The sentences that each strategy finds, for questions where some but not all are needed."""
    extractor = Extractor(lab.engines.scorer.embedder, lab.engines.thesaurus)
    scorer, weights = lab.engines.scorer, TermWeights(lab.index)
    dev = read_builtin(DATA, "dev")
    for judged in read_answer_set(answer_file(DATA, "dev"), dev).answers.values():
        question = judged.question.text
        for strategy in STRATEGIES:
            hits = lab.run(question, rag_core.build(strategy).without_answer()).ranking.hits
            candidates = read_sources(Sources(hits), scorer.relevance(question, hits))
            said = [sentence_terms(one.text, one.language) for one in candidates]
            needed = np.array(
                [
                    any(must.said_in(one) for must in judged.must)
                    and not any(unwanted.said_in(one) for unwanted in judged.must_not)
                    for one in said
                ]
            )
            if needed.any() and not needed.all():
                yield Found(
                    judged.question.id,
                    extractor.features(question, question, candidates, weights.of(question)),
                    needed,
                )


def fit(found: Sequence[Found]) -> np.ndarray:
    """(features,) weights."""
    every = np.concatenate([one.features for one in found])
    spread = every.std(axis=0) + 1e-9

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        total, slope = 0.0, np.zeros(len(weights))
        for one in found:
            scaled = one.features / spread
            odds = scaled @ weights
            chance = np.exp(odds - odds.max())
            chance /= chance.sum()
            right = chance * one.needed
            total -= np.log(right.sum())
            slope += scaled.T @ (chance - right / right.sum())
        return total / len(found) + RIDGE * weights @ weights, slope / len(found) + 2 * RIDGE * weights

    return minimize(loss, np.zeros(every.shape[1]), jac=True, method="L-BFGS-B").x / spread


def best_needed(found: Sequence[Found], weights: np.ndarray) -> float:
    """The share of questions whose best sentence is needed."""
    return float(np.mean([one.needed[int(np.argmax(one.features @ weights))] for one in found]))


def main() -> None:
    found = list(read(open_lab()))
    questions = sorted({one.question for one in found})
    fold = {question: i % FOLDS for i, question in enumerate(np.random.default_rng(1).permutation(questions))}
    unseen = [
        best_needed(
            [one for one in found if fold[one.question] == i],
            fit([one for one in found if fold[one.question] != i]),
        )
        for i in range(FOLDS)
    ]
    weights = fit(found)
    print(f"{len(found)} lists of {len(questions)} questions")
    print(f"fitted   {(weights / weights[0]).round(2)}  best sentence needed, unseen: {np.mean(unseen):.3f}")
    print(f"in use   {WEIGHTS}  {best_needed(found, WEIGHTS):.3f}")


if __name__ == "__main__":
    main()
