"""Spelling: unknown words of a question, read as the collection's words that look or sound like them."""

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from jellyfish import damerau_levenshtein_distance, jaro_winkler_similarity, metaphone

from .analysis import language_of, stop_words, words_of
from .dictionaries import in_dictionary
from .facts import DRUGS, ENGLISH_NEGATIONS, is_medicine
from .quantities import NUMBER_WORDS, TENS, UNITS
from .spanish.reader import readings, sound, typed_plain
from .words import read_words

# words counted at most, a few seconds' work; what a larger collection is about they show
SAMPLE_WORDS = 2_000_000
SHORT = 4  # letters of a short word at most
RARE = 2  # occurrences; a collection's rarer words may be its own mistakes
LONGEST = 24  # letters; longer words are addresses and the like

_WORD = re.compile(r"(?<![\w'’@./-])[^\W\d_]+(?![\w'’@/])")  # not a part of "don't", "B12", an address
_INSIDE = re.compile(r"[\w,;)%][ \t]+[\"“(]?$|-$")  # what precedes a word inside a sentence
_VOWEL = re.compile(r"[aeiouy]")
_KEPT = frozenset(read_words()["typed"]["contractions"].split())  # most negate
_PHONE: Mapping[str, str] = read_words()["typed"]["meant"]
_FIXED = frozenset().union(ENGLISH_NEGATIONS, UNITS, *NUMBER_WORDS.values(), *TENS.values())
_NEVER_UNKNOWN = _KEPT | _FIXED | DRUGS


class _Found(NamedTuple):
    """The nearest word of a vocabulary, and the edits that make it of the word as typed."""

    edits: int
    word: str


@dataclass(frozen=True)
class Vocabulary:
    """The words of one language that a question may mean, with how often the collection has each."""

    counts: Mapping[str, int]

    def __contains__(self, word: str) -> bool:
        return word in self.counts

    @functools.cached_property
    def _by_sound(self) -> Mapping[str, list[str]]:
        found: dict[str, list[str]] = {}
        for word in self._candidates:
            found.setdefault(metaphone(word), []).append(word)
        return found

    @functools.cached_property
    def _by_length(self) -> Mapping[int, list[str]]:
        found: dict[int, list[str]] = {}
        for word in self._candidates:
            found.setdefault(len(word), []).append(word)
        return found

    @functools.cached_property
    def _candidates(self) -> list[str]:
        return [word for word, count in self.counts.items() if count >= RARE and word not in _FIXED]

    def nearest(self, word: str) -> _Found | None:
        """The word meant by one that is not listed; None if none is near enough.

        Words may differ by 1 edit from 5 letters, and by 2 from 8. Words that sound the same may differ by 1, from
        6 letters by 2, and from 9 by 3. Up to 4 letters, only one letter may be missing, and only one word sound the
        same: much clinical shorthand is short. An edit is one of Damerau and Levenshtein's. The first letter must be
        the same where the sound is not, or "apyrexial" would lose its negation. A medicine must sound the same:
        different medicines have names that look alike.
        """
        key, n = metaphone(word), len(word)
        unlike, alike = (n > SHORT) + (n >= 8), 1 + (n >= 6) + (n >= 9)
        costs = {
            each: edits
            for length in range(n - unlike, n + unlike + 1)
            for each in self._by_length.get(length, ())
            if each[0] == word[0]
            and (edits := damerau_levenshtein_distance(word, each)) <= unlike
            and not is_medicine(each)
        }
        same = {
            each: edits - 1
            for each in self._by_sound.get(key, ())
            if (edits := damerau_levenshtein_distance(word, each)) <= alike and (n > SHORT or len(each) > n)
        }
        if (is_medicine(word) and not same) or (n <= SHORT and len(same) > 1):
            return None
        costs |= same
        best = min(costs, key=lambda each: (costs[each], -jaro_winkler_similarity(word, each), each), default="")
        return _Found(damerau_levenshtein_distance(word, best), best) if best else None


class Spelling:
    """Reads misspelt English and Spanish questions.

    A word is unknown if neither the collection nor a dictionary nor the thesaurus has it. Numbers, units, negations,
    medicines, abbreviations and names inside a sentence are never changed. Spanish is written as it sounds, so that its
    words are compared by their sounds. `words` are those of the collection and thesaurus by language, lower-cased with
    accents, with their number.

    >>> words = {"en": {"what": 9, "is": 9, "gestational": 4, "diabetes": 8}, "es": {}}
    >>> Spelling(lambda: words, lambda word, language: False).read("what is gestashunal diabetis?")
    'what is gestational diabetes?'
    """

    def __init__(
        self,
        words: Callable[[], Mapping[str, Mapping[str, int]]],
        is_word: Callable[[str, str], bool] | None = None,
    ) -> None:
        self._words = words
        self._is_word = is_word or in_dictionary
        self.read = functools.lru_cache(maxsize=1024)(self._read)

    @functools.cached_property
    def _english(self) -> Vocabulary:
        common = (word for word in stop_words("en") if f"{word}t" not in _KEPT)  # "aren" is half a word
        return Vocabulary({**dict.fromkeys(common, RARE), **self._words().get("en", {})})

    @functools.cached_property
    def _spanish(self) -> Mapping[str, int]:
        return self._words().get("es", {})

    @functools.cached_property
    def _typed(self) -> frozenset[str]:
        """The Spanish words as typed without accents."""
        return frozenset(map(typed_plain, self._spanish))

    @functools.cached_property
    def _heard(self) -> Mapping[str, str]:
        """The sounds of the Spanish words that are not rare, each with its most frequent word."""
        frequent = sorted((count, word) for word, count in self._spanish.items() if count >= RARE)
        return {sound(word): word for _, word in frequent}

    def _read(self, question: str) -> str:
        """The question with its misspelt words corrected; the same text if there are none."""
        unknown = [match[0] for match in _WORD.finditer(question) if self._is_unknown(question, match)]
        if not unknown:
            return question
        found = {word: near for word in unknown if (near := self._in_english(word.lower()))}
        if language_of(question) == "es":
            spanish = {word: near for word in unknown if (near := self._in_spanish(word.lower()))}
            if self._has_spanish(question) or _as_near(spanish, found):
                found = spanish
        return _WORD.sub(
            lambda match: _cased(match[0], found[match[0]].word) if match[0] in found else match[0], question
        )

    def _in_english(self, word: str) -> _Found | None:
        return _Found(1, _PHONE[word]) if word in _PHONE else self._english.nearest(word)

    def _in_spanish(self, word: str) -> _Found | None:
        """The word itself if it is one; otherwise the word of the same sound, or from 6 sounds of one other."""
        simpler = (word, *(form for form, _, _ in readings(word)))  # without "-me", "-ito"
        if any(form in self._typed or self._is_word(form, "es") for form in simpler):
            return _Found(0, word)
        key = sound(word)
        if key in self._heard:
            return _Found(0, self._heard[key])
        near = [
            (-jaro_winkler_similarity(key, each), each)
            for each, meant in self._heard.items()
            if len(key) > 5 and each[0] == key[0] and damerau_levenshtein_distance(key, each) == 1
            if not is_medicine(meant)
        ]
        return _Found(1, self._heard[min(near)[1]]) if near else None

    def _is_unknown(self, question: str, match: re.Match[str]) -> bool:
        word = match[0].lower()
        short_form = any(letter.isupper() for letter in match[0][1:])
        name = match[0][0].isupper() and _INSIDE.search(question, 0, match.start())
        if short_form or name or not 3 <= len(word) <= LONGEST or not _VOWEL.search(word):
            return False
        return word not in _NEVER_UNKNOWN and not self._knows(word)

    def _knows(self, word: str) -> bool:
        if word in _PHONE:
            return False
        forms = (word, word.removesuffix("s"), word.removesuffix("es"))
        return (
            self._is_word(word, "en")  # first: to count the collection's words takes a fifth of a second
            or any(form in self._english for form in forms)
            or typed_plain(word) in self._typed
        )

    def _has_spanish(self, question: str) -> bool:
        """Whether a question has a word that is Spanish, not English, and not like an English one."""
        return any(
            word.stop
            or (self._is_word(question[word.start : word.end].lower(), "es") and not self._english.nearest(word.form))
            for word in words_of(question, "es")
            if word.form not in self._english and not self._is_word(word.form, "en")
        )


def count_words(texts: Iterable[tuple[str, str]], names: Iterable[tuple[str, str]]) -> dict[str, Counter[str]]:
    """How often texts have each word, by language, up to `SAMPLE_WORDS` words.

    `texts` are (text, language) of passages, `names` those of the thesaurus, whose words count as frequent.
    """
    found: dict[str, Counter[str]] = {"en": Counter(), "es": Counter()}
    left = SAMPLE_WORDS
    for text, language in texts:
        if language in found and left > 0:
            words = [match[0].lower() for match in _WORD.finditer(text)]
            found[language].update(words)
            left -= len(words)
    for name, language in names:
        found[language].update({match[0].lower(): RARE for match in _WORD.finditer(name)})
    return found


def _as_near(spanish: Mapping[str, _Found], english: Mapping[str, _Found]) -> bool:
    """Whether words as typed are as near to the Spanish words found as to the English ones."""
    edits = sum(near.edits for near in english.values())
    return spanish.keys() >= english.keys() and sum(spanish[word].edits for word in english) <= edits


def _cased(typed: str, meant: str) -> str:
    return meant.capitalize() if typed[0].isupper() else meant
