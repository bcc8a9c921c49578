"""Dictionary forms of Spanish words, from simplemma."""

from __future__ import annotations

import threading

_lock = threading.Lock()  # the dictionary takes a second to load; only one thread should do so


def lemma(word: str) -> str | None:
    """The dictionary form of a Spanish form; None if the dictionary lacks it."""
    with _lock:
        import simplemma

        if not simplemma.is_known(word, "es"):
            return None
        return str(simplemma.lemmatize(word, "es"))


def is_english(word: str) -> bool:
    """Whether an English dictionary has the word."""
    with _lock:
        import simplemma

        return bool(simplemma.is_known(word, "en"))
