"""Extractive answers: the sentences of the sources that answer best, or the reason why none does."""

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

SHORTEST = 5  # words; shorter pieces are headings and fragments
# Of a sentence's cosine, its share of the question's terms, its passage's relevance or cosine. The model reads
# English: any two Spanish sentences are alike to it, so that in Spanish the terms count for more.
WEIGHTS = {"en": (0.55, 0.20, 0.25), "es": (0.40, 0.35, 0.25)}
LEAD_BONUS = 0.04  # for a quotation that begins its passage: first sentences name their subject
LENGTH_BONUS = 0.02  # for each further sentence of a quotation, so that it reads on where it is good
FIRST_BONUS = 0.03  # for the first passage, the strategy's own first choice
DEFINES_BONUS = 0.15  # for a sentence that says what something is, when that is asked
DANGLING_PENALTY = 0.15  # for a quotation that begins with a word that looks back, or ends before its list
LONGEST = (4, 2, 2)  # sentences quoted at most from the best passage and the two next
NEAR_BEST = 0.88  # a further passage is quoted when its run scores at least this share of the best sentence
URGENT_NEAR_BEST = 0.85  # the same for a sentence that calls for help, in a passage that is quoted
# A best sentence below this is no answer, where nobody vouches for its passage; by language of the question.
MIN_SCORE = {"en": 0.50, "es": 0.53}
OTHER_LANGUAGE = 0.15  # taken from sentences not in the question's language, when there are some that are
DUPLICATE_COSINE = 0.82  # cosine to a quoted sentence from which another one says the same
CACHE_SIZE = 8192  # sentence vectors kept; strategies side by side share most of their passages

_MARK = re.compile(r" ?\[\d+(?:\s*[,;]\s*\d+)*\]")  # a passage's own references are not ours
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
        passage: relevance of the whole passage, or its cosine to the question; None when neither is known.
    """

    n: int
    text: str
    context: str
    language: str
    passage: float | None


class Extractor:
    """Scores sentences against a question; keeps the vectors of the sentences it has seen."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def metered(self, calls: list[ModelCall]) -> Extractor:
        """The same, its vectors shared, with its embeddings on a bill."""
        own = copy.copy(self)
        own._embedder = MeteredEmbedder(self._embedder, calls)
        return own

    def best(
        self, question: str, candidates: Sequence[Candidate], weights: Mapping[str, float] | None = None
    ) -> list[Candidate]:
        """The sentences to quote, in order; none when no sentence is good enough.

        From each passage the run of neighbouring sentences with the best mean score is a candidate
        quotation; the best passage is quoted longest and comes first. A sentence of a quoted passage that
        calls for help, and is about as good, goes before everything.

        Args:
            weights: how much each of the question's terms tells, by its stem, when the passages are known
                to support an answer, so that their best sentence will do; None when nobody has looked.
        """
        if not candidates:
            return []
        vectors = self._embed([candidate.text for candidate in candidates])
        scores = self.scores(question, candidates, weights)
        best = float(scores.max())
        if weights is None and best < MIN_SCORE.get(language_of(question), MIN_SCORE["en"]):
            return []
        sources = _by_source(candidates)
        worth = [_best_run(rows, candidates, scores, LONGEST[1]).score for rows in sources]
        worth[0] += FIRST_BONUS
        chosen: list[int] = []

        def quote(rows: Iterable[int]) -> None:
            for i in rows:
                if all(float(vectors[i] @ vectors[j]) < DUPLICATE_COSINE for j in chosen):
                    chosen.append(i)

        for i, longest in zip(np.argsort(-np.array(worth), kind="stable"), LONGEST, strict=False):
            run = _best_run(sources[i], candidates, scores, longest)
            if not chosen or run.score >= NEAR_BEST * best:
                quote(run.rows)
        urgent = _urgent(chosen, candidates, scores)
        if urgent is not None:
            quote([urgent])
            chosen.sort(key=lambda i: i != urgent)
        return [candidates[i] for i in chosen]

    def closest(self, question: str, candidates: Sequence[Candidate], most: int) -> list[Candidate]:
        """The best sentences, without repetitions, in reading order; whatever the evidence is worth."""
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
        """(sentences,) how well each answers the question, about 0 to 1."""
        language = language_of(question)
        wanted = weights or dict.fromkeys(tokens(question, language), 1.0)
        vectors = self._embed([candidate.text for candidate in candidates])
        cosine = (vectors @ self._embed([question])[0]).astype(float)
        passage = np.empty_like(cosine)
        for rows in _by_source(candidates):
            known = candidates[rows[0]].passage
            passage[rows] = cosine[rows].mean() if known is None else known
        covered = np.array([_coverage(wanted, candidate) for candidate in candidates])
        own = np.array([candidate.language == language for candidate in candidates])
        own_weight, term_weight, passage_weight = WEIGHTS.get(language, WEIGHTS["en"])
        scores: NDArray[np.float64] = own_weight * cosine + term_weight * covered + passage_weight * passage
        if own.any():
            scores -= OTHER_LANGUAGE * ~own
        if _ASKS_WHAT.match(question):
            scores += DEFINES_BONUS * np.array([_defines(candidate, wanted) for candidate in candidates])
        return scores

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        with self._lock:
            held = {text: self._vectors[text] for text in texts if text in self._vectors}
        missing = [text for text in dict.fromkeys(texts) if text not in held]
        if missing:
            fresh, _ = self._embedder.embed(missing, "passage")
            held.update(zip(missing, fresh, strict=True))
            with self._lock:
                self._vectors.update((text, held[text]) for text in missing)
                while len(self._vectors) > CACHE_SIZE:
                    self._vectors.popitem(last=False)
        return np.array([held[text] for text in texts])


def abstention_reason(question: str) -> str:
    """The reason for an abstention, in Spanish to a Spanish question and in English to any other."""
    if detect_language(question) == "es":
        return "Ninguna frase de los pasajes responde con suficiente claridad a la pregunta"
    return "No sentence of the passages answers the question clearly enough"


def read_sources(sources: Sources, relevance: Sequence[float] = ()) -> list[Candidate]:
    """The sentences of numbered sources.

    Args:
        relevance: estimate for each source; without it, its cosine to the question where that is known.
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
    """The sentences of one source, fragments left out; its language is detected where none is given."""
    language = language or language_of(text)
    for sentence in sentences(_MARK.sub("", text), language):
        if len(sentence.split()) >= SHORTEST:
            yield Candidate(n, sentence, context, language, passage)


def _coverage(wanted: Mapping[str, float], candidate: Candidate) -> float:
    held = set(tokens(f"{candidate.context} {candidate.text}", candidate.language))
    return sum(wanted[term] for term in wanted.keys() & held) / sum(wanted.values()) if wanted else 0.0


def _defines(candidate: Candidate, wanted: Mapping[str, float]) -> bool:
    """Whether a sentence begins with what was asked for and says that it is something."""
    subject, verb, _ = (
        candidate.text.partition(found[0]) if (found := _IS.search(candidate.text)) else ("", "", "")
    )
    named = tokens(re.sub(r"\([^)]*\)", "", subject), candidate.language)
    return bool(verb and named) and wanted.keys() >= set(named)


def _by_source(candidates: Sequence[Candidate]) -> list[list[int]]:
    """Rows of the candidates of each source, in order."""
    rows: dict[int, list[int]] = {}
    for i, candidate in enumerate(candidates):
        rows.setdefault(candidate.n, []).append(i)
    return list(rows.values())


class _Run(NamedTuple):
    """Neighbouring sentences of one source, and their worth as a quotation."""

    score: float
    rows: list[int]


def _best_run(
    rows: Sequence[int], candidates: Sequence[Candidate], scores: NDArray[np.float64], longest: int
) -> _Run:
    """The neighbouring rows with the best mean score, bonuses and losses counted."""

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
    """The best sentence that calls for help in a passage that is quoted; None when none is good enough."""
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
