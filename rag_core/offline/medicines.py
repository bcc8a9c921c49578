"""The medicines that a text names."""

from __future__ import annotations

from ..language.analysis import LANGUAGES, words_of
from ..language.facts import is_medicine
from ..language.thesaurus import Thesaurus


def names_in(text: str, language: str, thesaurus: Thesaurus | None) -> frozenset[str]:
    """The medicines a text names: folded words, and ids of their concepts."""
    words = {
        word.form: text[word.start : word.end] for word in words_of(text, language) if is_medicine(word.form)
    }
    if thesaurus is None:
        return frozenset(words)
    mentions = (thesaurus.find(name, code) for name in words.values() for code in LANGUAGES)
    return frozenset({*words, *(mention.concept.id for found in mentions for mention in found)})
