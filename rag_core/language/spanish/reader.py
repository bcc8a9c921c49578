"""The reader: Spanish text to word-by-word English, with rules of spelling and word formation for forms that no list contains."""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ...values.errors import read_data_file
from ..dictionaries import in_dictionary, lemma
from ..thesaurus import Thesaurus, longest_by_first
from ..words import read_words

_WORD = re.compile(r"[\w\u0300-\u036f]+")
_JOINED = re.compile(r"[\s'’/-]{1,3}")  # what may part the words of a phrase
_FORM = re.compile(rf"{_WORD.pattern}|#")  # a word of a phrase
_SPACES = re.compile(r"[ \t]+(?=[ \t.,;:?!)]|$)", re.MULTILINE)  # left where a word is dropped
_OPENING = str.maketrans("", "", "¿¡")
_INSIDE = re.compile(r"[\w,;)%][ \t]+[\"«(]?$|-$")  # what precedes a word inside a sentence
_BETWEEN = ' \t\n"«('  # what of it may follow its first character
_CACHED_TEXTS = 1024
_SHORTEST = 4  # letters; shorter words sound like too many others


class Lexicon:
    """Reads lower-cased, composed words: as is, without accents, by lemma, simpler forms, sound, last by ending."""

    def __init__(self, entries: Mapping[str, str]) -> None:
        self._entries = entries
        # The English of a word; empty for one that English drops; None if it cannot be read.
        self.read = functools.lru_cache(maxsize=1 << 16)(self._read)

    def _read(self, word: str) -> str | None:
        found = self.known(word)
        if found is not None or self.is_english(word):
            return found
        return self._by_rule(word)

    @functools.cached_property
    def _plain(self) -> dict[str, str]:
        return _first_by(plain, self._entries)

    @functools.cached_property
    def _typed(self) -> dict[str, str]:
        return _first_by(typed_plain, self._entries)

    @functools.cached_property
    def _english(self) -> frozenset[str]:
        return frozenset(word for english in self._entries.values() for word in english.split())

    @functools.cached_property
    def _sounds(self) -> dict[str, str]:
        return _only_by(sound, self._entries)

    def known(self, word: str) -> str | None:
        """The English of a word whose form, or dictionary form, is listed; None otherwise."""
        found = self._listed(word)
        if found is None and (base := lemma(word)):
            found = self._listed(base)
        return found

    def is_english(self, word: str) -> bool:
        """Whether a word is English as it stands."""
        return word in self._english or in_dictionary(word, "en")

    def _by_rule(self, word: str) -> str | None:
        base = lemma(word)
        for form, before, after in readings(word):
            if before and base:  # a word of its own, not "big" or "very" another
                continue
            if (found := self.known(form)) is not None:
                return f"{before}{found}{after}".strip()
        if base is None:
            for form in (*with_accents(word), *respelt(word)):
                if (found := self.known(form)) is not None:
                    return found
            if len(word) >= _SHORTEST and (same := self._sounds.get(sound(word))):
                return self._entries[same]
        return cognate(base or word)

    def _listed(self, word: str) -> str | None:
        found = self._entries.get(word)
        if found is None:
            form = self._plain.get(plain(word)) or self._typed.get(word)
            found = self._entries[form] if form else None
        return found


def _keys(key: Callable[[str], str], forms: Iterable[str]) -> list[str]:
    """The key of each form, all made at once: no rule of a key looks beyond its line."""
    return key("\n".join(forms)).split("\n")


def _first_by(key: Callable[[str], str], forms: Collection[str]) -> dict[str, str]:
    """The first form for each key."""
    return dict(zip(reversed(_keys(key, forms)), reversed(list(forms)), strict=False))


def _only_by(key: Callable[[str], str], entries: Mapping[str, str]) -> dict[str, str]:
    """The form for each key whose forms all have one English."""
    found: dict[str, str] = {}
    shared = set()
    for one, form in zip(_keys(key, entries), entries, strict=False):
        if entries[found.setdefault(one, form)] != entries[form]:
            shared.add(one)
    return {one: form for one, form in found.items() if one not in shared}


class _Piece(NamedTuple):
    """A span of a text and its English; None where it could not be read."""

    start: int
    end: int
    english: str | None


class Gloss:
    """Reads Spanish text in English, word by word.

    The longest phrase is taken first, of the list or a Spanish name in the thesaurus; then single words (see
    `Lexicon`). Numbers, names, and words that cannot be read stay as they are.

    Args:
        entries: English by Spanish form or phrase. Empty English drops the word; "#" in a phrase is any
            number; a form in capitals is read only where it is written in capitals.
        thesaurus: its Spanish names of several words are read as the concept's English name, and its ambiguous
            abbreviations by the words around them.
    """

    def __init__(self, entries: Mapping[str, str], thesaurus: Thesaurus | None = None) -> None:
        self._thesaurus = thesaurus
        self._abbreviations = {form: english for form, english in entries.items() if form.isupper()}
        self._words = Lexicon(
            {form: english for form, english in entries.items() if " " not in form and not form.isupper()}
        )
        phrases = _names(thesaurus) | {form: english for form, english in entries.items() if " " in form}
        self._phrases = {tuple(_FORM.findall(form)): english for form, english in phrases.items()}
        content = f"{RULES} {sorted(entries.items())} {sorted(self._phrases.items())}"
        if thesaurus:
            content += f" {thesaurus.ambiguous}"
        self.digest = hashlib.sha256(content.encode()).hexdigest()[:8]
        self.english = functools.lru_cache(maxsize=_CACHED_TEXTS)(self._read_text)

    @functools.cached_property
    def _plain_phrases(self) -> Mapping[tuple[str, ...], str]:
        keys = (tuple(key.split()) for key in _keys(typed_plain, map(" ".join, self._phrases)))
        return dict(zip(keys, self._phrases.values(), strict=False))

    @functools.cached_property
    def _longest(self) -> Mapping[str, int]:
        """The words of the longest phrase, by its first word."""
        return longest_by_first(self._plain_phrases)

    @classmethod
    def read(cls, path: Path, thesaurus: Thesaurus | None = None) -> Gloss:
        """Read data/gloss/es.tsv, once for equal content; DataError if missing, or a line is not "form TAB English"."""
        return _made(tuple(read_entries(path).items()), thesaurus)

    def _read_text(self, text: str) -> str:
        whole = composed(text)
        parts, at = [], 0
        for piece in self._pieces(whole):
            parts.append(whole[at : piece.start].translate(_OPENING))
            parts.append(whole[piece.start : piece.end] if piece.english is None else piece.english)
            at = piece.end
        parts.append(whole[at:].translate(_OPENING))
        return _SPACES.sub("", "".join(parts)).strip()

    def _pieces(self, text: str) -> Iterator[_Piece]:
        spans = [match.span() for match in _WORD.finditer(text)]
        words = [text[start:end].lower() for start, end in spans]
        keys = ["#" if word.isdigit() else word for word in words]
        plain = [typed_plain(key) for key in keys]
        ends = _runs(text, spans)
        at = 0
        while at < len(words):
            for n in range(min(self._longest.get(plain[at], 0), ends[at] - at), 1, -1):
                stop = at + n
                english = self._phrases.get(tuple(keys[at:stop]))
                if english is None:
                    english = self._plain_phrases.get(tuple(plain[at:stop]))
                if english is not None:
                    for number in filter(str.isdigit, words[at:stop]):
                        english = english.replace("#", number, 1)
                    yield _Piece(spans[at][0], spans[stop - 1][1], english)
                    at = stop
                    break
            else:
                yield _Piece(*spans[at], self._word(text, *spans[at]))
                at += 1

    def _word(self, text: str, start: int, end: int) -> str | None:
        word = text[start:end]
        if not word.isalpha() and any(map(str.isdigit, word)):
            return None
        if self._thesaurus and word in self._thesaurus.ambiguous:
            concept = self._thesaurus.reading(word, text, "es")
            return concept.preferred("en") if concept else None
        if word.isupper() and (short := self._abbreviations.get(word)):
            return short
        if word[0].isupper() and _is_inside(text, start):  # a name, or the B of "hepatitis B"
            return self._words.known(word.lower()) if len(word) > 1 else None
        return self._words.read(word.lower())


def _is_inside(text: str, start: int) -> bool:
    """Whether a word that starts here is inside a sentence, not at its beginning."""
    before = len(text[:start].rstrip(_BETWEEN))
    return _INSIDE.search(text, max(before - 1, 0), start) is not None  # from 0 it would read the whole text


def _runs(text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
    """For each word, where the run of words ends that no punctuation parts; a phrase stays inside its run."""
    ends = list(range(1, len(spans) + 1))
    for at in range(len(spans) - 2, -1, -1):
        if _JOINED.fullmatch(text, spans[at][1], spans[at + 1][0]):
            ends[at] = ends[at + 1]
    return ends


@functools.lru_cache(maxsize=2)
def _made(entries: tuple[tuple[str, str], ...], thesaurus: Thesaurus | None) -> Gloss:
    return Gloss(dict(entries), thesaurus)


def read_entries(path: Path) -> dict[str, str]:
    """English by Spanish form, from lines "form TAB English"; raises DataError."""
    return read_data_file(path, lambda text: dict(line.split("\t") for line in text.splitlines()))


def _names(thesaurus: Thesaurus | None) -> dict[str, str]:
    """The English of the thesaurus's Spanish names of several words: lay for lay, preferred otherwise."""
    found: dict[str, str] = {}
    for concept in thesaurus.concepts.values() if thesaurus else ():
        for names in (concept.terms, concept.lay):
            for name in names["es"]:
                if len(_WORD.findall(name)) > 1:
                    found.setdefault(name.lower(), concept.preferred("en"))
    return found


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
_SHORTEST_PART = 3  # letters; shorter stems are chance


def readings(word: str) -> Iterator[Reading]:
    """Simpler forms of a word, the likeliest first."""
    for pattern in _WITH_PRONOUNS:  # tomármelo is tomar, acérquese is acerque
        if (found := pattern.fullmatch(word)) and found["verb"] != word:
            yield Reading(plain(found["verb"]), after=_OBJECTS.get(found["object"], ""))
    for pattern, forms, before in _ENDINGS:
        for form in forms:
            stem, changed = pattern.subn(form, word)
            if changed and len(stem) >= _SHORTEST_PART:
                yield Reading(stem, before)
    if vos := _VOSEO.search(word):  # tenés, podés, tomá
        yield Reading(word[: vos.start()] + plain(vos[1]) + "r")


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
