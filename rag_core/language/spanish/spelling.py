"""Spanish spelling: accents, and words written as they sound."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_ACCENTED = {"a": "á", "e": "é", "i": "í", "o": "ó", "u": "ú", "n": "ñ"}
_PLAIN = str.maketrans("áéíóúü", "aeiouu")
# Letters that are written for one another because they sound alike, here or in Latin America.
_SOUNDS = [
    (re.compile(pattern), sound)
    for pattern, sound in (
        (r"ch", "C"),
        (r"h", ""),
        (r"qu(?=[ei])|q|k|c(?![eiy])", "k"),
        (r"x", "s"),
        (r"[czs]+", "s"),
        (r"gu(?=[ei])", "G"),
        (r"[gj](?=[ei])|j", "j"),
        (r"g", "G"),
        (r"v|w", "b"),
        (r"ll|y(?=[aeiou])", "y"),
        (r"y", "i"),
        (r"m(?=[pb])", "n"),
        (r"(.)\1+", r"\1"),
    )
]
_SWAPS = (("b", "v"), ("v", "b"), ("s", "c"), ("s", "z"), ("c", "s"), ("z", "s"), ("z", "c"), ("ll", "y"),
          ("y", "ll"), ("g", "j"), ("j", "g"), ("k", "c"), ("k", "qu"), ("h", ""), ("n", "m"), ("r", "rr"),
          ("x", "cc"), ("c", "cc"), ("i", "hi"), ("u", "hu"))  # fmt: skip


def plain(word: str) -> str:
    """A word without accents; ñ stays, because it is a separate letter."""
    return word.translate(_PLAIN)


def typed_plain(word: str) -> str:
    """A word as typed on a keyboard without accents or ñ."""
    return plain(word).replace("ñ", "n")


def composed(text: str) -> str:
    """A text whose letters and accents are one character each."""
    return unicodedata.normalize("NFC", text)


def sound(word: str) -> str:
    """A key shared by words that sound alike: "embarasada" has the key of "embarazada"."""
    key = plain(word)
    for pattern, to in _SOUNDS:
        key = pattern.sub(to, key)
    return key


def with_accents(word: str) -> Iterator[str]:
    """The word with an accent restored on one vowel, or ñ for n, the last first."""
    for at in reversed(range(len(word))):
        if word[at] in _ACCENTED:
            yield word[:at] + _ACCENTED[word[at]] + word[at + 1 :]


def respelt(word: str) -> Iterator[str]:
    """Other spellings of the word: one letter exchanged for one that sounds alike, or an h in front."""
    for wrong, right in _SWAPS:
        at = word.find(wrong)
        while at >= 0:
            yield word[:at] + right + word[at + len(wrong) :]
            at = word.find(wrong, at + 1)
    if word[0] in "aeiou":
        yield "h" + word
