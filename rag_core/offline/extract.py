"""Extractive answers: the sentences of the sources that answer best."""

from __future__ import annotations

import copy
import math
import re
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..language.analysis import detect_language, language_of, tokens
from ..language.asking import Kind, asks, gives, parts
from ..language.facts import DRUGS
from ..language.thesaurus import Thesaurus
from ..runtime.services import Embedder
from ..urgency.triage import triage
from ..values.types import ModelCall
from .choosing import Choice, choose
from .compatible import Case, case_of
from .metered import MeteredEmbedder
from .quotable import Candidate
from .subject import Idea, Reader

# Weights of the features of a sentence (`Extractor.features`), fitted on dev by tests/benchmarks/fit_sentences.py; but that
# of the kinds of answer, fitted as 0.20, is from the plateau (0.28 to 0.36) where most whole dev answers are acceptable.
WEIGHTS = np.array([1.0, 0.32, 0.42, 0.32, 0.11, 0.20, 0.11])
BEST_SENTENCES = 3
MIN_COSINE = 0.52  # lowest cosine of the best sentence if its passages were not assessed
OTHER_SENTENCE = 0.2  # the best sentence in another language must score more by this
OTHER_PASSAGE = 0.15  # and the best passage be worth more by this
DUPLICATE_COSINE = 0.82  # lowest cosine at which two sentences say the same
DUPLICATE_ACROSS = 0.72  # the same for two in different languages
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
        if triage(question).urgent:  # what to do now names no medicine
            case = replace(case, drugs=frozenset())
        allowed = [
            self._allowed(candidates[i], case, passage)
            for rows in by_source(candidates)
            for passage in [" ".join(candidates[i].text for i in rows)]
            for i in rows
        ]
        if not any(allowed):
            return []
        vectors = self._embed([candidate.text for candidate in candidates])
        cosine = self._cosine(question, vectors)
        if weights is None and cosine[allowed].max() < MIN_COSINE:
            return []
        terms = weights or dict.fromkeys(tokens(question, language), 1.0)
        features = [self.features(question, part, candidates, terms) for part in parts(question)]
        scores = np.array(features) @ WEIGHTS
        scores[:, ~np.array(allowed)] = -np.inf
        if "food" in asks(question) and not any(
            "food" in gives(one.text) for one, may in zip(candidates, allowed, strict=True) if may
        ):  # "what may I eat" is not answered by what else there is to say of its subject
            return []
        spoken = _language(candidates, scores.max(axis=0), np.max(features, axis=0), language)
        languages = np.array([candidate.language for candidate in candidates])
        least = np.where(languages[:, None] == languages, DUPLICATE_COSINE, DUPLICATE_ACROSS)
        similar = (vectors @ vectors.T) >= least
        found = choose(Choice(question, tuple(candidates), scores, similar, spoken))
        return [candidates[i] for i in found]

    def closest(
        self, question: str, candidates: Sequence[Candidate], most: int, skip: int = 0
    ) -> list[Candidate]:
        """The best sentences after the `skip` very best, without duplicates, in reading order; no minimum score."""
        if not candidates:
            return []
        vectors = self._embed([candidate.text for candidate in candidates])
        chosen: list[int] = []
        for i in np.argsort(-self._cosine(question, vectors), kind="stable"):
            if len(chosen) < skip + most and all(
                float(vectors[i] @ vectors[j]) < DUPLICATE_COSINE for j in chosen
            ):
                chosen.append(int(i))
        return [candidates[i] for i in sorted(chosen[skip:])]

    def _cosine(self, question: str, vectors: NDArray[np.float32]) -> NDArray[np.float64]:
        cosine: NDArray[np.float64] = (vectors @ self._embed([question])[0]).astype(float)
        return cosine

    def features(
        self,
        question: str,
        part: str,
        candidates: Sequence[Candidate],
        terms: Mapping[str, float],
    ) -> NDArray[np.float64]:
        """(sentences, 7) what tells whether each sentence answers a part of a question.

        Its cosine; the share of the kinds of answer asked for that it gives; the weighted shares of the question's
        ideas that its passage and its headings name; and of its passage the mean cosine of the best sentences, the
        relevance (log-odds) and 1 / rank. The cosine is the mean of those to the part and to the question, which
        names its subject.

        Args:
            terms: idf of the question's terms, by stem.
        """
        vectors = self._embed([candidate.text for candidate in candidates])
        cosine = self._cosine(question, vectors)
        if part != question:
            cosine = (cosine + self._cosine(part, vectors)) / 2
        wanted = asks(part)
        ideas = self._reader.ideas(question, language_of(question), terms)
        found = np.zeros((len(candidates), len(WEIGHTS)))
        for rows in by_source(candidates):
            first = candidates[rows[0]]
            named = self._share(ideas, " ".join(candidates[i].text for i in rows), first.language)
            best = float(np.sort(cosine[rows])[-BEST_SENTENCES:].mean())
            odds = 0.0 if first.passage is None else _log_odds(first.passage)
            for i in rows:
                given = self._gives(candidates[i], wanted, terms)
                headed = self._share(ideas, _headed(candidates[i]), first.language)
                found[i] = (cosine[i], given, named, headed, best, odds, 1 / first.n)
        return found

    def _gives(self, candidate: Candidate, wanted: frozenset[Kind], terms: Mapping[str, float]) -> float:
        """The share of the wanted kinds that a sentence gives; 0 when none is wanted."""
        defines = "definition" in wanted and _defines(candidate, terms)
        return (len(wanted & gives(candidate.text)) + defines) / max(len(wanted), 1)

    def _share(self, ideas: Sequence[Idea], text: str, language: str) -> float:
        """The weighted share of ideas that a text names; 0 without ideas."""
        named = sum(idea.weight * self._reader.share(idea, text, language) for idea in ideas)
        return named / (sum(idea.weight for idea in ideas) or 1.0)

    def _allowed(self, candidate: Candidate, case: Case, passage: str) -> bool:
        """Whether a sentence of a passage can be true of the case, and is about its medicine."""
        section = candidate.heading or candidate.context.rpartition(" › ")[2]
        if not (
            case.is_patient(f"{candidate.context} {passage}")
            and case.is_her_time(candidate.text, section, _headed(candidate), passage)
            and case.allows(candidate.text, section)
            and (candidate.needs_previous or case.is_its_use(candidate.text, section, _headed(candidate)))
            and (not case.refused or case.may_be_had(candidate.text, self._names(candidate.text, candidate)))
            and (
                not case.others
                or case.is_its_vaccine(candidate.text, self._concepts(candidate.text, candidate))
            )
        ):
            return False
        if not case.drugs or candidate.leads:  # the items after it name the medicine
            return True
        return self._of_its_medicine(candidate, section, case)

    def _concepts(self, text: str, candidate: Candidate) -> frozenset[str]:
        return self._reader.concepts(text, candidate.language)

    def _names(self, text: str, candidate: Candidate) -> frozenset[str]:
        """The concepts and the words of a text in a sentence's language."""
        return self._concepts(text, candidate) | self._reader.forms(text, candidate.language)

    def _of_its_medicine(self, candidate: Candidate, section: str, case: Case) -> bool:
        """Whether a sentence names the question's medicine or its class, or none, where the nearest heading does."""
        for text in (candidate.text, section, _headed(candidate)):
            names = self._names(text, candidate)
            if case.names_drug(names):
                return True
            if names & DRUGS or names & self._reader.medicines:
                return text == candidate.text and self._is_shared_caution(candidate, case)
        return False

    def _is_shared_caution(self, candidate: Candidate, case: Case) -> bool:
        """Whether a sentence forbids a medicine that the question's is made from, by its name.

        What forbids ergometrine forbids methylergometrine.
        """
        forbidden = self._reader.forms(candidate.text, candidate.language) & DRUGS
        return "avoid" in gives(candidate.text) and any(
            word != drug and drug.endswith(word) for word in forbidden for drug in case.drugs
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


def _log_odds(probability: float) -> float:
    clipped = min(max(probability, 0.01), 0.99)
    return math.log(clipped / (1 - clipped))


def _language(
    candidates: Sequence[Candidate],
    totals: NDArray[np.float64],
    features: NDArray[np.float64],
    asked: str,
) -> str:
    """The language to answer in: the question's, unless another has both a clearly better sentence and a better passage.

    A passage is worth the mean cosine of its best sentences, its relevance and its rank.

    Args:
        totals: (sentences,) their scores; -inf where they must not be quoted.
    """
    worth = features[:, 4] + features[:, 5:] @ WEIGHTS[5:]
    best: dict[str, tuple[float, float]] = {}
    for candidate, total, value in zip(candidates, totals.tolist(), worth.tolist(), strict=True):
        if total > -math.inf:
            sentence, passage = best.get(candidate.language, (-math.inf, -math.inf))
            best[candidate.language] = max(sentence, total), max(passage, value)
    other = max(best, key=lambda code: best[code])
    if asked not in best:
        return other
    better = (
        best[other][0] > best[asked][0] + OTHER_SENTENCE and best[other][1] > best[asked][1] + OTHER_PASSAGE
    )
    return other if better else asked


def _defines(candidate: Candidate, terms: Mapping[str, float]) -> bool:
    """Whether a sentence starts with the question's subject and a form of "to be"."""
    subject, verb, _ = (
        candidate.text.partition(found[0]) if (found := _IS.search(candidate.text)) else ("", "", "")
    )
    subject_terms = tokens(re.sub(r"\([^)]*\)", "", subject), candidate.language)
    return bool(verb and subject_terms) and terms.keys() >= set(subject_terms)
