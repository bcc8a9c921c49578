"""Passage contexts without a language model: what the document is about, in both languages.

Contextual retrieval (Anthropic, "Introducing Contextual Retrieval", 2024) prepends one or two sentences by a
language model to each passage. The offline context is the document's most frequent terms, and the
other-language names of the concepts in the passage. Title and headings are indexed anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..language.analysis import LANGUAGES, words_of
from ..language.thesaurus import Thesaurus
from ..values.types import Passage

RECIPE = "key-terms+thesaurus/1"  # part of an enriched index's identity: change it with the code below
KEY_TERMS = 8  # per document
CONCEPT_NAMES = 4  # per passage, in the other language
TITLE_WEIGHT = 2  # how often title and headings count


def offline_contexts(document: str, passages: Sequence[Passage], thesaurus: Thesaurus) -> list[str]:
    """The context of each passage of a document, one line each; may be empty."""
    terms = {
        language: key_terms(document, language, KEY_TERMS)
        for language in {passage.language for passage in passages}
    }
    return [
        " ".join(
            f"{', '.join(part)}."
            for part in (terms[passage.language], other_names(passage, thesaurus, CONCEPT_NAMES))
            if part
        )
        for passage in passages
    ]


def key_terms(text: str, language: str, most: int) -> list[str]:
    """The most frequent terms of a text, each in its most frequent form; ties go to the earliest."""
    words = [
        (word.stem, text[word.start : word.end].lower())
        for word in words_of(text, language)
        if not word.stop and len(word.form) > 1 and not word.form.isdigit()
    ]
    stems = _most_frequent((stem for stem, _ in words), most)
    return [_most_frequent((form for stem, form in words if stem == term), 1)[0] for term in stems]


def other_names(passage: Passage, thesaurus: Thesaurus, most: int) -> list[str]:
    """The other-language names of the concepts a passage names most often."""
    text = "\n".join([passage.full_title] * TITLE_WEIGHT + [passage.text])
    named = _most_frequent((found.concept.id for found in thesaurus.find(text, passage.language)), most)
    others = [code for code in LANGUAGES if code != passage.language] if passage.language in LANGUAGES else []
    return [thesaurus.concepts[identity].preferred(code) for identity in named for code in others]


def _most_frequent(items: Iterable[str], most: int) -> list[str]:
    return [item for item, _ in Counter(items).most_common(most)]
