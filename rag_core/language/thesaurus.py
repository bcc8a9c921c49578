"""The bilingual thesaurus: finds the concepts a text names, and gives their other names."""

from __future__ import annotations

import functools
import hashlib
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..values.errors import read_data_file
from .analysis import LANGUAGES, Word, language_of, without_tilde, words_of

TermKind = Literal["term", "lay", "abbreviation"]
_ABBREVIATION: TermKind = "abbreviation"
_VOWELS = frozenset("aeiouyáéíóú")
_MIN_CAPITALS = 3  # words; in a longer text in capitals, capitals no longer mark abbreviations


@dataclass(frozen=True, slots=True)
class Concept:
    """A concept and its names, all of which mean the same thing: any of them may replace another.

    The links never do: what is true of a class need not be true of a member, nor of one member what is true of another.

    Args:
        terms: clinical terms by language, preferred term first; at least one per language.
        lay: lay terms by language.
        abbreviations: of either language, with their usual capitals.
        class_of: ids of its members, when it is a class of things (antibiotics: amoxicillin).
        kind: "drug" for one medicine, whose names are its spellings and brands; otherwise empty.
    """

    id: str
    terms: Mapping[str, tuple[str, ...]]
    lay: Mapping[str, tuple[str, ...]]
    abbreviations: tuple[str, ...] = ()
    narrower: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    class_of: tuple[str, ...] = ()
    kind: str = ""

    def preferred(self, language: str) -> str:
        return self.terms[language][0]


@dataclass(frozen=True, slots=True)
class Mention:
    """A concept named at text[start:end], and the kind of name used."""

    concept: Concept
    start: int
    end: int
    kind: TermKind


@dataclass(frozen=True, slots=True)
class Reading:
    """A meaning of an ambiguous abbreviation, and words that speak for it; no concept if the thesaurus lacks it."""

    concept: str
    cues: tuple[str, ...]


class Thesaurus:
    """Finds concepts in a text by any of their names.

    Names match word by word, ignoring case and accents (n matches ñ where that is unambiguous) and plurals.
    Names of several words also match by their stems; single words do not ("spot" is not "spotting"). The
    longest name wins, and stop words alone match nothing. An abbreviation needs its capitals unless it
    cannot be a word (no vowel, or a digit), as in "gbs" and "t1dm". One with several readings ("PE") takes the
    reading whose cues the text has most of, and is left alone when none leads.
    """

    def __init__(self, concepts: Iterable[Concept], ambiguous: Mapping[str, Sequence[Reading]] | None = None) -> None:
        self.concepts = {concept.id: concept for concept in concepts}
        self.ambiguous = {short: tuple(readings) for short, readings in (ambiguous or {}).items()}
        self._names = functools.cache(self._by_name)  # of a language, when it is first read
        self._cues = functools.cache(self._cues_of)
        self._abbreviations = {short: concept for concept in self.concepts.values() for short in concept.abbreviations}
        shorts = [*self._abbreviations, *self.ambiguous]
        self._longest_short = max(map(len, shorts), default=0)  # characters
        self._vowelless = {short.lower(): short for short in shorts if _cannot_be_a_word(short)}
        self._beginnings = {short[:end].lower() for short in shorts for end in range(1, len(short) + 1)}

    @functools.cached_property
    def digest(self) -> str:
        """Hash of the concepts, eight hexadecimal digits; part of the identity of whatever depends on them."""
        content = f"{self.concepts} {self.ambiguous}"
        return hashlib.sha256(content.encode()).hexdigest()[:8]

    @classmethod
    def read(cls, path: Path) -> Thesaurus:
        """Read data/thesaurus.toml; `make check-collection` reports its faults.

        The same content gives the same object: to find its names takes half a second. Raises DataError if the file is
        missing or not TOML, or a concept lacks a field.
        """
        return read_data_file(path, _parsed)

    def find(self, text: str, language: str) -> tuple[Mention, ...]:
        """The concepts a text names, in order, without overlaps; by abbreviation only in languages it lacks."""
        return tuple(self._scan(text, words_of(text, language), language))

    def clinical_terms(self) -> Iterator[tuple[str, str]]:
        """Every clinical term with its language. Lay terms include common misspellings."""
        for concept in self.concepts.values():
            yield from ((term, language) for language in LANGUAGES for term in concept.terms[language])

    def reading(self, short: str, text: str, language: str) -> Concept | None:
        """The concept that an ambiguous abbreviation means in a text; None if its words do not tell."""
        return self._reading(short, [word.stem for word in words_of(text, language)], language)

    def _scan(self, text: str, words: Sequence[Word], language: str) -> Iterator[Mention]:
        names, reach = self._names(language)
        forms, stems = tuple(word.form for word in words), tuple(word.stem for word in words)
        all_capitals = text.isupper() and len(words) > _MIN_CAPITALS
        at = 0
        while at < len(words):
            first = words[at]
            named = at + max(reach.get(first.form, 0), reach.get(first.stem, 0))
            shorter = at  # up to here the text is short enough for an abbreviation
            if text[first.start : first.end].lower() in self._beginnings:
                while shorter < len(words) and words[shorter].end - first.start <= self._longest_short:
                    shorter += 1
            for end in range(min(max(named, shorter), len(words)), at, -1):
                stop = words[end - 1].end
                piece = text[first.start : stop] if end <= shorter else ""
                short = piece and self._abbreviation(piece, all_capitals)
                concept = (short and self._meaning(short, stems, language)) or None
                found = (
                    (concept, _ABBREVIATION)
                    if concept
                    else None
                    if short
                    else _named(forms[at:end], stems[at:end], names)
                )
                if found and (concept or not all(word.stop for word in words[at:end])):
                    yield Mention(found[0], first.start, stop, found[1])
                    at = end
                    break
            else:
                at += 1

    def _abbreviation(self, piece: str, all_capitals: bool) -> str:
        """The abbreviation that a piece of text is; empty if none."""
        if not all_capitals and (piece in self._abbreviations or piece in self.ambiguous):
            return piece
        return self._vowelless.get(piece.lower(), "")

    def _meaning(self, short: str, stems: Sequence[str], language: str) -> Concept | None:
        if short in self.ambiguous:
            return self._reading(short, stems, language)
        return self._abbreviations[short]

    def _reading(self, short: str, stems: Sequence[str], language: str) -> Concept | None:
        readings = self.ambiguous[short]
        found = [_count(phrases, stems) for phrases in self._cues(short, language)]
        best = max(found, default=0)
        if not best or found.count(best) > 1:
            return None
        return self.concepts.get(readings[found.index(best)].concept)

    def _cues_of(self, short: str, language: str) -> list[frozenset[tuple[str, ...]]]:
        """The cues of an abbreviation's readings, as stems."""
        if language not in LANGUAGES:
            return []
        return [_phrases(reading.cues, language) for reading in self.ambiguous[short]]

    def _by_name(self, language: str) -> tuple[Mapping[tuple[str, ...], tuple[Concept, TermKind]], Mapping[str, int]]:
        """Concepts by the words of their names, then by stems; clinical terms take precedence over lay terms.

        Also the number of words in the longest name that begins with a word.
        """
        if language not in LANGUAGES:
            return {}, {}
        kinds: tuple[TermKind, ...] = ("term", "lay")
        named = [
            (words_of(name, language), (concept, kind))
            for kind in kinds
            for concept in self.concepts.values()
            for name in (concept.terms if kind == "term" else concept.lay)[language]
        ]
        by_form: dict[tuple[str, ...], tuple[Concept, TermKind]] = {}
        for words, found in named:
            by_form.setdefault(tuple(word.form for word in words), found)
        for words, found in named:
            for key in _other_forms(words):
                by_form.setdefault(key, found)
        names = _names_without_tilde(by_form) | by_form
        return names, longest_by_first(names)


@functools.lru_cache(maxsize=2)
def _parsed(content: str) -> Thesaurus:
    tables = tomllib.loads(content)
    ambiguous = {
        row["abbr"]: [Reading(found["concept"], tuple(found["cues"])) for found in row["readings"]]
        for row in tables.get("ambiguous", [])
    }
    return Thesaurus(map(_concept, tables["concept"]), ambiguous)


def _phrases(cues: Iterable[str], language: str) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(word.stem for word in words_of(cue, language)) for cue in cues)


def _count(phrases: Iterable[tuple[str, ...]], stems: Sequence[str]) -> int:
    """How many of the phrases are in a text."""
    text = f" {' '.join(stems)} "
    return sum(f" {' '.join(phrase)} " in text for phrase in phrases)


def _named(
    forms: tuple[str, ...], stems: tuple[str, ...], names: Mapping[tuple[str, ...], tuple[Concept, TermKind]]
) -> tuple[Concept, TermKind] | None:
    return names.get(forms) or (names.get(stems) if len(forms) > 1 else None)


def longest_by_first(names: Iterable[tuple[str, ...]]) -> dict[str, int]:
    """The words of the longest name that begins with a word."""
    reach: dict[str, int] = {}
    for name in names:
        reach[name[0]] = max(len(name), reach.get(name[0], 0))
    return reach


def _names_without_tilde(
    names: Mapping[tuple[str, ...], tuple[Concept, TermKind]],
) -> dict[tuple[str, ...], tuple[Concept, TermKind]]:
    """Names with an ñ, typed without it; ambiguous ones are left out."""
    found: dict[tuple[str, ...], tuple[Concept, TermKind]] = {}
    shared = set()
    for key, named in names.items():
        plain = tuple(map(without_tilde, key))
        if plain != key and found.setdefault(plain, named)[0].id != named[0].id:
            shared.add(plain)
    return {key: named for key, named in found.items() if key not in shared}


def _other_forms(words: Sequence[Word]) -> list[tuple[str, ...]]:
    if len(words) > 1:
        return [tuple(word.stem for word in words)]
    form = words[0].form
    return [(form + "s",), (form + "es",), *([(form[:-1],)] if form.endswith("s") else [])]


def _concept(row: Mapping[str, Any]) -> Concept:
    return Concept(
        id=row["id"],
        terms={language: tuple(row[language]) for language in LANGUAGES},
        lay={language: tuple(row[f"lay_{language}"]) for language in LANGUAGES},
        abbreviations=tuple(row["abbr"]),
        narrower=tuple(row["narrower"]),
        related=tuple(row["related"]),
        class_of=tuple(row.get("class_of", ())),
        kind=row.get("kind", ""),
    )


def _cannot_be_a_word(short: str) -> bool:
    return len(short) > 1 and (not _VOWELS & set(short.lower()) or any(char.isdigit() for char in short))


class WrittenOut:
    """Reads questions with the clinical term behind each abbreviation.

    >>> pph = Concept("pph", {"en": ("postpartum haemorrhage",), "es": ()}, {"en": (), "es": ()}, ("PPH",))
    >>> WrittenOut(Thesaurus([pph]), str).read("When is the PPH call made?")
    'When is the PPH (postpartum haemorrhage) call made?'
    """

    def __init__(self, thesaurus: Thesaurus, spelling: Callable[[str], str]) -> None:
        self._thesaurus = thesaurus
        self._spelling = spelling
        self.read = functools.lru_cache(maxsize=1024)(self._read)

    def _read(self, question: str) -> str:
        """The question as spelt, with each term once; unchanged where the question has the term itself."""
        spelt = self._spelling(question)
        language = language_of(spelt)
        mentions = self._thesaurus.find(spelt, language)
        named = {mention.concept.id for mention in mentions if mention.kind == "term"}
        parts, at = [], 0
        for mention in mentions:
            if mention.kind == _ABBREVIATION and mention.concept.id not in named:
                named.add(mention.concept.id)
                parts += [spelt[at : mention.end], f" ({mention.concept.preferred(language)})"]
                at = mention.end
        return "".join([*parts, spelt[at:]])
