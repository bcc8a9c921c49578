"""The bilingual thesaurus: which concepts a text names, and by what other names they go."""

from __future__ import annotations

import functools
import hashlib
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..values.errors import DataError
from .analysis import LANGUAGES, Word, typed, words_of

TermKind = Literal["term", "lay", "abbreviation"]
_VOWELS = frozenset("aeiouyáéíóú")
_SHOUTED = 3  # words in capitals from which capitals say nothing any more


@dataclass(frozen=True, slots=True)
class Concept:
    """One thing and its names.

    Args:
        terms: clinical terms by language, the preferred one first; at least one in each.
        lay: everyday wordings by language.
        abbreviations: of either language, in their own capitals.
        narrower: ids of concepts that are kinds of this one.
        related: ids of concepts that belong with it.
    """

    id: str
    terms: Mapping[str, tuple[str, ...]]
    lay: Mapping[str, tuple[str, ...]]
    abbreviations: tuple[str, ...] = ()
    narrower: tuple[str, ...] = ()
    related: tuple[str, ...] = ()

    def preferred(self, language: str) -> str:
        """The clinical term to use first."""
        return self.terms[language][0]


@dataclass(frozen=True, slots=True)
class Mention:
    """A concept where a text names it: text[start:end], and by which kind of name."""

    concept: Concept
    start: int
    end: int
    kind: TermKind


class Thesaurus:
    """Concepts, found in a text by any of their names.

    Names are compared word by word without capitals and accents (a name typed without its ñ counts where it
    can be no other), plurals count as singulars, and names of
    several words match by their stems too (stems of single words say too little: "spot" is no
    "spotting"). The longest name wins; stop words alone name nothing. An abbreviation must have its own
    capitals unless it cannot be a word (no vowel, or a digit), as in "gbs" and "t1dm".
    """

    def __init__(self, concepts: Iterable[Concept]) -> None:
        self.concepts = {concept.id: concept for concept in concepts}
        self._names = {language: self._by_name(language) for language in LANGUAGES}
        self._longest = max((len(key) for names in self._names.values() for key in names), default=0)
        self._abbreviations = {
            short: concept for concept in self.concepts.values() for short in concept.abbreviations
        }
        self._wordless = {
            short.lower(): concept for short, concept in self._abbreviations.items() if _no_word(short)
        }

    @functools.cached_property
    def digest(self) -> str:
        """Eight hexadecimal digits of its concepts; part of what rests on them is identified by."""
        return hashlib.sha256(repr(self.concepts).encode()).hexdigest()[:8]

    @classmethod
    def read(cls, path: Path) -> Thesaurus:
        """Read data/thesaurus.toml; `rag index --check` says what is wrong with one.

        Raises:
            DataError: the file is missing, is not TOML, or a concept lacks a field.
        """
        try:
            rows = tomllib.loads(path.read_text(encoding="utf-8"))["concept"]
            return cls(_concept(row) for row in rows)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"The thesaurus {path} cannot be read: {error!r}.", "Restore data/thesaurus.toml."
            ) from error

    def find(self, text: str, language: str) -> tuple[Mention, ...]:
        """The concepts a text names, in the order of the text, without overlaps.

        A language the thesaurus does not have gives abbreviations only.
        """
        return tuple(self._scan(text, words_of(text, language), self._names.get(language, {})))

    def narrower(self, concept: Concept) -> list[Concept]:
        """Its kinds."""
        return [self.concepts[name] for name in concept.narrower]

    def related(self, concept: Concept) -> list[Concept]:
        """What belongs with it."""
        return [self.concepts[name] for name in concept.related]

    def _scan(
        self, text: str, words: Sequence[Word], names: Mapping[tuple[str, ...], tuple[Concept, TermKind]]
    ) -> Iterator[Mention]:
        shouted = text.isupper() and len(words) > _SHOUTED
        at = 0
        while at < len(words):
            for end in range(min(at + self._longest, len(words)), at, -1):
                span = words[at:end]
                start, stop = span[0].start, span[-1].end
                found = self._abbreviation(text[start:stop], shouted) or _named(span, names)
                if found:
                    yield Mention(found[0], start, stop, found[1])
                    at = end
                    break
            else:
                at += 1

    def _abbreviation(self, piece: str, shouted: bool) -> tuple[Concept, TermKind] | None:
        exact = None if shouted else self._abbreviations.get(piece)
        concept = exact or self._wordless.get(piece.lower())
        return (concept, "abbreviation") if concept else None

    def _by_name(self, language: str) -> dict[tuple[str, ...], tuple[Concept, TermKind]]:
        """Concept by the words of its names, then by their stems; clinical terms go before lay wordings."""
        kinds: list[tuple[TermKind, Callable[[Concept], Mapping[str, tuple[str, ...]]]]] = [
            ("term", lambda concept: concept.terms),
            ("lay", lambda concept: concept.lay),
        ]
        named = [
            (words_of(name, language), (concept, kind))
            for kind, names in kinds
            for concept in self.concepts.values()
            for name in names(concept)[language]
        ]
        held: dict[tuple[str, ...], tuple[Concept, TermKind]] = {}
        for words, found in named:
            held.setdefault(tuple(word.form for word in words), found)
        for words, found in named:
            for key in _other_forms(words):
                held.setdefault(key, found)
        return _as_typed(held) | held


def _named(
    span: Sequence[Word], names: Mapping[tuple[str, ...], tuple[Concept, TermKind]]
) -> tuple[Concept, TermKind] | None:
    if all(word.stop for word in span):
        return None
    forms = tuple(word.form for word in span)
    return names.get(forms) or (names.get(tuple(word.stem for word in span)) if len(span) > 1 else None)


def _as_typed(
    names: Mapping[tuple[str, ...], tuple[Concept, TermKind]],
) -> dict[tuple[str, ...], tuple[Concept, TermKind]]:
    """The names with an ñ as they are typed without it, but those that two concepts would share."""
    found: dict[tuple[str, ...], tuple[Concept, TermKind]] = {}
    shared = set()
    for key, named in names.items():
        plain = tuple(map(typed, key))
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
    )


def _no_word(short: str) -> bool:
    return len(short) > 1 and (not _VOWELS & set(short.lower()) or any(char.isdigit() for char in short))
