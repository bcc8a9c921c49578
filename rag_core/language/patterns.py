"""Word patterns: whether one sentence of a text says something, in whatever order and form it uses the words.

A pattern is words separated by spaces; all of them must occur in one sentence, in any order. `a|b` are alternatives,
and `stem*` matches any word that begins so. Any other word matches itself and, unless it is a stop word, every word of
the same stem in English or Spanish; accents are ignored. Numbers match by value: "0,5" is "0.5", "1.500" is "1500",
"24" not "240".
"""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from ..values.errors import DataError
from .analysis import LANGUAGES, LIST_ITEM, sentences, words_of
from .quantities import THOUSANDS, plain_number

SHORTEST_STEM = 2  # letters before the * of a pattern word

_PIECE = re.compile(rf"(?<!\w)(?P<number>{THOUSANDS.pattern}(?!\d)|\d+(?:[.,]\d+)?)|%|[\w\u0300-\u036f]+")
_INSIDE = re.compile(r"[-'’/.,:+\u2010-\u2013]?")  # what may stand between two pieces of one pattern word
_NOT = re.compile(r"(?<=\w)(?<!\bca)n['’]t\b|(?<=\bcan)(?:not|['’]t)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Term:
    """A word or number as patterns compare it: without accents, and with its stems by language, if any."""

    form: str
    stems: frozenset[tuple[str, str]] = frozenset()

    def same(self, other: Self) -> bool:
        return self.form == other.form or not self.stems.isdisjoint(other.stems)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to write a pattern word: adjacent terms ("anti-D" has two), the last possibly a prefix."""

    terms: tuple[Term, ...]
    prefix: bool = False

    def within(self, sentence: Sequence[Term]) -> bool:
        size = len(self.terms)
        if size == 1:  # as most are
            (term,) = self.terms
            if self.prefix:
                return any(word.form.startswith(term.form) for word in sentence)
            return any(map(term.same, sentence))
        return any(self._at(sentence[start : start + size]) for start in range(len(sentence) - size + 1))

    def _at(self, words: Sequence[Term]) -> bool:
        *first, last = self.terms
        if not all(term.same(word) for term, word in zip(first, words, strict=False)):
            return False
        return words[-1].form.startswith(last.form) if self.prefix else last.same(words[-1])


@dataclass(frozen=True, slots=True)
class Pattern:
    """Words that must all occur in one sentence, each with its alternatives.

    >>> Pattern.parse("hospital now|once").matches(terms_of("Go to the hospital at once."))
    True
    """

    words: tuple[tuple[Alternative, ...], ...]

    @classmethod
    def parse(cls, written: str) -> Self:
        """Read a pattern; raises DataError if it is empty or has a word that is none, as the module says."""
        words = written.split()
        if not words:
            raise DataError("A pattern is empty.", "Write the words that the sentence must contain.")
        return cls(tuple(tuple(_alternative(part, written) for part in word.split("|")) for word in words))

    def matches(self, sentence: Sequence[Term]) -> bool:
        return all(any(one.within(sentence) for one in word) for word in self.words)


def readings(text: str, language: str) -> list[str]:
    """The sentences of a text, each list item with its lead-in, a sentence that ends in a colon."""
    found: list[str] = []
    lead = ""
    for item, block in _blocks(text):
        parts = sentences(block, language)
        if item:
            found += [f"{lead} {part}".strip() for part in parts]
            continue
        lead = parts[-1] if parts and parts[-1].endswith(":") else ""
        found += parts
    return found


def terms_of(sentence: str) -> tuple[Term, ...]:
    """The words and numbers of a sentence in order. "Don't" and "cannot" are read as "do not" and "can not"."""
    pieces = [(match["number"], match[0]) for match in _PIECE.finditer(_NOT.sub(" not", sentence))]
    stems = iter(_word_terms(tuple(piece for number, piece in pieces if not number and piece != "%")))
    return tuple(
        Term(_value(number)) if number else Term(piece) if piece == "%" else next(stems) for number, piece in pieces
    )


def _alternative(part: str, written: str) -> Alternative:
    stem, star, rest = part.partition("*")
    terms = terms_of(stem)
    if rest or not terms or not _plain(stem):
        raise DataError(
            f"The pattern {written!r} has the word {part!r}.",
            "Write words and numbers separated by spaces, alternatives as a|b, and a stem as hospital*.",
        )
    if star and (len(terms[-1].form) < SHORTEST_STEM or not terms[-1].form.isalpha()):
        raise DataError(
            f"The pattern {written!r} has the stem {part!r}.",
            f"Write at least {SHORTEST_STEM} letters before the *; numbers match by value only.",
        )
    return Alternative(terms, prefix=bool(star))


def _plain(word: str) -> bool:
    """Whether a pattern word is pieces joined by a hyphen, apostrophe, slash, full stop or the like."""
    rest = _PIECE.split(_NOT.sub(" not", word).replace(" ", "'"))[::2]
    return not rest[0] and not rest[-1] and all(_INSIDE.fullmatch(between) for between in rest)


def _blocks(text: str) -> list[tuple[bool, str]]:
    """The list items (True) and the text between them (False), in order."""
    found: list[tuple[bool, str]] = []
    fresh = True
    for line in text.splitlines():
        item = LIST_ITEM.match(line)
        if item:
            found.append((True, line[item.end() :]))
        elif not line.strip():
            fresh = True
            continue
        elif fresh or not found:
            found.append((False, line))
        else:
            kind, before = found[-1]
            found[-1] = (kind, f"{before}\n{line}")
        fresh = False
    return found


@functools.lru_cache(maxsize=4096)
def _word_terms(words: tuple[str, ...]) -> tuple[Term, ...]:
    text = " ".join(words)
    read = {code: words_of(text, code) for code in LANGUAGES}
    forms = [word.form for word in read["en"]]
    plain = {code: words_of(" ".join(forms), code) for code in LANGUAGES}  # written without accents
    found = []
    for place, form in enumerate(forms):
        rows = [(code, words[code][place]) for words in (read, plain) for code in LANGUAGES]
        stop = any(word.stop for _, word in rows)  # as a stem, "not" would match "nota"
        found.append(Term(form, frozenset() if stop else frozenset((code, word.stem) for code, word in rows)))
    return tuple(found)


def _value(number: str) -> str:
    plain = plain_number(number)
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
