"""How much of what a question names its passages name too."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..language.analysis import tokens, words_of
from ..language.maternity import names_maternity
from ..language.thesaurus import Thesaurus
from ..values.types import Hit
from .scorer import OfflineScorer, framing_terms, plain_text, question_language

ALIKE = (
    0.4,
    0.8,
)  # shares of letter pairs in common: up to the first, words are unrelated; from the second, the same
SHORTEST = 4  # letters of a word; shorter ones count only in capitals, as abbreviations
CACHED = 8192


class Named(NamedTuple):
    """The words of a question that are not about maternity in general.

    Args:
        share: how much of them the passages name, 0 to 1; a word counts the more, the rarer it is in English.
        words: their number.
    """

    share: float
    words: int


class _Text(NamedTuple):
    stems: frozenset[str]
    forms: frozenset[str]
    concepts: frozenset[str]


class Naming:
    """Finds the words of questions in passages, both as the embedding model reads them: Spanish as its gloss.

    A passage names a word by its stem, by another name of its concept, or in part by a similar spelling
    ("subutecks", "Subutex").
    """

    def __init__(self, scorer: OfflineScorer, thesaurus: Thesaurus | None = None) -> None:
        self._scorer = scorer
        self._thesaurus = thesaurus
        self._passage = functools.lru_cache(maxsize=CACHED)(self._read)

    def of(self, question: str, hits: Sequence[Hit]) -> Named:
        """How much of the question the passages name together."""
        if not hits:
            return Named(0.0, 0)
        read, language = self._scorer.as_read(question, question_language(question, hits[0].passage.language))
        passages = [self._passage(plain_text(hit.passage), hit.passage.language) for hit in hits]
        stems, forms, concepts = (frozenset().union(*parts) for parts in zip(*passages, strict=True))
        mentions = self._thesaurus.find(read, language) if self._thesaurus else ()
        weights, found = [], []
        for stem, word in {
            word.stem: word
            for word in words_of(read, language)
            if not word.stop and len(word.form) > 1 and not word.form.isdigit()
        }.items():
            form = read[word.start : word.end]
            short = len(form) < SHORTEST and not form.isupper()
            if short or stem in framing_terms() or names_maternity(form):
                continue
            own = {one.concept.id for one in mentions if one.start <= word.start < one.end}
            weights.append(self._scorer.pieces.rarity(form))
            found.append(1.0 if stem in stems or own & concepts else _closest(word.form, forms))
        total = sum(weights)
        named = sum(weight * share for weight, share in zip(weights, found, strict=True))
        return Named(named / total if total else 0.0, len(weights))

    def _read(self, text: str, language: str) -> _Text:
        read, spoken = self._scorer.as_read(text, language)
        named = self._thesaurus.find(read, spoken) if self._thesaurus else ()
        if self._thesaurus and read != text:
            named = (*named, *self._thesaurus.find(text, language))
        return _Text(
            frozenset(tokens(read, spoken)),
            frozenset(
                word.form for word in words_of(read, spoken) if not word.stop and len(word.form) >= SHORTEST
            ),
            frozenset(one.concept.id for one in named),
        )


def _closest(form: str, others: Iterable[str]) -> float:
    """How similar the most similar word is, 0 to 1, by Dice's coefficient of letter pairs; see ALIKE."""
    if len(form) < SHORTEST:
        return 0.0
    own = _pairs(form)
    best = max(
        (2 * len(own & _pairs(other)) / (len(own) + len(_pairs(other))) for other in others), default=0.0
    )
    unrelated, same = ALIKE
    return min(max(0.0, (best - unrelated) / (same - unrelated)), 1.0)


@functools.lru_cache(maxsize=4 * CACHED)
def _pairs(word: str) -> frozenset[str]:
    """The pairs of neighbouring letters, its ends included."""
    ended = f"^{word}$"
    return frozenset(ended[i : i + 2] for i in range(len(word) + 1))
