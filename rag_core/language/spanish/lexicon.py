"""The English of one Spanish word: from the list, or by rule."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping

from ..spelling import in_dictionary, lemma
from .rules import cognate, readings
from .spelling import plain, respelt, sound, typed_plain, with_accents

_SHORTEST = 4  # letters; shorter words sound like too many others


class Lexicon:
    """Reads single words, lower-cased and composed.

    A word is looked up as it is, without accents, by its dictionary form, by simpler forms, by its sound,
    and last read from its ending.

    Args:
        entries: English by Spanish form.
    """

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


def _first_by(key: Callable[[str], str], forms: Iterable[str]) -> dict[str, str]:
    """The first form for each key."""
    found: dict[str, str] = {}
    for form in forms:
        found.setdefault(key(form), form)
    return found


def _only_by(key: Callable[[str], str], entries: Mapping[str, str]) -> dict[str, str]:
    """The form for each key whose forms all have one English."""
    found: dict[str, str] = {}
    shared = set()
    for form, english in entries.items():
        if entries[found.setdefault(key(form), form)] != english:
            shared.add(key(form))
    return {one: form for one, form in found.items() if one not in shared}
