"""Extractive answers: the sentences of the sources that answer best."""

from __future__ import annotations

import copy
import math
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..language.analysis import detect_language, language_of, tokens
from ..language.asking import Kind, asks, gives, parts
from ..language.facts import DRUGS
from ..language.thesaurus import Thesaurus
from ..runtime.services import Embedder
from ..values.types import ModelCall
from .choosing import Choice, choose
from .compatible import Case, case_of
from .metered import MeteredEmbedder
from .quotable import Candidate
from .subject import HEADED, NEARBY, Idea, Reader

# Weights beside a sentence's cosine: the share of the question's ideas that it names, and of what it is asked to give.
NAMED, GIVEN = 0.3, 0.3
# Weights of a passage's relevance (log-odds) and rank (1 / rank) beside the mean cosine of its best sentences.
RELEVANCE, RANK = 0.2, 0.14
BEST_SENTENCES = 3
MIN_COSINE = 0.52  # lowest cosine of the best sentence if its passages were not assessed
OTHER_LANGUAGE = 0.3  # passages in another language must be better by this
DUPLICATE_COSINE = 0.82  # lowest cosine at which two sentences say the same
CACHE_SIZE = 8192  # sentence vectors; strategies compared side by side share most passages

_IS = re.compile(r"\b(?:is|are|means|es|son|significa|llamamos)\b", re.IGNORECASE)


class Extractor:
    """Scores sentences against a question, with a cache of sentence vectors."""

    def __init__(self, embedder: Embedder, thesaurus: Thesaurus | None = None) -> None:
        self._embedder = embedder
        self._reader = Reader(thesaurus)
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

        Args:
            weights: idf of the question's terms, by stem, if the passages are known to support an answer;
                then no minimum score applies. None if they were not assessed.
        """
        language = language_of(question)
        case = case_of(question, language, self._reader.thesaurus)
        allowed = [self._allowed(candidate, case) for candidate in candidates]
        if not any(allowed):
            return []
        vectors = self._embed([candidate.text for candidate in candidates])
        cosine = self._cosine(question, vectors)
        if weights is None and cosine[allowed].max() < MIN_COSINE:
            return []
        scores = np.array(
            [self._scores(question, part, candidates, cosine, vectors, weights) for part in parts(question)]
        )
        scores[:, ~np.array(allowed)] = -np.inf
        spoken = _language(candidates, _worth(candidates, cosine), language)
        similar = (vectors @ vectors.T) >= DUPLICATE_COSINE
        found = choose(Choice(question, tuple(candidates), scores, similar, spoken))
        return [candidates[i] for i in found]

    def closest(self, question: str, candidates: Sequence[Candidate], most: int) -> list[Candidate]:
        """The best sentences, without duplicates, in reading order; no minimum score."""
        if not candidates:
            return []
        vectors = self._embed([candidate.text for candidate in candidates])
        chosen: list[int] = []
        for i in np.argsort(-self._cosine(question, vectors), kind="stable"):
            if len(chosen) < most and all(float(vectors[i] @ vectors[j]) < DUPLICATE_COSINE for j in chosen):
                chosen.append(int(i))
        return [candidates[i] for i in sorted(chosen)]

    def _cosine(self, question: str, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        cosine: NDArray[np.float64] = (vectors @ self._embed([question])[0]).astype(float)
        return cosine

    def _scores(
        self,
        question: str,
        part: str,
        candidates: Sequence[Candidate],
        whole: NDArray[np.float64],
        vectors: NDArray[np.float32],
        weights: Mapping[str, float] | None,
    ) -> NDArray[np.float64]:
        """(sentences,) scores of how well each answers a part of a question.

        The cosine is the mean of those to the part and to the question, which names its subject.

        Args:
            whole: (sentences,) cosines to the question.
        """
        language = language_of(question)
        terms = weights or dict.fromkeys(tokens(question, language), 1.0)
        cosine = whole if part == question else (whole + self._cosine(part, vectors)) / 2
        worth = _worth(candidates, cosine)
        scores: NDArray[np.float64] = (
            cosine
            + NAMED * self._named(self._reader.ideas(question, language, terms), candidates)
            + np.array([worth[candidate.n] for candidate in candidates])
        )
        wanted = asks(part)
        if wanted:
            given = [self._gives(candidate, wanted, terms) for candidate in candidates]
            scores += GIVEN * np.array(given) / len(wanted)
        return scores

    def _gives(self, candidate: Candidate, wanted: frozenset[Kind], terms: Mapping[str, float]) -> int:
        """How many of the wanted kinds a sentence gives."""
        defines = "definition" in wanted and _defines(candidate, terms)
        return len(wanted & gives(candidate.text)) + defines

    def _named(self, ideas: Sequence[Idea], candidates: Sequence[Candidate]) -> NDArray[np.float64]:
        """(sentences,) weighted shares of the ideas that each names, itself, by its headings or its passage."""
        total = sum(idea.weight for idea in ideas)
        found = np.zeros(len(candidates))
        if not total:
            return found
        share = self._reader.share
        for rows in by_source(candidates):
            first = candidates[rows[0]]
            language = first.language
            around = " ".join(candidates[i].text for i in rows)
            for idea in ideas:
                nearby = NEARBY * share(idea, around, language)
                for i in rows:
                    own = share(idea, candidates[i].text, language)
                    headed = HEADED * share(idea, _headed(candidates[i]), language)
                    found[i] += idea.weight * max(own, headed, nearby)
        return found / total

    def _allowed(self, candidate: Candidate, case: Case) -> bool:
        """Whether a sentence can be true of the case, and is about its medicine."""
        if not case.allows(candidate.text, candidate.heading or candidate.context.rpartition(" › ")[2]):
            return False
        if not case.drugs:
            return True
        language = candidate.language
        names = self._reader.concepts(candidate.text, language) | self._reader.stems(candidate.text, language)
        words = {word.lower() for word in re.findall(r"\w+", candidate.text)}
        if case.names_drug(names | words):
            return True
        return not words & DRUGS and case.names_drug(
            self._reader.concepts(_headed(candidate), language)
            | set(re.findall(r"\w+", _headed(candidate).lower()))
        )

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


def by_source(candidates: Sequence[Candidate]) -> list[list[int]]:
    """The rows of each source's candidates, in order."""
    rows: dict[int, list[int]] = {}
    for i, candidate in enumerate(candidates):
        rows.setdefault(candidate.n, []).append(i)
    return list(rows.values())


def _headed(candidate: Candidate) -> str:
    return f"{candidate.context} › {candidate.heading}" if candidate.heading else candidate.context


def _worth(candidates: Sequence[Candidate], cosine: NDArray[np.float64]) -> dict[int, float]:
    """How well each source answers: its best sentences, its relevance and its rank."""
    found = {}
    for rows in by_source(candidates):
        first = candidates[rows[0]]
        best = float(np.sort(cosine[rows])[-BEST_SENTENCES:].mean())
        odds = 0.0 if first.passage is None else _log_odds(first.passage)
        found[first.n] = best + RELEVANCE * odds + RANK / first.n
    return found


def _log_odds(probability: float) -> float:
    clipped = min(max(probability, 0.01), 0.99)
    return math.log(clipped / (1 - clipped))


def _language(candidates: Sequence[Candidate], worth: Mapping[int, float], asked: str) -> str:
    """The language to answer in: the question's, unless a passage in another is clearly better."""
    best: dict[str, float] = {}
    for candidate in candidates:
        value = worth[candidate.n] + OTHER_LANGUAGE * (candidate.language == asked)
        best[candidate.language] = max(best.get(candidate.language, -math.inf), value)
    return max(best, key=lambda code: best[code])


def _defines(candidate: Candidate, terms: Mapping[str, float]) -> bool:
    """Whether a sentence starts with the question's subject and a form of "to be"."""
    subject, verb, _ = (
        candidate.text.partition(found[0]) if (found := _IS.search(candidate.text)) else ("", "", "")
    )
    subject_terms = tokens(re.sub(r"\([^)]*\)", "", subject), candidate.language)
    return bool(verb and subject_terms) and terms.keys() >= set(subject_terms)
