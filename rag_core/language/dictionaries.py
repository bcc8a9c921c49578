"""simplemma's English and Spanish dictionaries, unpacked once, and then read line by line from the state folder."""

from __future__ import annotations

import functools
import os
import threading
import unicodedata
from bisect import bisect_left
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .unpacked import unpacked

LINES, LAST = "words.tsv", b"\n\xff\t\n"
LONGEST = 1024  # bytes of two lines

_lock = threading.Lock()  # one thread unpacks or loads a dictionary


def in_dictionary(word: str, language: str) -> bool:
    """Whether simplemma's dictionary of a language has a word."""
    with _lock:
        return _loaded()[0].get_lemma(unicodedata.normalize("NFC", word), language) is not None


def lemma(word: str) -> str | None:
    """The dictionary form of a Spanish form; None if simplemma's dictionary lacks it."""
    if not in_dictionary(word, "es"):
        return None
    with _lock:
        return str(_loaded()[1].lemmatize(word, "es"))


class StoredDictionary:
    """Words and their dictionary forms, in a file that `write` made, of which a look-up reads some thirty lines."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / LINES, os.O_RDONLY)
        self._last = os.fstat(self._file).st_size - len(LAST)

    @staticmethod
    def write(forms: Mapping[str, str], folder: Path) -> None:
        """Write a line for each word, in the order of their bytes, and one that comes after every word."""
        lines = sorted(f"\n{word}\t{form}".encode() for word, form in forms.items())
        (folder / LINES).write_bytes(b"".join([*lines, LAST]))

    def get(self, word: str) -> str | None:
        """The dictionary form of a word; None for one that is not here."""
        sought = word.encode()
        place = bisect_left(range(self._last), sought, key=lambda place: self._line(place)[0])
        found, form = self._line(place)
        return form.decode() if found == sought else None

    def _line(self, place: int) -> tuple[bytes, bytes]:
        """The word and form of the first line that begins at a place in the file or later."""
        _, line, *_ = os.pread(self._file, LONGEST, place).split(b"\n", 2)
        word, _, form = line.partition(b"\t")
        return word, form


class _Dictionaries:
    """What simplemma takes its dictionaries from (a DictionaryFactory)."""

    @functools.cache  # noqa: B019 - of the one that there is
    def get_dictionary(self, lang: str) -> Any:
        from simplemma.strategies import dictionaries

        def unpack(folder: Path) -> None:
            StoredDictionary.write(dictionaries.DefaultDictionaryFactory().get_dictionary(lang), folder)

        packed = Path(dictionaries.__path__[0], "data", f"{lang}.plzma")
        try:
            return StoredDictionary(unpacked(lang, packed, unpack))
        except (OSError, ValueError):  # a full or read-only disk, an empty file
            return dictionaries.LOW_MEMORY_DICTIONARY_FACTORY.get_dictionary(lang)  # a tenth of the default's memory


@functools.cache
def _loaded() -> tuple[Any, Any]:
    """What looks words up, and what finds their dictionary forms."""
    from simplemma import Lemmatizer
    from simplemma.strategies import DefaultStrategy, DictionaryLookupStrategy

    made = _Dictionaries()
    return DictionaryLookupStrategy(made), Lemmatizer(lemmatization_strategy=DefaultStrategy(dictionary_factory=made))
