"""What the kinds of questions of the built-in set are called."""

from __future__ import annotations

from pages.drawing.translate import LANGUAGES, declared, translated

TITLES = {
    "clear": declared("clear questions"),
    "lay": declared("everyday words"),
    "keywords": declared("keywords only"),
    "ambiguous": declared("ambiguous questions"),
    "facets": declared("several sides of a subject"),
    "number_negation": declared("numbers and negations"),
    "misspelt": declared("misspelt questions"),
    "cross_language": declared("questions across languages"),
    "outside": declared("outside the collection"),
    "emergency": declared("emergencies"),
    "hurried": declared("hurried questions"),
}


def title(name: str) -> str:
    """The title of a group of questions: a kind, a language or a topic; a name of another set as it is."""
    return translated(TITLES.get(name, LANGUAGES.get(name, name)))
