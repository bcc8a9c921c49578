"""The offline scorer: passages scored against a question by classical evidence on the bundled embedding model.

It stands where a cross-encoder would, and is not one: no network reads question and passage together.
How it compares with its parts, and with what it replaced, is measured in tests/benchmarks/test_rerankers.py.
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
# Chosen on the dev questions of NFCorpus and of the built-in set; all stand on a plateau.
LEADERS, TERMS, FEEDBACK = 10, 50, 0.5  # passages and terms of the feedback, and what each half of it weighs
NON_ENGLISH_TRUST = (
    0.5  # what the model's say weighs beside BM25's for a query that is not in English, as the model is
)
FRAMING_WORDS = {
    "en": "could would must need want know help please tell",
    "es": "debo debe deben debería hago hace hacer puedo puede pueden podría necesito quiero saber decir",
}
NEIGHBOURS, SHARE = 5, 0.3  # passages each one's score is smoothed with, and their share of it


def bm25_among(
    asked: Mapping[str, float], held: Sequence[Counter[str]], k1: float = K1, b: float = B
) -> Scores:
    """(passages,) BM25 of passages as if they were the whole collection.

    Σ over terms t of weight(t) · idf(t) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / mean length));
    Robertson and Zaragoza 2009. Among candidates for a question, a term that all of them have tells them
    apart least, however rare it is elsewhere.

    Args:
        asked: weight of each term.
        held: each passage's terms and how often it has them.
    """
    lengths = np.array([counts.total() for counts in held], float)
    if not asked or not lengths.any():
        return np.zeros(len(held))
    frequencies = np.array([[counts[term] for counts in held] for term in asked], float)
    having = (frequencies > 0).sum(axis=1)
    weights = np.fromiter(asked.values(), float) * idf(having, len(held))
    scores: Scores = weights @ (
        frequencies * (k1 + 1) / (frequencies + k1 * (1 - b + b * lengths / lengths.mean()))
    )
    return scores


def idf(having: NDArray[np.int64] | int, passages: int) -> Scores:
    """ln(1 + (N − n + 0.5) / (n + 0.5)) of terms that n of N passages have; as in Lucene, never negative."""
    weights: Scores = np.log1p((passages - having + 0.5) / (having + 0.5))
    return weights


def common_terms(held: Sequence[Counter[str]], leaders: Sequence[int], weights: Scores) -> dict[str, float]:
    """The TERMS that tell the leading passages from the others best, and their probability among them.

    P(t) = Σ over leaders of weight · tf / length: Lavrenko and Croft, "Relevance-based language models",
    SIGIR 2001; kept are the highest P(t) · idf(t).

    Args:
        weights: (leaders,) P(passage), adding up to 1.
    """
    having = Counter(term for counts in held for term in counts)
    shares: dict[str, float] = {}
    for row, weight in zip(leaders, weights, strict=True):
        total = held[row].total()
        for term, count in held[row].items():
            shares[term] = shares.get(term, 0.0) + float(weight) * count / total
    telling = sorted(shares, key=lambda term: (-shares[term] * float(idf(having[term], len(held))), term))
    return {term: shares[term] for term in telling[:TERMS]}


def feedback(
    scores: Scores, held: Sequence[Counter[str]], vectors: NDArray[np.float32], trust: float = 1.0
) -> Scores:
    """(passages,) likeness to the best passages so far: in words, and in meaning.

    Pseudo-relevance feedback. The LEADERS stand for the question, each by exp(score): BM25 with the terms
    they share, and the cosine to their mean vector (Rocchio 1971), standardised and added up.

    Args:
        scores: (passages,) standardised.
        vectors: (passages, d) embeddings, rows L2-normalised.
        trust: what likeness in meaning weighs beside likeness in words.
    """
    leaders = np.argsort(-scores, kind="stable")[:LEADERS]
    weights = np.exp(scores[leaders] - scores[leaders[0]])
    weights /= weights.sum()
    words = bm25_among(common_terms(held, leaders.tolist(), weights), held)
    meaning = vectors @ (weights @ vectors[leaders])
    return standardised(words) + trust * standardised(meaning)


def standardised(scores: Scores) -> Scores:
    """Scores in standard deviations from their mean; zeros when they are all alike."""
    gaps: Scores = scores - scores.mean()
    spread = float(scores.std())
    return gaps / spread if spread > 1e-9 * max(1.0, float(np.abs(scores).max())) else np.zeros_like(gaps)


def smoothed(
    scores: Scores, vectors: NDArray[np.float32], neighbours: int = NEIGHBOURS, share: float = SHARE
) -> Scores:
    """(1 − share) · score + share · mean score of the nearest passages, weighted by their cosine.

    Passages about the same thing are relevant to the same questions: Diaz, "Regularizing ad hoc retrieval
    scores", CIKM 2005, one step of it.

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
    """What speaks for one passage by itself, whatever else was found.

    Args:
        window: `best_window`, -1 to 1.
        interaction: `max_sim`, -1 to 1.
        covered: share of the question's terms that the passage holds, 0 to 1.
        same_language: 1 when question and passage are in the same language, else 0: the model finds any
            two Spanish texts alike.
        length: ln(1 + the question's terms); a long question is matched less closely.
    """

    window: float
    interaction: float
    covered: float
    same_language: float
    length: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic regression from signals to relevance, for questions in one language.

    P(relevant) = 1 / (1 + exp(−(intercept + weights · signals))), fitted on the built-in dev judgements
    with relevant and irrelevant passages counting the same in all: at 0.5 the signals are as usual for the one
    as for the other.

    Args:
        weights: in the order of Signals's fields.
    """

    intercept: float
    weights: tuple[float, ...]

    def __call__(self, signals: Signals) -> float:
        """The estimated probability of relevance, 0 to 1."""
        logit = self.intercept + sum(w * x for w, x in zip(self.weights, signals, strict=True))
        return 0.5 * (1 + math.tanh(logit / 2))  # the logistic function, without overflow


def read_calibrations(path: Path) -> Mapping[str, Calibration]:
    """Fitted calibrations by language of the question (`data/relevance.toml`).

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
    """A context's Reranker, and the offline engine's judge of single passages. Safe to share between threads.

    Args:
        encoder: reads texts with the bundled model, the one all figures were measured with.
        calibrations: by language of the question; English is used for the others.

    Attributes:
        embedder: that model.
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
        """One score per hit, in their order, and the bill.

        BM25 among the hits, best window and late interaction, standardised and added up; half as much of
        what feedback says; and the whole smoothed over neighbouring passages. For a query that is not in
        English, what the English model says weighs half. The scores order these hits; they compare with no
        others, and no threshold holds for them.
        """
        question, passages = self._read(query, [hit.passage for hit in hits])
        tokens = question.tokens + sum(passage.tokens for passage in passages)
        call = ModelCall("rerank", self.name, tokens, 0, 0.0, "tokenizer")
        if not passages:
            return [], call
        held = [passage.terms for passage in passages]
        vectors = np.array([passage.vector for passage in passages])
        trust = 1.0 if _language(query, hits) == "en" else NON_ENGLISH_TRUST
        words = bm25_among(dict.fromkeys(_terms(query, hits), 1.0), held)
        window = np.array([best_window(question, passage) for passage in passages])
        interaction = np.array([max_sim(question, passage) for passage in passages])
        own = standardised(standardised(words) + trust * (standardised(window) + standardised(interaction)))
        return smoothed(own + FEEDBACK * feedback(own, held, vectors, trust), vectors).tolist(), call

    def relevance(self, question: str, hits: Sequence[Hit]) -> list[float]:
        """Estimate of each passage's relevance by itself, 0 to 1; see `Calibration` for what 0.5 means."""
        fitted = {
            code: self._calibrations.get(_question_language(question, code)) or self._calibrations["en"]
            for code in _languages(hits)
        }
        signals = self.signals(question, hits)
        return [fitted[hit.passage.language](row) for hit, row in zip(hits, signals, strict=True)]

    def signals(self, question: str, hits: Sequence[Hit]) -> list[Signals]:
        """What speaks for each passage by itself."""
        # without its context, so that a passage is as relevant in an enriched index as in the plain one
        asked, passages = self._read(question, [replace(hit.passage, context="") for hit in hits])
        asked_in = {code: _question_language(question, code) for code in _languages(hits)}
        terms = {
            code: _without_framing(query_tokens(question, [own, code])) for code, own in asked_in.items()
        }
        found = []
        for hit, passage in zip(hits, passages, strict=True):
            code = hit.passage.language
            shared = terms[code] & set(passage.terms)
            found.append(
                Signals(
                    window=best_window(asked, passage),
                    interaction=max_sim(asked, passage),
                    covered=len(shared) / max(len(terms[code]), 1),
                    same_language=float(code == asked_in[code]),
                    length=math.log1p(len(terms[code])),
                )
            )
        return found

    def _read(self, query: str, passages: Sequence[Passage]) -> tuple[EncodedText, list[EncodedText]]:
        texts = [(passage.indexed_text, passage.language) for passage in passages]
        (question,) = self._encoder.read([(query, language_of(query))])
        return question, self._encoder.read(texts)


def _without_framing(terms: Sequence[str]) -> set[str]:
    """The terms without those that only frame a question, unless there are no others."""
    return set(terms) - _framing_terms() or set(terms)


@functools.cache
def _framing_terms() -> frozenset[str]:
    """Words that stop lists leave: any passage of advice has them, whatever it is about."""
    return frozenset(term for language, words in FRAMING_WORDS.items() for term in tokens(words, language))


def _terms(query: str, hits: Sequence[Hit]) -> list[str]:
    """The query's terms, analysed as the index would."""
    return query_tokens(query, _languages(hits))


def _language(query: str, hits: Sequence[Hit]) -> str:
    """The query's language; the passages' when none of them is in it, as it may be a wrong guess then."""
    detected, languages = language_of(query), _languages(hits)
    return detected if detected in languages else languages[0]


def _question_language(question: str, passage: str) -> str:
    """The question's language; the passage's for a few words, which give no sure sign of theirs."""
    return language_of(question) if len(question.split()) > SHORT_QUESTION else passage


def _languages(hits: Sequence[Hit]) -> list[str]:
    """The languages of the passages, the most frequent first."""
    counted = Counter(hit.passage.language for hit in hits)
    return sorted(counted, key=lambda code: (-counted[code], code))
