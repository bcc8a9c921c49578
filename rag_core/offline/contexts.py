"""The offline engine's context of a passage: what its document is about, in both languages.

Contextual retrieval (Anthropic, "Introducing Contextual Retrieval", 2024) puts a language model's one or
two sentences before each passage. Without a model: the document's most frequent terms, and the names, in
the other language, of the concepts that the passage names. Title and headings stand there anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ..language.analysis import LANGUAGES, words_of
from ..language.thesaurus import Thesaurus
from ..values.types import Passage

RECIPE = "key-terms+thesaurus/1"  # part of an enriched index's identity: change it with what is below
TERMS = 8  # of the document
NAMES = 4  # in the other language, of the passage's concepts
TITLE = 2  # times that title and headings count


def offline_contexts(document: str, passages: Sequence[Passage], thesaurus: Thesaurus) -> list[str]:
    """The context of each passage of a document, one line each; empty where there is nothing to say."""
    terms = {
        language: key_terms(document, language, TERMS)
        for language in {passage.language for passage in passages}
    }
    return [
        " ".join(
            f"{', '.join(part)}."
            for part in (terms[passage.language], other_names(passage, thesaurus, NAMES))
            if part
        )
        for passage in passages
    ]


def key_terms(text: str, language: str, most: int) -> list[str]:
    """The most frequent terms of a text, each in its most frequent form; of equals the earliest."""
    words = [
        (word.stem, text[word.start : word.end].lower())
        for word in words_of(text, language)
        if not word.stop and len(word.form) > 1 and not word.form.isdigit()
    ]
    stems = _most_frequent((stem for stem, _ in words), most)
    return [_most_frequent((form for stem, form in words if stem == wanted), 1)[0] for wanted in stems]


def other_names(passage: Passage, thesaurus: Thesaurus, most: int) -> list[str]:
    """What the concepts that a passage names most often are called in the other language."""
    text = "\n".join([passage.full_title] * TITLE + [passage.text])
    named = _most_frequent((found.concept.id for found in thesaurus.find(text, passage.language)), most)
    others = [code for code in LANGUAGES if code != passage.language] if passage.language in LANGUAGES else []
    return [thesaurus.concepts[identity].preferred(code) for identity in named for code in others]


def _most_frequent(items: Iterable[str], most: int) -> list[str]:
    return [item for item, _ in Counter(items).most_common(most)]
