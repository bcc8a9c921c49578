"""The offline scorer: reranking by classical features and the bundled embedding model.

It replaces a cross-encoder, but is not one: no network reads question and passage together.
tests/benchmarks/test_rerankers.py compares it with its parts and its predecessor.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import itertools
import math
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..language.analysis import SHORT_QUESTION, language_of, query_tokens, tokens
from ..language.words import read_words
from ..runtime.services import AskedQuestions
from ..values.errors import read_data_file
from ..values.types import Hit, ModelCall, Passage, Scale
from .memory import RememberingEmbedder, sentences_of, term_counts, titles_of, under_title
from .word_pieces import WordPieces

Scores = NDArray[np.float64]

NAME = "offline-scorer"
WITH_QUESTIONS = f"{NAME}+questions"  # where questions are known; label thresholds are stored under these
GLOSS_LANGUAGE = "en"  # in which a gloss reads
K1, B = 1.5, 0.75  # as for the index
# Chosen on the dev questions of NFCorpus and the built-in set; all are on a plateau.
LEADERS, TERMS, FEEDBACK = 10, 50, 0.5  # feedback passages, feedback terms, and the weight of each half
COMPARED = 64  # questions whose comparisons are kept
NEIGHBOURS, SHARE = 5, 0.3  # neighbours that each score is smoothed with, and their share of it


def bm25_among(query: Mapping[str, float], passages: Sequence[Counter[str]]) -> Scores:
    """(passages,) BM25 scores, with the passages as the entire collection.

    Σ over terms t of weight(t) · idf(t) · tf · (k1 + 1) / (tf + k1 · (1 − b + b · length / mean length));
    Robertson and Zaragoza 2009. Among candidates for a question, a term that all of them contain discriminates
    least, however rare it is elsewhere.
    """
    lengths = np.array([counts.total() for counts in passages], float)
    if not query or not lengths.any():
        return np.zeros(len(passages))
    frequencies = np.array([[counts.get(term, 0) for counts in passages] for term in query], float)
    having = (frequencies > 0).sum(axis=1)
    weights = np.fromiter(query.values(), float) * idf(having, len(passages))
    scores: Scores = weights @ (frequencies * (K1 + 1) / (frequencies + K1 * (1 - B + B * lengths / lengths.mean())))
    return scores


def idf(having: NDArray[np.int64] | int, passages: int) -> Scores:
    """ln(1 + (N − n + 0.5) / (n + 0.5)) for terms in n of N passages; as in Lucene, never negative."""
    weights: Scores = np.log1p((passages - having + 0.5) / (having + 0.5))
    return weights


def feedback_terms(passages: Sequence[Counter[str]], leaders: Sequence[int], weights: Scores) -> dict[str, float]:
    """The TERMS that best distinguish the leading passages, with their probability P(t) among them.

    P(t) = Σ over leaders of weight · tf / length, the weights P(passage) summing to 1: Lavrenko and Croft,
    "Relevance-based language models", SIGIR 2001; selected by P(t) · idf(t).
    """
    having = Counter(itertools.chain.from_iterable(passages))
    shares: dict[str, float] = {}
    for row, weight in zip(leaders, weights, strict=True):
        total = passages[row].total()
        for term, count in passages[row].items():
            shares[term] = shares.get(term, 0.0) + float(weight) * count / total
    rarity = idf(np.arange(len(passages) + 1), len(passages)).tolist()  # by number of passages
    ranked = sorted(shares, key=lambda term: (-shares[term] * rarity[having[term]], term))
    return {term: shares[term] for term in ranked[:TERMS]}


def feedback(scores: Scores, passages: Sequence[Counter[str]], vectors: NDArray[np.float32]) -> Scores:
    """(passages,) lexical and semantic similarity to the best passages so far.

    Pseudo-relevance feedback: the LEADERS, weighted by exp(standardised score), replace the question. The sum
    of BM25 with their terms and the cosine to their mean vector (Rocchio 1971), both standardised. `vectors`
    are (passages, d), rows L2-normalised.
    """
    leaders = np.argsort(-scores, kind="stable")[:LEADERS]
    weights = np.exp(scores[leaders] - scores[leaders[0]])
    weights /= weights.sum()
    words = bm25_among(feedback_terms(passages, leaders.tolist(), weights), passages)
    meaning = vectors @ (weights @ vectors[leaders])
    return standardised(words) + standardised(meaning)


def standardised(scores: Scores) -> Scores:
    """Scores with mean 0 and standard deviation 1; zeros if all are equal."""
    gaps: Scores = scores - scores.mean()
    spread = float(scores.std())
    return gaps / spread if spread > 1e-9 * max(1.0, float(np.abs(scores).max())) else np.zeros_like(gaps)


def smoothed(
    scores: Scores, vectors: NDArray[np.float32], neighbours: int = NEIGHBOURS, share: float = SHARE
) -> Scores:
    """(1 − share) · score + share · mean score of the nearest passages, weighted by their cosine.

    Passages on the same topic are relevant to the same questions. One step of Diaz, "Regularizing ad hoc
    retrieval scores", CIKM 2005. `vectors` are (n, d), rows L2-normalised.
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
    """Features of the relevance of one passage, independent of the other hits.

    Args:
        sentence: highest cosine of the question to a sentence of the passage, -1 to 1.
        cosine: cosine of the question to the passage, -1 to 1.
        words: `WordPieces.similarity` of the question to the passage, -1 to 1.
        covered: share of the question's terms in the passage, both as the model reads them, 0 to 1.
        same_language: 1 when question and passage are in the same language, otherwise 0.
        length: ln(1 + number of question terms); long questions are matched less closely.
    """

    sentence: float
    cosine: float
    words: float
    covered: float
    same_language: float
    length: float


class Standing(NamedTuple):
    """Features of one passage among others; they tell an answer from a passage on the same topic.

    Args:
        sentence: highest cosine of the question to a sentence of the passage, -1 to 1.
        lead: its cosine to the question less the highest of the others; 0 if there are none.
        ranked: its reranking score among them; see `OfflineScorer.score`.
        known: cosine to the nearest question that the passage is known to answer, -1 to 1; if none, `sentence`.
    """

    sentence: float
    lead: float
    ranked: float
    known: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic regression, fitted on the dev judgements: P = 1 / (1 + exp(−(intercept + weights · signals)))."""

    intercept: float
    weights: tuple[float, ...]

    @classmethod
    def of(cls, row: Mapping[str, Any], names: Sequence[str]) -> Calibration:
        """A row of a file: the intercept and a weight by the name of each signal."""
        return cls(float(row["intercept"]), tuple(float(row[name]) for name in names))

    def __call__(self, signals: Sequence[float]) -> float:
        logit = self.intercept + sum(w * x for w, x in zip(self.weights, signals, strict=True))
        return 0.5 * (1 + math.tanh(logit / 2))  # the logistic function, without overflow


@dataclass(frozen=True, slots=True)
class Calibrations:
    """What the scorer's estimates are computed with.

    Args:
        relevance: from `Signals`, by question language; English is the fallback. Relevant and irrelevant
            passages weigh the same in total, so 0.5 assumes both are equally frequent.
        answers: from `Standing` without `known`, in any language. Most of the questions it was fitted on have no
            answer in the collection, so of passages of those that have one, more answer than it estimates.
        known: likewise from all of `Standing`.
    """

    relevance: Mapping[str, Calibration]
    answers: Calibration
    known: Calibration


def read_calibrations(path: Path) -> Calibrations:
    """The fitted calibrations, from `data/relevance.toml`; raises DataError, also if English has none."""
    return read_data_file(path, _calibrations)


def _calibrations(text: str) -> Calibrations:
    table = tomllib.loads(text)
    relevance = {code: Calibration.of(row, Signals._fields) for code, row in table["relevance"].items()}
    if "en" not in relevance:
        raise KeyError("en")
    answers = Calibration.of(table["answers"], Standing._fields[:-1])
    return Calibrations(relevance, answers, Calibration.of(table["known"], Standing._fields))


class OfflineScorer:
    """The context's Reranker and the offline engine's judge, fitted on the bundled model. Thread-safe."""

    name: str = NAME
    scale: Scale = "offline_scorer"

    def __init__(self, embedder: RememberingEmbedder, pieces: WordPieces, calibrations: Calibrations) -> None:
        self.embedder = embedder
        self.pieces = pieces
        self._calibrations = calibrations
        self._asked: AskedQuestions | None = None
        # of a question as read, the cosines of passages: a label, the evidence and the answer compare them
        self._nearest: Callable[[str], dict[tuple[str, str, str], tuple[float, float]]]
        self._nearest = functools.lru_cache(maxsize=COMPARED)(lambda question: {})
        parts = [
            embedder.key,
            sorted(calibrations.relevance.items()),
            calibrations.answers,
            calibrations.known,
        ]
        fitted = hashlib.sha256(repr(parts).encode()).hexdigest()[:8]
        self.key = f"{NAME}-{fitted}"

    def knowing(self, asked: AskedQuestions) -> OfflineScorer:
        """The same for a corpus whose passages are known to answer these questions."""
        own = copy.copy(self)
        own.name, own._asked = WITH_QUESTIONS, asked
        return own

    def warm_up(self) -> None:
        """Load what the first question would otherwise wait for."""
        self.embedder.embed(["warm"], "query")  # a passage would be kept, and no longer embedded at the next start
        self.pieces.similarity("warm", "warm")

    def score(self, query: str, hits: Sequence[Hit]) -> tuple[list[float], ModelCall]:
        """One score per hit, in order, and the call.

        The sum of BM25 among the hits, the cosines of the best sentence under its title and of the passage, and the
        similarity word by word, each standardised, plus half the feedback score; the result is smoothed over
        neighbouring passages. Scores are comparable among these hits only, so no threshold applies.
        """
        compared = self._compare(query, [hit.passage for hit in hits])
        call = ModelCall("rerank", self.name, compared.tokens, 0, 0.0, "tokenizer")
        return (self._ranked(query, hits, compared).tolist() if hits else []), call

    def _ranked(self, query: str, hits: Sequence[Hit], compared: _Compared) -> Scores:
        """(hits,) reranking scores."""
        terms = [term_counts(hit.passage.indexed_text, hit.passage.language) for hit in hits]
        asked = query_tokens(query, _languages(hits), self.embedder.read(query))
        lexical = bm25_among(dict.fromkeys(asked, 1.0), terms)
        words = np.array([self._words(query, hit.passage) for hit in hits])
        parts = (lexical, compared.titled, compared.cosines, words)
        own = standardised(np.sum([standardised(part) for part in parts], axis=0))
        vectors = compared.vectors
        return smoothed(own + FEEDBACK * feedback(own, terms, vectors), vectors)

    def chances(self, question: str, hits: Sequence[Hit], among: Sequence[Hit] = ()) -> list[float]:
        """How likely each passage is to answer the question, 0 to 1; see `Standing`.

        `among`, by default the hits, is the same for every strategy, so that a passage's chance is as well.
        """
        rows = self.standing(question, hits, among)
        if self._asked is None:
            return [self._calibrations.answers(row[:-1]) for row in rows]
        return [self._calibrations.known(row) for row in rows]

    def standing(self, question: str, hits: Sequence[Hit], among: Sequence[Hit] = ()) -> list[Standing]:
        """How each passage stands; one that is not among the others is ranked with their last."""
        if not hits:
            return []
        others = {hit.id: hit for hit in among or hits}
        compared = self._compare(question, [hit.passage for hit in others.values()])
        ranked = self._ranked(question, list(others.values()), compared)
        score = dict(zip(others, ranked.tolist(), strict=True))
        second, first = ([-1.0, *sorted(compared.cosines.tolist())])[-2:]
        own = self._compare(question, [hit.passage for hit in hits])
        known = self._asked.likeness(question, [hit.id for hit in hits]) if self._asked else [None] * len(hits)
        found = []
        for hit, sentence, cosine, near in zip(hits, own.sentences, own.cosines, known, strict=True):
            highest = second if cosine == first and hit.id in others else first
            found.append(
                Standing(
                    sentence=float(sentence),
                    lead=float(cosine - highest) if len(others) > 1 else 0.0,
                    ranked=score.get(hit.id, min(score.values())),
                    known=float(sentence if near is None else near),
                )
            )
        return found

    def relevance(self, question: str, hits: Sequence[Hit]) -> list[float]:
        """Estimated relevance of each passage on its own, 0 to 1; see `Calibrations`."""
        by_language = self._calibrations.relevance
        fitted = {
            code: by_language.get(question_language(question, code)) or by_language["en"] for code in _languages(hits)
        }
        signals = self.signals(question, hits)
        return [fitted[hit.passage.language](row) for hit, row in zip(hits, signals, strict=True)]

    def signals(self, question: str, hits: Sequence[Hit]) -> list[Signals]:
        compared = self._compare(question, [hit.passage for hit in hits])
        languages = {code: question_language(question, code) for code in _languages(hits)}
        terms = {code: set(self._terms(question, own)) for code, own in languages.items()}
        terms = {code: own - framing_terms() or own for code, own in terms.items()}  # if others are left
        found = []
        for hit, sentence, cosine in zip(hits, compared.sentences, compared.cosines, strict=True):
            code = hit.passage.language
            shared = terms[code] & set(self._terms(plain_text(hit.passage), code))
            found.append(
                Signals(
                    sentence=float(sentence),
                    cosine=float(cosine),
                    words=self._words(question, hit.passage),
                    covered=len(shared) / max(len(terms[code]), 1),
                    same_language=float(code == languages[code]),
                    length=math.log1p(len(terms[code])),
                )
            )
        return found

    def _terms(self, text: str, language: str) -> Counter[str]:
        return term_counts(*self.as_read(text, language))

    def _words(self, question: str, passage: Passage) -> float:
        read, language = self.as_read(plain_text(passage), passage.language)
        own = question_language(question, passage.language)
        return self.pieces.similarity(self.as_read(question, own)[0], read, language)

    def word_cosines(self, question: str, texts: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """`WordPieces.nearest` of a question to texts, each with its language, all as the model reads them."""
        asked, language = self.as_read(question, language_of(question))
        return self.pieces.nearest(asked, " ".join(self.as_read(*text)[0] for text in texts), language)

    def as_read(self, text: str, language: str) -> tuple[str, str]:
        """A text as the model reads it, and the language of that."""
        read = self.embedder.read(text, language)
        return read, language if read == text else GLOSS_LANGUAGE

    def _compare(self, query: str, passages: Sequence[Passage]) -> _Compared:
        """Compare without contexts: the vectors are stored, and plain and enriched indexes agree."""
        (question,), calls = self.embedder.embed([query])
        vectors, more = self.embedder.embed(
            [plain_text(passage) for passage in passages],
            "passage",
            [passage.language for passage in passages],
        )
        nearest = self._nearest(self.embedder.read(query))
        keys = [(one.text, one.full_title, one.language) for one in passages]
        new = {key: one for key, one in zip(keys, passages, strict=True) if key not in nearest}
        sentences = [sentences_of(passage) or (passage.text,) for passage in new.values()]
        spoken = [language for (*_, language), texts in zip(new, sentences, strict=True) for _ in texts]
        embedded, others = self.embedder.embed([text for texts in sentences for text in texts], "passage", spoken)
        headings, titles = titles_of(self.embedder, [*new.values()])
        apart = np.split(embedded, np.cumsum([len(texts) for texts in sentences])[:-1]) if new else []
        for key, one, title in zip(new, apart, headings, strict=True):
            nearest[key] = (one @ question).max(), (under_title(one, title) @ question).max()
        return _Compared(
            np.array([nearest[key][0] for key in keys], float),
            np.array([nearest[key][1] for key in keys], float),
            (vectors @ question if passages else np.zeros(0)).astype(float),
            vectors,
            sum(call.input_tokens for call in (*calls, *more, *others, *titles)),
        )


class _Compared(NamedTuple):
    """A query compared with passages.

    Args:
        sentences: (passages,) highest cosine to a sentence.
        titled: (passages,) the same, each sentence read under its title.
        cosines: (passages,) cosine to the passage.
        vectors: (passages, d) the passages' embeddings.
        tokens: number of tokens embedded now.
    """

    sentences: Scores
    titled: Scores
    cosines: Scores
    vectors: NDArray[np.float32]
    tokens: int


def plain_text(passage: Passage) -> str:
    """A passage's title and text without its context."""
    return (replace(passage, context="") if passage.context else passage).indexed_text


@functools.cache
def framing_terms() -> frozenset[str]:
    """Terms missing from stop lists but found in any advice, whatever the topic."""
    return frozenset(term for language, words in read_words()["framing"].items() for term in tokens(words, language))


def question_language(question: str, passage: str) -> str:
    """The question's language, or the passage's if the question is too short to tell."""
    return language_of(question) if len(question.split()) > SHORT_QUESTION else passage


def _languages(hits: Sequence[Hit]) -> list[str]:
    """The languages of the passages, most frequent first."""
    counted = Counter(hit.passage.language for hit in hits)
    return sorted(counted, key=lambda code: (-counted[code], code))
