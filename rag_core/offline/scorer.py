"""The offline scorer: reranking by classical features and the bundled embedding model.

It replaces a cross-encoder, but is not one: no network reads question and passage together.
tests/benchmarks/test_rerankers.py compares it with its parts and its predecessor.
"""

from __future__ import annotations

import functools
import hashlib
import math
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..language.analysis import SHORT_QUESTION, language_of, query_tokens, tokens
from ..values.errors import DataError
from ..values.types import Hit, ModelCall, Passage, Scale
from .late_interaction import EncodedText, TokenEncoder, best_window, max_sim

Scores = NDArray[np.float64]

NAME = "offline-scorer"
K1, B = 1.5, 0.75  # as for the index
# Chosen on the dev questions of NFCorpus and the built-in set; all are on a plateau.
LEADERS, TERMS, FEEDBACK = 10, 50, 0.5  # feedback passages, feedback terms, and the weight of each half
NON_ENGLISH_TRUST = (
    0.5  # weight of the English model's features relative to BM25 for queries in other languages
)
FRAMING_WORDS = {
    "en": "could would must need want know help please tell",
    "es": "debo debe deben debería hago hace hacer puedo puede pueden podría necesito quiero saber decir",
}
NEIGHBOURS, SHARE = 5, 0.3  # neighbours that each score is smoothed with, and their share of it


def bm25_among(
    query: Mapping[str, float], passages: Sequence[Counter[str]], k1: float = K1, b: float = B
) -> Scores:
    """(passages,) BM25 scores, with the passages as the entire collection.

    Σ over terms t of weight(t) · idf(t) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / mean length));
    Robertson and Zaragoza 2009. Among candidates for a question, a term that all of them contain discriminates
    least, however rare it is elsewhere.

    Args:
        query: weight of each term.
        passages: term frequencies of each passage.
    """
    lengths = np.array([counts.total() for counts in passages], float)
    if not query or not lengths.any():
        return np.zeros(len(passages))
    frequencies = np.array([[counts[term] for counts in passages] for term in query], float)
    having = (frequencies > 0).sum(axis=1)
    weights = np.fromiter(query.values(), float) * idf(having, len(passages))
    scores: Scores = weights @ (
        frequencies * (k1 + 1) / (frequencies + k1 * (1 - b + b * lengths / lengths.mean()))
    )
    return scores


def idf(having: NDArray[np.int64] | int, passages: int) -> Scores:
    """ln(1 + (N − n + 0.5) / (n + 0.5)) for terms in n of N passages; as in Lucene, never negative."""
    weights: Scores = np.log1p((passages - having + 0.5) / (having + 0.5))
    return weights


def feedback_terms(
    passages: Sequence[Counter[str]], leaders: Sequence[int], weights: Scores
) -> dict[str, float]:
    """The TERMS that best distinguish the leading passages, with their probability P(t) among them.

    P(t) = Σ over leaders of weight · tf / length: Lavrenko and Croft, "Relevance-based language models",
    SIGIR 2001; selected by P(t) · idf(t).

    Args:
        weights: (leaders,) P(passage), summing to 1.
    """
    having = Counter(term for counts in passages for term in counts)
    shares: dict[str, float] = {}
    for row, weight in zip(leaders, weights, strict=True):
        total = passages[row].total()
        for term, count in passages[row].items():
            shares[term] = shares.get(term, 0.0) + float(weight) * count / total
    ranked = sorted(shares, key=lambda term: (-shares[term] * float(idf(having[term], len(passages))), term))
    return {term: shares[term] for term in ranked[:TERMS]}


def feedback(
    scores: Scores, passages: Sequence[Counter[str]], vectors: NDArray[np.float32], trust: float = 1.0
) -> Scores:
    """(passages,) lexical and semantic similarity to the best passages so far.

    Pseudo-relevance feedback: the LEADERS, weighted by exp(score), replace the question. The sum of BM25 with
    their terms and the cosine to their mean vector (Rocchio 1971), both standardised.

    Args:
        scores: (passages,) standardised.
        vectors: (passages, d) embeddings, rows L2-normalised.
        trust: weight of semantic relative to lexical similarity.
    """
    leaders = np.argsort(-scores, kind="stable")[:LEADERS]
    weights = np.exp(scores[leaders] - scores[leaders[0]])
    weights /= weights.sum()
    words = bm25_among(feedback_terms(passages, leaders.tolist(), weights), passages)
    meaning = vectors @ (weights @ vectors[leaders])
    return standardised(words) + trust * standardised(meaning)


def standardised(scores: Scores) -> Scores:
    """Standardised scores (mean 0, standard deviation 1); zeros if all are equal."""
    gaps: Scores = scores - scores.mean()
    spread = float(scores.std())
    return gaps / spread if spread > 1e-9 * max(1.0, float(np.abs(scores).max())) else np.zeros_like(gaps)


def smoothed(
    scores: Scores, vectors: NDArray[np.float32], neighbours: int = NEIGHBOURS, share: float = SHARE
) -> Scores:
    """(1 − share) · score + share · mean score of the nearest passages, weighted by their cosine.

    Passages on the same topic are relevant to the same questions. One step of Diaz, "Regularizing ad hoc
    retrieval scores", CIKM 2005.

    Args:
        vectors: (n, d) the passages' embeddings, rows L2-normalised.
    """
    count = min(neighbours, len(scores) - 1)
    if count < 1:
        return scores
    cosines = np.maximum(vectors @ vectors.T, 0.0).astype(float)
    np.fill_diagonal(cosines, -1.0)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :count]
    weights = np.maximum(np.take_along_axis(cosines, nearest, axis=1), 1e-9)
    around = (weights * scores[nearest]).sum(axis=1) / weights.sum(axis=1)
    blended: Scores = (1 - share) * scores + share * around
    return blended


class Signals(NamedTuple):
    """Features of one passage, independent of the other hits.

    Args:
        window: `best_window`, -1 to 1.
        interaction: `max_sim`, -1 to 1.
        covered: share of the question's terms in the passage, 0 to 1.
        same_language: 1 when question and passage are in the same language, otherwise 0: to the model, any
            two Spanish texts look alike.
        length: ln(1 + number of question terms); long questions are matched less closely.
    """

    window: float
    interaction: float
    covered: float
    same_language: float
    length: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic regression from signals to relevance, for questions in one language.

    P(relevant) = 1 / (1 + exp(−(intercept + weights · signals))), fitted on the built-in dev judgements with
    relevant and irrelevant passages weighted equally in total, so 0.5 assumes both are equally frequent.

    Args:
        weights: in the order of the fields of Signals.
    """

    intercept: float
    weights: tuple[float, ...]

    def __call__(self, signals: Signals) -> float:
        """The estimated probability of relevance, 0 to 1."""
        logit = self.intercept + sum(w * x for w, x in zip(self.weights, signals, strict=True))
        return 0.5 * (1 + math.tanh(logit / 2))  # the logistic function, without overflow


def read_calibrations(path: Path) -> Mapping[str, Calibration]:
    """Fitted calibrations by question language, from `data/relevance.toml`.

    Raises:
        DataError: the file is missing or malformed, or has none for English.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        fitted = {
            language: Calibration(
                float(row["intercept"]), tuple(float(row[name]) for name in Signals._fields)
            )
            for language, row in table.items()
        }
        if "en" not in fitted:
            raise KeyError("en")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"The relevance calibration {path} cannot be read: {error!r}.", "Restore data/relevance.toml."
        ) from error
    return fitted


class OfflineScorer:
    """The context's Reranker, and the offline engine's judge of single passages. Thread-safe.

    Args:
        encoder: encodes texts with the bundled model, on which everything here was fitted.
        calibrations: by question language; English is the fallback.

    Attributes:
        embedder: the bundled model.
    """

    name: str = NAME
    scale: Scale = "offline_scorer"

    def __init__(self, encoder: TokenEncoder, calibrations: Mapping[str, Calibration]) -> None:
        self.embedder = encoder.embedder
        self._encoder = encoder
        self._calibrations = calibrations
        fitted = hashlib.sha256(repr(sorted(calibrations.items())).encode()).hexdigest()[:8]
        self.key = f"{NAME}-{fitted}"

    def score(self, query: str, hits: Sequence[Hit]) -> tuple[list[float], ModelCall]:
        """One score per hit, in order, and the call.

        The sum of BM25 among the hits, best window and late interaction, each standardised, plus half the
        feedback score; the result is smoothed over neighbouring passages. For queries in other languages the
        English model's part has half the weight. Scores are comparable among these hits only, so no threshold
        applies.
        """
        question, passages = self._encode(query, [hit.passage for hit in hits])
        tokens = question.tokens + sum(passage.tokens for passage in passages)
        call = ModelCall("rerank", self.name, tokens, 0, 0.0, "tokenizer")
        if not passages:
            return [], call
        terms = [passage.terms for passage in passages]
        vectors = np.array([passage.vector for passage in passages])
        trust = 1.0 if _language(query, hits) == "en" else NON_ENGLISH_TRUST
        words = bm25_among(dict.fromkeys(_terms(query, hits), 1.0), terms)
        window = np.array([best_window(question, passage) for passage in passages])
        interaction = np.array([max_sim(question, passage) for passage in passages])
        own = standardised(standardised(words) + trust * (standardised(window) + standardised(interaction)))
        return smoothed(own + FEEDBACK * feedback(own, terms, vectors, trust), vectors).tolist(), call

    def relevance(self, question: str, hits: Sequence[Hit]) -> list[float]:
        """Estimated relevance of each passage on its own, 0 to 1; see `Calibration`."""
        fitted = {
            code: self._calibrations.get(_question_language(question, code)) or self._calibrations["en"]
            for code in _languages(hits)
        }
        signals = self.signals(question, hits)
        return [fitted[hit.passage.language](row) for hit, row in zip(hits, signals, strict=True)]

    def signals(self, question: str, hits: Sequence[Hit]) -> list[Signals]:
        """The signals of each passage."""
        # without context, so that a passage is equally relevant in plain and enriched indexes
        encoded, passages = self._encode(question, [replace(hit.passage, context="") for hit in hits])
        languages = {code: _question_language(question, code) for code in _languages(hits)}
        terms = {
            code: _without_framing(query_tokens(question, [own, code])) for code, own in languages.items()
        }
        found = []
        for hit, passage in zip(hits, passages, strict=True):
            code = hit.passage.language
            shared = terms[code] & set(passage.terms)
            found.append(
                Signals(
                    window=best_window(encoded, passage),
                    interaction=max_sim(encoded, passage),
                    covered=len(shared) / max(len(terms[code]), 1),
                    same_language=float(code == languages[code]),
                    length=math.log1p(len(terms[code])),
                )
            )
        return found

    def _encode(self, query: str, passages: Sequence[Passage]) -> tuple[EncodedText, list[EncodedText]]:
        texts = [(passage.indexed_text, passage.language) for passage in passages]
        (question,) = self._encoder.encode([(query, language_of(query))])
        return question, self._encoder.encode(texts)


def _without_framing(terms: Sequence[str]) -> set[str]:
    """The terms without those that only frame a question, unless no others are left."""
    return set(terms) - _framing_terms() or set(terms)


@functools.cache
def _framing_terms() -> frozenset[str]:
    """Terms missing from stop lists but found in any advice, whatever the topic."""
    return frozenset(term for language, words in FRAMING_WORDS.items() for term in tokens(words, language))


def _terms(query: str, hits: Sequence[Hit]) -> list[str]:
    """The query's terms, analysed as for the index."""
    return query_tokens(query, _languages(hits))


def _language(query: str, hits: Sequence[Hit]) -> str:
    """The query's language if any passage is in it; otherwise it may be a wrong guess, so the passages'."""
    detected, languages = language_of(query), _languages(hits)
    return detected if detected in languages else languages[0]


def _question_language(question: str, passage: str) -> str:
    """The question's language, or the passage's if the question is too short to tell."""
    return language_of(question) if len(question.split()) > SHORT_QUESTION else passage


def _languages(hits: Sequence[Hit]) -> list[str]:
    """The languages of the passages, most frequent first."""
    counted = Counter(hit.passage.language for hit in hits)
    return sorted(counted, key=lambda code: (-counted[code], code))
