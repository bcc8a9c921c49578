"""Extractive answers: the best sentences of the sources, or the reason for an abstention."""

from __future__ import annotations

import copy
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..language.analysis import detect_language, language_of, sentences, tokens
from ..prompts.prompt import Sources
from ..runtime.services import Embedder
from ..values.types import ModelCall
from .metered import MeteredEmbedder

MIN_WORDS = 5  # shorter pieces are headings and fragments
# Weights of a sentence's cosine, its share of the question's terms, and its passage's relevance or cosine. To the
# English model any two Spanish sentences look alike, so terms weigh more in Spanish.
WEIGHTS = {"en": (0.55, 0.20, 0.25), "es": (0.40, 0.35, 0.25)}
LEAD_BONUS = 0.04  # for a quotation at the start of its passage: first sentences name their subject
LENGTH_BONUS = 0.02  # for each further sentence of a quotation, to keep good passages together
FIRST_BONUS = 0.03  # for the top-ranked passage
DEFINITION_BONUS = 0.15  # for a definition, if the question asks for one
DANGLING_PENALTY = 0.15  # for a quotation that starts with a back-reference, or ends before its list
MAX_SENTENCES = (4, 2, 2)  # quoted from the best passage and the next two
NEAR_BEST = 0.88  # another passage is quoted if its run scores at least this share of the best sentence
URGENT_NEAR_BEST = 0.85  # the same for a sentence that calls for help, in a quoted passage
# Lowest score of an answer if its passage was not assessed, by question language.
MIN_SCORE = {"en": 0.50, "es": 0.53}
OTHER_LANGUAGE_PENALTY = 0.15  # for sentences in another language, if some are in the question's
DUPLICATE_COSINE = 0.82  # lowest cosine at which two sentences say the same
CACHE_SIZE = 8192  # sentence vectors; strategies compared side by side share most passages

_MARK = re.compile(r" ?\[\d+(?:\s*[,;]\s*\d+)*\]")  # a passage's own references
_LOOKS_BACK = re.compile(
    r"(?:it|its|they|them|their|this|these|those|that|he|she|such|both|then|so|but|also|however|instead|"
    r"otherwise|suelen?|son|es|dura[n]?|est[eao]s?|es[eao]s?|ell[ao]s?|él|pero|también|además|sin embargo|entonces|así|por eso|"
    r"ambos|ambas|en cambio|en ese caso|in that case|(?:ante )?cualquiera de (?:ell|est)[oa]s|any of (?:these|them))\b",
    re.IGNORECASE,
)
_CALLS_FOR_HELP = re.compile(
    r"\b(?:999|911|112|emergency (?:number|services?|department|call)|ambulance|call for help|"
    r"(?:go|come|get|taken?|call|ring|seek|contact|needs?)\b[^.;]{0,60}\b(?:at once|immediately|straight away|"
    r"right away|without delay|now)|(?:llam|acud|vaya|ve|ir|busc|pid|consult|necesit)\w*\b[^.;]{0,60}\b(?:"
    r"de inmediato|inmediatamente|enseguida|urgencias|sin demora|cuanto antes|ya)|ambulancia|"
    r"número de emergencias?)\b",
    re.IGNORECASE,
)


_ASKS_WHAT = re.compile(r"\W*(?:what (?:is|are)|what's|qu[eé] (?:es|son)|qu[eé] significa)\b", re.IGNORECASE)
_IS = re.compile(r"\b(?:is|are|means|es|son|significa)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of a source.

    Args:
        n: number of the source.
        context: the source's title and headings.
        passage: relevance of the passage, or its cosine to the question; None when unknown.
    """

    n: int
    text: str
    context: str
    language: str
    passage: float | None


class Extractor:
    """Scores sentences against a question, with a cache of sentence vectors."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def metered(self, calls: list[ModelCall]) -> Extractor:
        """A copy that shares the cache and adds its embedding calls to `calls`."""
        own = copy.copy(self)
        own._embedder = MeteredEmbedder(self._embedder, calls)
        return own

    def best(
        self, question: str, candidates: Sequence[Candidate], weights: Mapping[str, float] | None = None
    ) -> list[Candidate]:
        """The sentences to quote, in order; empty when none is good enough.

        Each passage's candidate quotation is its run of consecutive sentences with the best mean score; the
        best passage comes first and can be quoted at greater length. A sentence in a quoted passage that calls
        for help goes first if it scores nearly as well.

        Args:
            weights: idf of the question's terms, by stem, if the passages are known to support an answer;
                then no minimum score applies. None if they were not assessed.
        """
        if not candidates:
            return []
        vectors = self._embed([candidate.text for candidate in candidates])
        scores = self.scores(question, candidates, weights)
        best = float(scores.max())
        if weights is None and best < MIN_SCORE.get(language_of(question), MIN_SCORE["en"]):
            return []
        sources = _by_source(candidates)
        run_scores = [_best_run(rows, candidates, scores, MAX_SENTENCES[1]).score for rows in sources]
        run_scores[0] += FIRST_BONUS
        chosen: list[int] = []

        def quote(rows: Iterable[int]) -> None:
            for i in rows:
                if all(float(vectors[i] @ vectors[j]) < DUPLICATE_COSINE for j in chosen):
                    chosen.append(i)

        for i, longest in zip(np.argsort(-np.array(run_scores), kind="stable"), MAX_SENTENCES, strict=False):
            run = _best_run(sources[i], candidates, scores, longest)
            if not chosen or run.score >= NEAR_BEST * best:
                quote(run.rows)
        urgent = _urgent(chosen, candidates, scores)
        if urgent is not None:
            quote([urgent])
            chosen.sort(key=lambda i: i != urgent)
        return [candidates[i] for i in chosen]

    def closest(self, question: str, candidates: Sequence[Candidate], most: int) -> list[Candidate]:
        """The best sentences, without duplicates, in reading order; no minimum score."""
        if not candidates:
            return []
        vectors = self._embed([candidate.text for candidate in candidates])
        chosen: list[int] = []
        for i in np.argsort(-self.scores(question, candidates), kind="stable"):
            if len(chosen) < most and all(float(vectors[i] @ vectors[j]) < DUPLICATE_COSINE for j in chosen):
                chosen.append(int(i))
        return [candidates[i] for i in sorted(chosen)]

    def scores(
        self, question: str, candidates: Sequence[Candidate], weights: Mapping[str, float] | None = None
    ) -> NDArray[np.float64]:
        """(sentences,) scores of how well each answers the question, about 0 to 1."""
        language = language_of(question)
        terms = weights or dict.fromkeys(tokens(question, language), 1.0)
        vectors = self._embed([candidate.text for candidate in candidates])
        cosine = (vectors @ self._embed([question])[0]).astype(float)
        passage = np.empty_like(cosine)
        for rows in _by_source(candidates):
            relevance = candidates[rows[0]].passage
            passage[rows] = cosine[rows].mean() if relevance is None else relevance
        covered = np.array([_coverage(terms, candidate) for candidate in candidates])
        same_language = np.array([candidate.language == language for candidate in candidates])
        cosine_weight, term_weight, passage_weight = WEIGHTS.get(language, WEIGHTS["en"])
        scores: NDArray[np.float64] = (
            cosine_weight * cosine + term_weight * covered + passage_weight * passage
        )
        if same_language.any():
            scores -= OTHER_LANGUAGE_PENALTY * ~same_language
        if _ASKS_WHAT.match(question):
            scores += DEFINITION_BONUS * np.array([_defines(candidate, terms) for candidate in candidates])
        return scores

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        with self._lock:
            found = {text: self._vectors[text] for text in texts if text in self._vectors}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        if missing:
            fresh, _ = self._embedder.embed(missing, "passage")
            found.update(zip(missing, fresh, strict=True))
            with self._lock:
                self._vectors.update((text, found[text]) for text in missing)
                while len(self._vectors) > CACHE_SIZE:
                    self._vectors.popitem(last=False)
        return np.array([found[text] for text in texts])


def abstention_reason(question: str) -> str:
    """The reason for an abstention, in Spanish for a Spanish question, otherwise in English."""
    if detect_language(question) == "es":
        return "Los pasajes encontrados no responden a esta pregunta"
    return "The passages found do not answer this question"


def read_sources(sources: Sources, relevance: Sequence[float] = ()) -> list[Candidate]:
    """The sentences of numbered sources.

    Args:
        relevance: estimate for each source; by default its cosine to the question, if known.
    """
    candidates: list[Candidate] = []
    for n, hit in enumerate(sources, start=1):
        judged = hit.relevance
        cosine = judged.score if judged and judged.scorer == "cosine" else None
        passage = hit.passage
        worth = relevance[n - 1] if relevance else cosine
        candidates += candidates_of(n, passage.text, passage.full_title, passage.language, worth)
    return candidates


def candidates_of(
    n: int, text: str, context: str = "", language: str = "", passage: float | None = None
) -> Iterable[Candidate]:
    """The sentences of one source, without fragments; the language is detected if not given."""
    language = language or language_of(text)
    for sentence in sentences(_MARK.sub("", text), language):
        if len(sentence.split()) >= MIN_WORDS:
            yield Candidate(n, sentence, context, language, passage)


def _coverage(terms: Mapping[str, float], candidate: Candidate) -> float:
    found = set(tokens(f"{candidate.context} {candidate.text}", candidate.language))
    return sum(terms[term] for term in terms.keys() & found) / sum(terms.values()) if terms else 0.0


def _defines(candidate: Candidate, terms: Mapping[str, float]) -> bool:
    """Whether a sentence starts with the question's subject and a form of "to be"."""
    subject, verb, _ = (
        candidate.text.partition(found[0]) if (found := _IS.search(candidate.text)) else ("", "", "")
    )
    subject_terms = tokens(re.sub(r"\([^)]*\)", "", subject), candidate.language)
    return bool(verb and subject_terms) and terms.keys() >= set(subject_terms)


def _by_source(candidates: Sequence[Candidate]) -> list[list[int]]:
    """The rows of each source's candidates, in order."""
    rows: dict[int, list[int]] = {}
    for i, candidate in enumerate(candidates):
        rows.setdefault(candidate.n, []).append(i)
    return list(rows.values())


class _Run(NamedTuple):
    """Consecutive sentences of one source, and their score as a quotation."""

    score: float
    rows: list[int]


def _best_run(
    rows: Sequence[int], candidates: Sequence[Candidate], scores: NDArray[np.float64], longest: int
) -> _Run:
    """The consecutive rows with the best mean score, including bonuses and penalties."""

    def value(start: int, end: int) -> float:
        first, last = candidates[rows[start]].text, candidates[rows[end - 1]].text
        hanging = (start > 0 and _LOOKS_BACK.match(first) is not None) + 3 * last.endswith(":")
        return (
            float(scores[list(rows[start:end])].mean())
            + LENGTH_BONUS * (end - start - 1)
            + LEAD_BONUS * (start == 0)
            - DANGLING_PENALTY * hanging
        )

    return max(
        _Run(value(start, end), list(rows[start:end]))
        for start in range(len(rows))
        for end in range(start + 1, min(start + longest, len(rows)) + 1)
    )


def _urgent(
    chosen: Sequence[int], candidates: Sequence[Candidate], scores: NDArray[np.float64]
) -> int | None:
    """The best sentence that calls for help in a quoted passage; None when none is good enough."""
    quoted = {candidates[i].n for i in chosen}
    calls = [
        i
        for i, candidate in enumerate(candidates)
        if candidate.n in quoted
        and scores[i] >= URGENT_NEAR_BEST * scores.max()
        and _CALLS_FOR_HELP.search(candidate.text)
        and not _LOOKS_BACK.match(candidate.text)
    ]
    return max(calls, key=lambda i: scores[i], default=None)
