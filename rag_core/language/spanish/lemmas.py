"""Dictionary forms of Spanish words, from simplemma."""

from __future__ import annotations

from ..spelling import dictionaries, in_dictionary


def lemma(word: str) -> str | None:
    """The dictionary form of a Spanish form; None if the dictionary lacks it."""
    if not in_dictionary(word, "es"):
        return None
    with dictionaries:
        import simplemma

        return str(simplemma.lemmatize(word, "es", low_memory=True))
