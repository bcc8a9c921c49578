"""Whether the sources hold an answer at all: when the offline engine abstains."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

from ..language.analysis import language_of, words_of
from ..language.thesaurus import Thesaurus
from ..runtime.services import Index
from ..values.types import Hit
from .scorer import OfflineScorer

TOP_PASSAGES = 3  # passages that count
MAX_SHORT_TERMS = 3  # terms up to which a question has to find them all in one passage
COUNTED = 1000  # passages with a term are counted up to here
# Support below which there is no answer, by language of the question: some nine in ten of the dev questions
# that the collection cannot answer, and of sixty-one about other matters, stay below
# (tests/benchmarks/fit_answers.py).
MIN_SUPPORT = {"en": 0.46, "es": 0.33}


class Support(NamedTuple):
    """Passages weighed for a question.

    Args:
        relevance: estimate for each passage, 0 to 1.
        support: what they amount to together, 0 to 1.
        enough: whether that is enough to answer.
    """

    relevance: Sequence[float]
    support: float
    enough: bool


class AnswerSupport:
    """How well passages support an answer.

    Args:
        index: where terms are counted; without it all terms weigh the same.
    """

    def __init__(self, scorer: OfflineScorer, thesaurus: Thesaurus | None, index: Index | None) -> None:
        self._scorer = scorer
        self._thesaurus = thesaurus
        self._index = index
        self._having = functools.lru_cache(maxsize=4096)(self._count)

    def assess(self, question: str, hits: Sequence[Hit]) -> Support:
        """The passages' relevance and what it amounts to.

        Support is the mean relevance of the best three passages: one can match by chance, but a matter
        that the collection covers has several. A question of up to three terms that names no concept of
        the thesaurus is all the more easily matched by chance ("car insurance", where a passage speaks of
        being sure): its support is multiplied by the `covered` of its terms, and must reach the higher
        threshold.
        """
        relevance = self._scorer.relevance(question, hits)
        best = sorted(relevance, reverse=True)[:TOP_PASSAGES]
        support = sum(best) / len(best) if best else 0.0
        needed = MIN_SUPPORT.get(language_of(question), MIN_SUPPORT["en"])
        if self._easily_matched(question):
            support *= self.covered(question, hits)
            needed = max(MIN_SUPPORT.values())
        return Support(relevance, support, support >= needed)

    def covered(self, question: str, hits: Sequence[Hit]) -> float:
        """Idf-weighted share of the question's terms in the passage that has most of it, 0 to 1."""
        weights = self.terms(question)
        if not weights or not hits:
            return 0.0
        language = language_of(question)
        held = [{word.stem for word in words_of(hit.passage.indexed_text, language)} for hit in hits]
        most = max(sum(weights[stem] for stem in weights.keys() & stems) for stems in held)
        return most / sum(weights.values())

    def terms(self, question: str) -> dict[str, float]:
        """The question's terms as stems, and how much each tells: ln((1 + N) / (½ + n)), N counted to COUNTED.

        n is the number of passages with the term, so that a term of all of them tells next to nothing.
        """
        return {
            word.stem: math.log((1 + COUNTED) / (0.5 + self._having(question[word.start : word.end])))
            for word in words_of(question, language_of(question))
            if not word.stop and len(word.form) > 1
        }

    def _easily_matched(self, question: str) -> bool:
        """Whether a question is short and names nothing that the thesaurus knows."""
        language = language_of(question)
        named = self._thesaurus is not None and self._thesaurus.find(question, language)
        return not named and len(self.terms(question)) <= MAX_SHORT_TERMS

    def _count(self, word: str) -> int:
        """Passages with a term; 0 without an index."""
        return len(self._index.lexical(word, COUNTED, 1.5, 0.75)) if self._index else 0
