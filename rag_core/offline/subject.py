"""What a question is about, and how much of it a text names."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import NamedTuple

from ..language.analysis import language_of, tokens, words_of
from ..language.facts import facts
from ..language.thesaurus import Thesaurus
from ..runtime.services import Index

MAX_FREQUENCY = 1000  # document frequencies are capped here


class TermWeights:
    """Weighs the terms of questions by how few passages of a collection have them.

    Args:
        index: gives document frequencies; without it all terms weigh the same.
    """

    def __init__(self, index: Index | None) -> None:
        self._index = index
        self._frequency = functools.lru_cache(maxsize=4096)(self._count)

    def of(self, question: str) -> dict[str, float]:
        """The question's terms as stems, with their idf: ln((1 + N) / (½ + n)).

        n is the number of passages with the term, at most N = MAX_FREQUENCY.
        """
        return {
            word.stem: math.log(
                (1 + MAX_FREQUENCY) / (0.5 + self._frequency(question[word.start : word.end]))
            )
            for word in words_of(question, language_of(question))
            if not word.stop and len(word.form) > 1
        }

    def _count(self, word: str) -> int:
        """Number of passages with a term, up to MAX_FREQUENCY; 0 without an index."""
        return min(self._index.document_frequency(word), MAX_FREQUENCY) if self._index else 0


class Idea(NamedTuple):
    """A word of a question, or the words of one concept.

    Args:
        weight: the highest idf of its words.
        stems: of its words, in the question's language.
        concept: id of the concept; empty when the thesaurus has none.
    """

    weight: float
    stems: frozenset[str]
    concept: str


class Reader:
    """Reads the ideas in questions and texts, with a cache."""

    def __init__(self, thesaurus: Thesaurus | None = None) -> None:
        self.thesaurus = thesaurus
        self.concepts = functools.lru_cache(maxsize=32768)(self._concepts)
        self.stems = functools.lru_cache(maxsize=32768)(self._stems)
        self.forms = functools.lru_cache(maxsize=32768)(self._forms)

    @functools.cached_property
    def medicines(self) -> frozenset[str]:
        """The ids of the thesaurus's medicines and of their classes."""
        concepts = self.thesaurus.concepts.values() if self.thesaurus else ()
        drugs = {concept.id for concept in concepts if concept.kind == "drug"}
        return frozenset(drugs | {concept.id for concept in concepts if drugs & {*concept.class_of}})

    def ideas(self, question: str, language: str, weights: Mapping[str, float]) -> list[Idea]:
        """The ideas of a question, without its numbers.

        Args:
            weights: idf of its terms, by stem; other words are ignored.
        """
        numbers = [fact for fact in facts(question, language) if fact.kind in ("number", "age")]
        words = [
            word
            for word in words_of(question, language)
            if word.stem in weights and not any(fact.start <= word.start < fact.end for fact in numbers)
        ]
        found: list[Idea] = []
        for mention in self.thesaurus.find(question, language) if self.thesaurus else ():
            inside = [word for word in words if mention.start <= word.start < mention.end]
            if inside:
                weight = max(weights[word.stem] for word in inside)
                found.append(Idea(weight, frozenset(word.stem for word in inside), mention.concept.id))
                words = [word for word in words if word not in inside]
        found += [Idea(weights[word.stem], frozenset([word.stem]), "") for word in words]
        return list(dict.fromkeys(found))

    def share(self, idea: Idea, text: str, language: str) -> float:
        """How far a text names an idea, 0 to 1."""
        if idea.concept and idea.concept in self.concepts(text, language):
            return 1.0
        return len(idea.stems & self.stems(text, language)) / len(idea.stems)

    def _concepts(self, text: str, language: str) -> frozenset[str]:
        """The concepts a text names, and those they are narrower than."""
        if self.thesaurus is None:
            return frozenset()
        return frozenset(mention.concept.id for mention in self.thesaurus.find(text, language))

    def _stems(self, text: str, language: str) -> frozenset[str]:
        return frozenset(tokens(text, language))

    def _forms(self, text: str, language: str) -> frozenset[str]:
        return frozenset(word.form for word in words_of(text, language))
