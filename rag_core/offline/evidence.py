"""Whether the sources support an answer, or the offline engine should abstain."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

from ..language.analysis import language_of, words_of
from ..language.maternity import about_others, names_maternity
from ..prompts.prompt import Sources
from ..runtime.services import Index
from ..urgency.frames import is_question
from ..urgency.reading import plain
from ..values.types import Hit
from .quotable import read_sources
from .scorer import OfflineScorer
from .urgent import Urgent

MAX_FREQUENCY = 1000  # document frequencies are capped here
# Lowest support for an answer (tests/benchmarks/fit_answers.py): nine in ten of the dev questions that the collection
# cannot answer, and of sixty-one off-topic ones, stay below theirs.
MIN_SUPPORT = {"en": 0.55, "es": 0.45}  # by question language
MATERNITY_SUPPORT = 0.38  # for a question that names pregnancy, birth or a baby
OTHERS_SUPPORT = 0.90  # for one about a man, an older child or an animal, from passages about maternity
URGENT_SUPPORT = 0.15  # for an emergency for which a passage calls for help
HELPLESS_SUPPORT = 0.70  # for an emergency for which none does
WORDED_SUPPORT = 0.60  # for a cry for help in which triage found no sign


class Support(NamedTuple):
    """How well passages support an answer.

    Args:
        relevance: estimated relevance of each passage, 0 to 1.
        support: the highest of them; 0 without passages.
        enough: whether it is enough to answer.
    """

    relevance: Sequence[float]
    support: float
    enough: bool


class AnswerSupport:
    """Estimates how well passages support an answer.

    Args:
        index: gives document frequencies; without it all terms weigh the same.
    """

    def __init__(self, scorer: OfflineScorer, index: Index | None) -> None:
        self._scorer = scorer
        self._index = index
        self._frequency = functools.lru_cache(maxsize=4096)(self._count)

    def assess(self, question: str, hits: Sequence[Hit]) -> Support:
        """The relevance of passages, and the support they give.

        Support is the relevance of the best passage: one is enough to answer, and a leaflet may have no more.
        On dev it separates better than the mean of the best three. How much is needed depends on whom the question
        is about; far less is needed in an emergency for which a passage calls for help.
        """
        relevance = self._scorer.relevance(question, hits)
        support = max(relevance, default=0.0)
        return Support(relevance, support, support >= _needed(question, hits))

    def terms(self, question: str) -> dict[str, float]:
        """The question's terms as stems, with their idf: ln((1 + N) / (½ + n)).

        n is the number of passages with the term, at most N = MAX_FREQUENCY.
        """
        return {
            word.stem: math.log(
                (1 + MAX_FREQUENCY) / (0.5 + self._frequency(question[word.start : word.end]))
            )
            for word in words_of(question, language_of(question))
            if not word.stop and len(word.form) > 1
        }

    def _count(self, word: str) -> int:
        """Number of passages with a term, up to MAX_FREQUENCY; 0 without an index."""
        return min(self._index.document_frequency(word), MAX_FREQUENCY) if self._index else 0


def _needed(question: str, hits: Sequence[Hit]) -> float:
    """Lowest support for an answer to a question from these passages."""
    urgent = Urgent.of(question)
    if urgent.triage.urgent:
        candidates = read_sources(Sources(hits))
        if urgent.rank_in(candidates) is not None:
            return URGENT_SUPPORT
        lay_emergency = urgent.triage.level == "emergency" and not urgent.triage.clinician
        if lay_emergency and urgent.triage.signs and not urgent.is_helped(candidates):
            return HELPLESS_SUPPORT
        if lay_emergency and not urgent.triage.signs and not is_question(plain(question)):
            return WORDED_SUPPORT
    if names_maternity(question):
        return MATERNITY_SUPPORT
    if about_others(question) and 2 * sum(names_maternity(hit.passage.text) for hit in hits) > len(hits):
        return OTHERS_SUPPORT
    return MIN_SUPPORT.get(language_of(question), MIN_SUPPORT["en"])


def labelled_low(hit: Hit) -> bool:
    """Whether a passage is labelled Low; it is quoted only where no better one can be."""
    return hit.relevance is not None and hit.relevance.label == "Low"
