"""Rules of Spanish spelling and word formation, for forms that no list contains."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..words import read_words

RULES = "3"  # part of an index's identity: change it with the rules
_WRITTEN = read_words("gloss/rules.toml")

_ACCENTED = {"a": "á", "e": "é", "i": "í", "o": "ó", "u": "ú", "n": "ñ"}
_PLAIN = tuple(zip("áéíóúü", "aeiouu", strict=True))
# letters that are written for one another, and single letters that are exchanged
_SOUNDS = [(re.compile(pattern), sound) for pattern, sound in _WRITTEN["sounds"]]
_SWAPS: Sequence[tuple[str, str]] = _WRITTEN["swaps"]


def plain(word: str) -> str:
    """A word without accents; ñ stays, because it is a separate letter."""
    for letter, bare in () if word.isascii() else _PLAIN:
        word = word.replace(letter, bare)  # of a long text, a hundred times as fast as `translate`
    return word


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


_PRONOUNS = r"(?:me|te|se|nos|os)?(?P<object>l[aoe]s?)?"
_WITH_PRONOUNS = [
    re.compile(f"(?P<verb>{verb}){_PRONOUNS}")
    for verb in (r".*?(?:[aeiáéí]r|[aá]ndo|[iy][eé]ndo)", r".*[áéíó].*?[aeious]n?", r"..+?[aeo]n?")
]  # infinitive or gerund; imperative with its accent, then without
_OBJECTS = {"lo": " it", "la": " it", "los": " them", "las": " them"}


class Reading(NamedTuple):
    """A simpler form to look up, and what goes around its English."""

    form: str
    before: str = ""
    after: str = ""


_ENDINGS = [(re.compile(pattern), forms, before) for pattern, forms, before in _WRITTEN["endings"]]
_VOSEO = re.compile(r"([áéí])s?$")
_SHORTEST = 3  # letters; shorter stems are chance


def readings(word: str) -> Iterator[Reading]:
    """Simpler forms of a word, the likeliest first."""
    yield from _without_pronouns(word)
    for pattern, forms, before in _ENDINGS:
        for form in forms:
            stem, changed = pattern.subn(form, word)
            if changed and len(stem) >= _SHORTEST:
                yield Reading(stem, before)
    if vos := _VOSEO.search(word):  # tenés, podés, tomá
        yield Reading(word[: vos.start()] + plain(vos[1]) + "r")


def _without_pronouns(word: str) -> Iterator[Reading]:
    """The verb without the pronouns at its end: tomármelo is tomar, acérquese is acerque."""
    for pattern in _WITH_PRONOUNS:
        if (found := pattern.fullmatch(word)) and found["verb"] != word:
            yield Reading(plain(found["verb"]), after=_OBJECTS.get(found["object"], ""))


_COGNATES = [(re.compile(f"{pattern}$"), english) for pattern, english in _WRITTEN["cognates"]]
_SPELT = [(re.compile(pattern), english) for pattern, english in _WRITTEN["spelt"]]
_SHORTEST_COGNATE = 7


def cognate(word: str) -> str | None:
    """The English word that a learned Spanish word probably matches, by its ending; None without one."""
    if len(word) < _SHORTEST_COGNATE:
        return None
    for pattern, english in _COGNATES:
        stem, changed = pattern.subn(english, word)
        if changed:
            stem = plain(stem)
            for spelt, to in _SPELT:
                stem = spelt.sub(to, stem)
            return stem
    return None
