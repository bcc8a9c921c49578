"""simplemma's English and Spanish dictionaries, unpacked once, and then read word by word from the state folder."""

import functools
import sqlite3
import threading
import unicodedata
from contextlib import closing
from pathlib import Path
from typing import Any

from .unpacked import unpacked

NAME = "forms.sqlite"

_lock = threading.Lock()  # one thread unpacks or loads a dictionary


def in_dictionary(word: str, language: str) -> bool:
    """Whether simplemma's dictionary of a language has a word."""
    return _form(word, language) is not None


def lemma(word: str) -> str | None:
    """The dictionary form of a Spanish form; None if simplemma's dictionary lacks it."""
    return _form(word, "es")


def _form(word: str, language: str) -> str | None:
    with _lock:
        found: str | None = _lookup().get_lemma(unicodedata.normalize("NFC", word), language)
    return found


class StoredDictionary:
    """Words and their dictionary forms, in a database that `_Dictionaries` made. A thread at a time."""

    def __init__(self, folder: Path) -> None:
        where = f"{(folder / NAME).resolve().as_uri()}?immutable=1"  # is never written again, so needs no locks
        self._database = sqlite3.connect(where, uri=True, check_same_thread=False)
        self.get("")  # raises sqlite3.Error if it is damaged

    def get(self, word: str) -> str | None:
        """The dictionary form of a word; None for one that is not here."""
        row = self._database.execute("SELECT form FROM forms WHERE word = ?", (word,)).fetchone()
        return str(row[0]) if row else None


class _Dictionaries:
    """What simplemma takes its dictionaries from (a DictionaryFactory)."""

    @functools.cache  # noqa: B019 - of the one that there is
    def get_dictionary(self, lang: str) -> Any:
        from simplemma.strategies import dictionaries

        def unpack(folder: Path) -> None:
            forms = dictionaries.DefaultDictionaryFactory().get_dictionary(lang)
            with closing(sqlite3.connect(folder / NAME)) as database, database:
                database.execute("CREATE TABLE forms (word TEXT PRIMARY KEY, form TEXT) WITHOUT ROWID")
                database.executemany("INSERT INTO forms VALUES (?, ?)", sorted(forms.items()))

        packed = Path(dictionaries.__path__[0], "data", f"{lang}.plzma")
        try:
            return StoredDictionary(unpacked(lang, packed, unpack))
        except (OSError, sqlite3.Error):  # a full or read-only disk, a damaged file
            return dictionaries.LOW_MEMORY_DICTIONARY_FACTORY.get_dictionary(lang)  # a tenth of the default's memory


@functools.cache
def _lookup() -> Any:
    from simplemma.strategies import DictionaryLookupStrategy

    return DictionaryLookupStrategy(_Dictionaries())
