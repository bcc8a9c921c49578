"""The medicines that a text names."""

from __future__ import annotations

import re

from ..language.analysis import LANGUAGES, words_of
from ..language.facts import is_medicine
from ..language.thesaurus import Thesaurus

# Ends of names that mark a class of medicines: WHO, "The use of stems in the selection of INN", 2018.
_STEM = re.compile(
    r"(?<=\w{3})(?:pril|sartan|olol|dipine|dipino|statin|statina|floxacin|floxacino|gliptin|gliptina|oxetine|oxetina)$"
)


def names_in(text: str, language: str, thesaurus: Thesaurus | None) -> frozenset[str]:
    """The medicines a text names: folded words, and ids of their concepts."""
    words = {
        word.form: text[word.start : word.end] for word in words_of(text, language) if is_medicine(word.form)
    }
    if thesaurus is None:
        return frozenset(words)
    mentions = (thesaurus.find(name, code) for name in words.values() for code in LANGUAGES)
    return frozenset({*words, *(mention.concept.id for found in mentions for mention in found)})


def drugs_in(text: str, language: str, thesaurus: Thesaurus | None) -> frozenset[str]:
    """The medicines a text names, as `names_in` gives them, and the ids of their classes."""
    named = names_in(text, language, thesaurus)
    if thesaurus is None:
        return named
    known = named | {one for name in named for one in _of_stem(name, thesaurus)}
    wider: set[str] = set()
    while found := {
        concept.id
        for concept in thesaurus.concepts.values()
        if concept.id not in wider and (known | wider) & {*concept.narrower, *concept.class_of}
    }:
        wider |= found
    return frozenset({*named, *wider})


def _of_stem(word: str, thesaurus: Thesaurus) -> frozenset[str]:
    """The medicines of the thesaurus with the same stem: ramipril is what enalapril is."""
    stem = _STEM.search(word)
    if stem is None:
        return frozenset()
    return frozenset(
        concept.id
        for concept in thesaurus.concepts.values()
        if concept.kind == "drug" and any(concept.preferred(code).endswith(stem[0]) for code in LANGUAGES)
    )
