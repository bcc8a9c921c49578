"""The reader: Spanish text to word-by-word English."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ..language.thesaurus import Thesaurus
from ..values.errors import DataError
from .lexicon import Lexicon
from .rules import RULES
from .spelling import composed, typed_plain

_WORD = re.compile(r"[\w\u0300-\u036f]+")
_SPACES = re.compile(r"[ \t]+(?=[ \t.,;:?!)]|$)", re.MULTILINE)  # left where a word is dropped
_OPENING = str.maketrans("", "", "¿¡")
_CACHED_TEXTS = 1024


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
        entries: English by Spanish form or phrase, in lower case; an empty English drops the word.
        thesaurus: its Spanish names of several words are read as the concept's English name.
    """

    def __init__(self, entries: Mapping[str, str], thesaurus: Thesaurus | None = None) -> None:
        self._words = Lexicon({form: english for form, english in entries.items() if " " not in form})
        phrases = _names(thesaurus) | {form: english for form, english in entries.items() if " " in form}
        self._phrases = {_key(form): english for form, english in phrases.items()}
        self._longest: dict[str, int] = {}  # words of the longest phrase, by its first word
        for key in self._phrases:
            self._longest[key[0]] = max(len(key), self._longest.get(key[0], 0))
        content = f"{RULES} {sorted(entries.items())} {sorted(self._phrases.items())}"
        self.digest = hashlib.sha256(content.encode()).hexdigest()[:8]
        self.english = functools.lru_cache(maxsize=_CACHED_TEXTS)(self._read_text)

    @classmethod
    def read(cls, path: Path, thesaurus: Thesaurus | None = None) -> Gloss:
        """Read data/gloss/es.tsv; `rag index --check` reports its faults.

        Raises:
            DataError: the file is missing, or a line is not "form TAB English".
        """
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            return cls(dict(line.split("\t") for line in lines), thesaurus)
        except (OSError, ValueError) as error:
            raise DataError(f"The word list {path} cannot be read: {error!r}.", f"Restore {path}.") from error

    def unknown(self, text: str) -> list[str]:
        """The words of a text that could not be read, in text order; numbers, letters and names are not words."""
        whole = composed(text)
        return [
            whole[piece.start : piece.end]
            for piece in self._pieces(whole)
            if piece.english is None and not _stays(whole, piece.start, piece.end)
        ]

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
        keys = [typed_plain(word) for word in words]
        at = 0
        while at < len(words):
            start = spans[at][0]
            for n in range(min(self._longest.get(keys[at], 0), len(words) - at), 1, -1):
                english = self._phrases.get(tuple(keys[at : at + n]))
                if english is not None:
                    yield _Piece(start, spans[at + n - 1][1], english)
                    at += n
                    break
            else:
                end = spans[at][1]
                yield _Piece(start, end, None if _stays(text, start, end) else self._words.read(words[at]))
                at += 1


def _stays(text: str, start: int, end: int) -> bool:
    """Whether a word is a number, a single capital or an unread name: "28", "B", "Apgar"."""
    word = text[start:end]
    return any(char.isdigit() for char in word) or (len(word) == 1 and word.isupper() and start > 0)


def _key(phrase: str) -> tuple[str, ...]:
    return tuple(typed_plain(word) for word in phrase.split())


def _names(thesaurus: Thesaurus | None) -> dict[str, str]:
    """The English of the thesaurus's Spanish names of several words: lay for lay, preferred otherwise."""
    found: dict[str, str] = {}
    for concept in thesaurus.concepts.values() if thesaurus else ():
        for names in (concept.terms, concept.lay):
            for name in names["es"]:
                if len(_WORD.findall(name)) > 1:
                    found.setdefault(name.lower(), concept.preferred("en"))
    return found
