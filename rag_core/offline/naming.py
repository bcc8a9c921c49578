"""Whether a passage names what a question names."""

from __future__ import annotations

import functools
from collections.abc import Iterable
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
        rarest: how far a passage names the one that is rarest in English, 0 to 1.
        words: their number.
    """

    rarest: float
    words: int


class _Text(NamedTuple):
    stems: frozenset[str]
    forms: frozenset[str]
    concepts: frozenset[str]


class Naming:
    """Finds the rarest words of questions in passages, both as the embedding model reads them: Spanish as its gloss.

    A passage names a word by its stem, by another name of its concept, or in part by a similar spelling
    ("subutecks", "Subutex").
    """

    def __init__(self, scorer: OfflineScorer, thesaurus: Thesaurus | None = None) -> None:
        self._scorer = scorer
        self._thesaurus = thesaurus
        self._passage = functools.lru_cache(maxsize=CACHED)(self._read)

    def of(self, question: str, hit: Hit) -> Named:
        """Whether a passage names a question's rarest word; the first of equally rare ones."""
        spoken = question_language(question, hit.passage.language)
        read, language = self._scorer.as_read(question, spoken)
        passage = self._passage(plain_text(hit.passage), hit.passage.language)
        mentions = self._thesaurus.find(read, language) if self._thesaurus else ()
        named: dict[str, tuple[float, float]] = {}  # rarity and share named, by stem
        for word in words_of(read, language):
            form = read[word.start : word.end]
            short = len(word.form) < 2 or (len(form) < SHORTEST and not form.isupper())
            general = word.stop or word.stem in framing_terms() or names_maternity(form)
            if short or general or word.form.isdigit() or word.stem in named:
                continue
            own = {one.concept.id for one in mentions if one.start <= word.start < one.end}
            known = word.stem in passage.stems or own & passage.concepts
            share = 1.0 if known else _closest(word.form, passage.forms)
            named[word.stem] = (self._scorer.pieces.rarity(form), share)
        _, rarest = max(named.values(), key=lambda pair: pair[0], default=(0.0, 0.0))
        return Named(rarest, len(named))

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
