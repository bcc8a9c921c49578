"""How far passages name what a question names."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..language.analysis import tokens, words_of
from ..language.maternity import names_maternity
from ..language.thesaurus import Thesaurus
from ..values.types import Hit
from .scorer import OfflineScorer, framing_terms, plain_text, question_language

# shares of letter pairs in common: up to the first, words are unrelated; from the second, the same
ALIKE = (0.4, 0.8)
SPECIAL = 0.65  # rarity from which a word says what is asked about; "already" and "started" have 0.6
SHORTEST = 4  # letters of a word; shorter ones count only in capitals, as abbreviations
CACHED = 8192


class Named(NamedTuple):
    """What passages name of the words of a question that are not about maternity in general.

    Args:
        best: share of them that the best passage names, 0 to 1, weighted by how rare they are in English.
        any: the same of all passages together.
        felt: by how much the question's cosine to the best passage falls on average when one of them is left out; a word
            that the passage is not about does not lower it.
        words: their number.
    """

    best: float
    any: float
    felt: float
    words: int


class _Word(NamedTuple):
    """A word of a question as read: its place, its rarity, 0 to 1, and the concepts it names."""

    start: int
    end: int
    stem: str
    form: str
    rarity: float
    concepts: frozenset[str]


class _Text(NamedTuple):
    stems: frozenset[str]
    forms: frozenset[str]
    concepts: frozenset[str]


class Naming:
    """Finds the words of questions in passages, both as the embedding model reads them: Spanish as its gloss.

    A passage names a word by its stem, by another name of its concept, or in part by a similar
    spelling ("subutecks", "Subutex").
    """

    def __init__(self, scorer: OfflineScorer, thesaurus: Thesaurus | None = None) -> None:
        self._scorer = scorer
        self._thesaurus = thesaurus
        self._passage = functools.lru_cache(maxsize=CACHED)(self._read)

    def of(self, question: str, hits: Sequence[Hit], best: int) -> Named:
        """How far passages name a question's words.

        Args:
            hits: at least one.
            best: place of the best of them.
        """
        spoken = question_language(question, hits[best].passage.language)
        read, language = self._scorer.as_read(question, spoken)
        words = self._words(read, language)
        if not words:
            return Named(0.0, 0.0, 0.0, 0)
        passages = [self._passage(plain_text(hit.passage), hit.passage.language) for hit in hits]
        others = [*passages[:best], *passages[best + 1 :]]
        rarity = sum(word.rarity for word in words) or 1.0
        in_best = [_share(word, passages[best]) for word in words]
        in_any = [
            max([share, *(_share(word, other) for other in others)]) if share < 1 else 1.0
            for word, share in zip(words, in_best, strict=True)
        ]
        return Named(
            sum(word.rarity * share for word, share in zip(words, in_best, strict=True)) / rarity,
            sum(word.rarity * share for word, share in zip(words, in_any, strict=True)) / rarity,
            self._felt(read, language, words, hits[best]),
            len(words),
        )

    def _words(self, read: str, language: str) -> list[_Word]:
        """The words that count, each once: "contractions" only where nothing more special is asked about."""
        mentions = self._thesaurus.find(read, language) if self._thesaurus else ()
        found: dict[str, _Word] = {}
        general: set[str] = set()
        for word in words_of(read, language):
            form = read[word.start : word.end]
            short = len(word.form) < 2 or (len(form) < SHORTEST and not form.isupper())
            vague = word.stop or word.stem in framing_terms()
            if short or vague or word.form.isdigit() or word.stem in found:
                continue
            if names_maternity(form):
                general.add(word.stem)
            concepts = frozenset(one.concept.id for one in mentions if one.start <= word.start < one.end)
            rarity = self._scorer.pieces.rarity(form)
            found[word.stem] = _Word(word.start, word.end, word.stem, word.form, rarity, concepts)
        special = [found[stem] for stem in found if stem not in general]
        return special if any(word.rarity >= SPECIAL for word in special) else [*found.values()]

    def _felt(self, read: str, language: str, words: Sequence[_Word], hit: Hit) -> float:
        without = [f"{read[: word.start]}{read[word.end :]}".strip() for word in words]
        texts = [read, *without]
        vectors, _ = self._scorer.embedder.embed(texts, "query", [language] * len(texts))
        passage, _ = self._scorer.embedder.embed([plain_text(hit.passage)], "passage", [hit.passage.language])
        cosines = vectors @ passage[0]
        return float(cosines[0] - cosines[1:].mean())

    def _read(self, text: str, language: str) -> _Text:
        read, spoken = self._scorer.as_read(text, language)
        named = self._thesaurus.find(read, spoken) if self._thesaurus else ()
        return _Text(
            frozenset(tokens(read, spoken)),
            frozenset(
                word.form for word in words_of(read, spoken) if not word.stop and len(word.form) >= SHORTEST
            ),
            frozenset(one.concept.id for one in named),
        )


def _share(word: _Word, passage: _Text) -> float:
    """How far a passage names a word, 0 to 1."""
    if word.stem in passage.stems or word.concepts & passage.concepts:
        return 1.0
    return _closest(word.form, passage.forms)


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
