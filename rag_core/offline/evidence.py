"""Whether the sources support an answer, or the offline engine should abstain."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..language.analysis import Word, language_of, tokens, words_of
from ..language.thesaurus import Thesaurus
from ..runtime.services import Index
from ..values.types import Hit, Passage
from .scorer import OfflineScorer

TOP_PASSAGES = 3  # passages averaged for support
MAX_SHORT_TERMS = 3  # terms of a short question
MAX_FREQUENCY = 1000  # document frequencies are capped here
# Lowest support for an answer, by question language. About nine in ten of the dev questions that the collection
# cannot answer, and of sixty-one off-topic ones, stay below (tests/benchmarks/fit_answers.py).
MIN_SUPPORT = {"en": 0.46, "es": 0.33}


class Support(NamedTuple):
    """How well passages support an answer.

    Args:
        relevance: estimated relevance of each passage, 0 to 1.
        support: combined support, 0 to 1.
        enough: whether it is enough to answer.
    """

    relevance: Sequence[float]
    support: float
    enough: bool


class AnswerSupport:
    """Estimates how well passages support an answer.

    Args:
        index: gives document frequencies; without it all terms weigh the same.
        read: a text of a language as the model reads it; see `Embedder.read`.
    """

    def __init__(
        self,
        scorer: OfflineScorer,
        thesaurus: Thesaurus | None,
        index: Index | None,
        read: Callable[[str, str], str] = lambda text, language: text,
    ) -> None:
        self._scorer = scorer
        self._read = read
        self._thesaurus = thesaurus
        self._index = index
        self._frequency = functools.lru_cache(maxsize=4096)(self._count)

    def assess(self, question: str, hits: Sequence[Hit]) -> Support:
        """The relevance of passages, and the support they give.

        Support is the mean relevance of the best three passages: one can match by chance, but a topic that the
        collection covers has several. Questions of up to three terms without a thesaurus concept match by
        chance most easily ("car insurance", where a passage speaks of being sure): their support is
        multiplied by `coverage`, and must reach the higher threshold.
        """
        relevance = self._scorer.relevance(question, hits)
        best = sorted(relevance, reverse=True)[:TOP_PASSAGES]
        support = sum(best) / len(best) if best else 0.0
        threshold = MIN_SUPPORT.get(language_of(question), MIN_SUPPORT["en"])
        if self._easily_matched(question):
            support *= self.coverage(question, hits)
            threshold = max(MIN_SUPPORT.values())
        return Support(relevance, support, support >= threshold)

    def coverage(self, question: str, hits: Sequence[Hit]) -> float:
        """The highest idf-weighted share of the question's terms in one passage, 0 to 1.

        With a passage in another language, the question is compared as the model reads both.
        """
        weights = self.terms(question)
        if not weights:
            return 0.0
        covered = [sum(weights[stem] for stem in self._named(question, hit.passage)) for hit in hits]
        return max(covered, default=0.0) / sum(weights.values())

    def terms(self, question: str) -> dict[str, float]:
        """The question's terms as stems, with their idf: ln((1 + N) / (½ + n)).

        n is the number of passages with the term, at most N = MAX_FREQUENCY.
        """
        return {
            word.stem: math.log(
                (1 + MAX_FREQUENCY) / (0.5 + self._frequency(question[word.start : word.end]))
            )
            for word in self._words(question)
        }

    def _named(self, question: str, passage: Passage) -> set[str]:
        """The stems of the question's terms that a passage names."""
        language, words = language_of(question), self._words(question)
        if passage.language == language:
            stems = set(tokens(passage.indexed_text, language))
            return {word.stem for word in words if word.stem in stems}
        stems = set(tokens(self._read(passage.indexed_text, passage.language), "en"))
        readings = {word.stem: self._read(question[word.start : word.end], language) for word in words}
        return {stem for stem, read in readings.items() if stems & set(tokens(read, "en"))}

    def _words(self, question: str) -> list[Word]:
        """The question's words, without stop words and single letters."""
        words = words_of(question, language_of(question))
        return [word for word in words if not word.stop and len(word.form) > 1]

    def _easily_matched(self, question: str) -> bool:
        """Whether a question is short and names no thesaurus concept."""
        language = language_of(question)
        named = self._thesaurus is not None and self._thesaurus.find(question, language)
        return not named and len(self.terms(question)) <= MAX_SHORT_TERMS

    def _count(self, word: str) -> int:
        """Number of passages with a term, up to MAX_FREQUENCY; 0 without an index."""
        return min(self._index.document_frequency(word), MAX_FREQUENCY) if self._index else 0


def labelled_low(hit: Hit) -> bool:
    """Whether a passage is labelled Low; it is quoted only where no better one can be."""
    return hit.relevance is not None and hit.relevance.label == "Low"
