"""Fit the weights that choose the sections of an answer (rag_core/offline/sections.py): RELEVANCE, PLACE, KNOWN and NEAREST.

    python tests/benchmarks/fit_sections.py

For each judged dev question and several strategies: the relevance, rank, likeness to known questions with what their words
tell or, as if none were known, nearest sentence of the passages found, and which of them answer it (grade 2). The weights
maximise the likelihood of drawing such a passage from a softmax over those found, with a ridge penalty on standardised features; for urgent questions, with what SAYS and NAMES weigh. Prints them,
and how often the best passage of a question left out of the fit (seven folds) is such a passage. `rag answers --split dev`
shows what the answers are worth.
"""

import csv
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

import rag_core
from rag_core.documents.benchmark import passage_key, read_builtin
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.language.analysis import LANGUAGES, language_of
from rag_core.offline.sections import (
    KNOWN,
    LANGUAGE,
    NAMES,
    NEAREST,
    PLACE,
    RELEVANCE,
    SAYS,
    Sections,
    log_odds,
)
from rag_core.offline.urgent import Urgent
from rag_core.prompts.prompt import Sources
from rag_core.safety.urgency.triage import triage

DATA = Path(__file__).resolve().parents[2] / "data"
STRATEGIES = ("simple_semantic", "bm25", "hybrid_rrf", "ensemble")
RIDGE, FOLDS = 0.003, 7
FEATURES = ("RELEVANCE", "PLACE", "KNOWN or NEAREST", "same language", "SAYS", "NAMES")
IN_USE = np.array([RELEVANCE, PLACE, KNOWN, LANGUAGE, SAYS, NAMES])


class Found(NamedTuple):
    """The passages found for one question: (n, features) and which answer it."""

    question: str
    features: np.ndarray
    answers: np.ndarray


def grades() -> dict[str, dict[str, int]]:
    """Question id -> passage key -> grade."""
    found: dict[str, dict[str, int]] = {}
    for language in LANGUAGES:
        with (DATA / "questions" / language / "qrels-passages" / "dev.tsv").open(encoding="utf-8") as lines:
            for row in csv.DictReader(lines, delimiter="\t"):
                found.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    return found


def read(lab: Lab, *, urgent: bool, known: bool) -> Iterator[Found]:
    """What each strategy finds for the questions that are urgent, or not, where some but not all of it answers."""
    sections, graded = Sections(lab.engines.scorer.embedder), grades()
    asked_index = lab.services().asked
    for question in read_builtin(DATA, "dev").questions:
        asked = Urgent(question.text, triage(question.text))
        if asked.triage.urgent is not urgent:
            continue
        for strategy in STRATEGIES:
            hits = lab.run(question.text, rag_core.build(strategy).without_answer()).ranking.hits
            relevance = lab.engines.scorer.relevance(question.text, hits)
            read = sections.read(asked, [question.text], Sources(hits))
            near = [one.near.max() for one in read]
            if known:
                ids = [one.hit.id for one in read]
                compared = (asked_index.likeness(question.text, ids), asked_index.words_among(question.text, ids))
                near = [(like or 0.0) + (told or 0.0) for like, told in zip(*compared, strict=True)]
            features = [
                (
                    log_odds(relevance[one.best.n - 1]),
                    1 / one.best.n,
                    like,
                    one.hit.passage.language == language_of(question.text),
                    one.says.max(),
                    urgent and asked.names_sign(one.hit.passage.full_title),
                )
                for one, like in zip(read, near, strict=True)
            ]
            answers = [graded[question.id].get(passage_key(one.hit.id)) == 2 for one in read]
            if any(answers) and not all(answers):
                yield Found(question.id, np.array(features, float), np.array(answers))


def fit(found: Sequence[Found]) -> np.ndarray:
    """(features,) weights."""
    spread = np.concatenate([one.features for one in found]).std(axis=0) + 1e-9

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        total, slope = 0.0, np.zeros(len(weights))
        for one in found:
            scaled = one.features / spread
            odds = scaled @ weights
            chance = np.exp(odds - odds.max())
            chance /= chance.sum()
            right = chance * one.answers
            total -= np.log(right.sum())
            slope += scaled.T @ (chance - right / right.sum())
        return total / len(found) + RIDGE * weights @ weights, slope / len(found) + 2 * RIDGE * weights

    return minimize(loss, np.zeros(len(spread)), jac=True, method="L-BFGS-B").x / spread


def best_answers(found: Sequence[Found], weights: np.ndarray) -> float:
    """The share of lists whose best passage answers."""
    return float(np.mean([one.answers[int(np.argmax(one.features @ weights))] for one in found]))


def main() -> None:
    lab = open_lab()
    for urgent, known in itertools.product((False, True), (True, False)):
        found = list(read(lab, urgent=urgent, known=known))
        in_use = np.where(np.array(FEATURES) == FEATURES[2], KNOWN if known else NEAREST, IN_USE)
        questions = np.random.default_rng(1).permutation(sorted({one.question for one in found}))
        fold = {question: i % FOLDS for i, question in enumerate(questions)}
        unseen = [
            best_answers(
                [one for one in found if fold[one.question] == i],
                fit([one for one in found if fold[one.question] != i]),
            )
            for i in range(FOLDS)
        ]
        weights = dict(zip(FEATURES, fit(found).round(2).tolist(), strict=True))
        kind = f"{'urgent' if urgent else 'routine'}, {'KNOWN' if known else 'NEAREST'}"
        print(f"{kind}: {len(found)} lists of {len(questions)} questions")
        print(f"fitted {weights}  best answers, unseen: {np.mean(unseen):.3f}")
        print(f"in use {in_use}  {best_answers(found, in_use):.3f}")


if __name__ == "__main__":
    main()
