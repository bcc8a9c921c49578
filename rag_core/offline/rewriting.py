"""Rewrites of a question without a language model: thesaurus, pseudo-relevance feedback, fixed wordings.

Every rewrite is in the question's language and keeps its numbers, weeks, negations and medicines: the
words that carry them are never replaced or left out.
"""

from __future__ import annotations

import copy
import functools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..language.analysis import language_of, words_of
from ..language.facts import Fact, facts
from ..language.thesaurus import Concept, Mention, Thesaurus
from ..runtime.services import Embedder, Index
from ..values.types import ModelCall
from .feedback import Feedback, first_pass
from .metered import MeteredEmbedder

FEW, MANY = 4, 8  # feedback terms put behind a question
NAMES = 2  # further names of one concept


@dataclass(frozen=True, slots=True)
class Wording:
    """The fixed words of one language.

    Args:
        aspects: what a question may ask about, by the words that show it; the first that matches holds.
    """

    full: str
    wider: str
    risks: str
    paraphrase: str
    aspects: Mapping[str, re.Pattern[str]]
    otherwise: str


def _words(alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{alternatives})", re.IGNORECASE)


WORDINGS = {
    "en": Wording(
        full="What should be known about {}?",
        wider="complications, prevention and care",
        risks="complications, risks, signs to watch for",
        paraphrase="What is advised about this: {}",
        aspects={
            "dose": _words("dose|dosage|how much|how many|mg|units"),
            "timing": _words("when|how long|how often|which week|what week|weeks|until|hours|days"),
            "diagnosis": _words("test|scan|diagnos|signs?|symptom|tell|cut-?off|screen"),
            "treatment": _words("treat|take|medicine|medication|drug|cream|pill|tablet|help|manage|relie"),
            "risks": _words("risk|safe|danger|harm|can i|may i|allowed|side effect|complication"),
        },
        otherwise="management",
    ),
    "es": Wording(
        full="¿Qué hay que saber sobre {}?",
        wider="complicaciones, prevención y cuidados",
        risks="complicaciones, factores de riesgo y signos de alarma",
        paraphrase="Qué se recomienda sobre esto: {}",
        aspects={
            "dosis": _words("dosis|cuánto|cuanto|cuántos|mg|unidades"),
            "momento": _words("cuándo|cuando|cada cuánto|qué semana|semanas?|hasta|días|horas"),
            "diagnóstico": _words("prueba|test|ecograf|diagn|signos?|síntoma|corte|tamizaje|cribado"),
            "tratamiento": _words("trata|tomar|tomo|medic|crema|pastilla|ayuda|alivia|antibiótico"),
            "riesgos": _words("riesgo|seguro|peligr|daño|puedo|efecto|complicaci"),
        },
        otherwise="manejo",
    ),
}


@dataclass(frozen=True)
class RewriteInput:
    """A question with what is known of it; what costs something is found when it is asked for."""

    text: str
    language: str
    mentions: tuple[Mention, ...]
    facts: tuple[Fact, ...]
    wording: Wording
    search: Callable[[], Feedback]

    @functools.cached_property
    def feedback(self) -> Feedback:
        """A first pass through the index."""
        return self.search()

    @functools.cached_property
    def concepts(self) -> list[Concept]:
        """The concepts it names, in its order."""
        return list({mention.concept.id: mention.concept for mention in self.mentions}.values())

    def with_names(self, name: Callable[[Mention], str]) -> str:
        """The text with each mention by another name; those that hold a fact stay as they are."""
        parts, end = [], 0
        for mention in self.mentions:
            if any(fact.start < mention.end and mention.start < fact.end for fact in self.facts):
                continue
            parts += [self.text[end : mention.start], name(mention)]
            end = mention.end
        return "".join([*parts, self.text[end:]])

    def terms(self, most: int) -> list[str]:
        """Feedback terms that the text does not use."""
        return self.feedback.terms(self.language, self.text, most)

    def other_names(self, concept: Concept, most: int = NAMES) -> list[str]:
        """Clinical terms and abbreviations of a concept that the text does not use, preferred first."""
        names = [*concept.terms[self.language], *concept.abbreviations]
        return [name for name in names if name.casefold() not in self.text.casefold()][:most]


def full_question(keywords: str) -> str:
    """A question of keywords; the keywords themselves in a language other than English and Spanish."""
    wording = WORDINGS.get(language_of(keywords))
    return wording.full.format(keywords.rstrip(" .?")) if wording else keywords


class Rewriter:
    """Writes what a rewriting template asks for, by the template's name."""

    def __init__(self, embedder: Embedder, thesaurus: Thesaurus | None, index: Index | None) -> None:
        self._embedder = embedder
        self._thesaurus = thesaurus
        self._index = index

    def metered(self, calls: list[ModelCall]) -> Rewriter:
        """The same, with its embeddings on a bill."""
        own = copy.copy(self)
        own._embedder = MeteredEmbedder(self._embedder, calls)
        return own

    def rewrite(self, template: str, question: str, form: str = "sentence") -> str:
        """A rewrite of the question; the question itself in a language other than English and Spanish.

        Args:
            template: a name in RULES; any other is the user's own and is read as "synonyms".
            form: "keywords" are first made a full question.
        """
        language = language_of(question)
        if language not in WORDINGS:
            return question
        rule = RULES.get(template, _synonyms)
        asked = question
        if form == "keywords":
            asked = full_question(question)
        return " ".join(rule(self._understood(asked, question, language)).split())

    def _understood(self, text: str, question: str, language: str) -> RewriteInput:
        mentions = self._thesaurus.find(text, language) if self._thesaurus else ()
        return RewriteInput(
            text,
            language,
            mentions,
            tuple(facts(text, language)),
            WORDINGS[language],
            lambda: self.first_pass(question, language),
        )

    def first_pass(self, question: str, language: str) -> Feedback:
        """What the index says about a question; nothing without an index."""
        if self._index is None:
            return Feedback((), ())
        return first_pass(question, language, self._embedder, self._index)


def _glossed(asked: RewriteInput) -> str:
    """The preferred clinical term behind every lay wording and abbreviation."""

    def name(mention: Mention) -> str:
        written = asked.text[mention.start : mention.end]
        return (
            written if mention.kind == "term" else f"{written} ({mention.concept.preferred(asked.language)})"
        )

    return asked.with_names(name)


def _transform(asked: RewriteInput) -> str:
    """The preferred clinical term in place of every lay wording and abbreviation; nothing added."""

    def name(mention: Mention) -> str:
        written = asked.text[mention.start : mention.end]
        return written if mention.kind == "term" else mention.concept.preferred(asked.language)

    return asked.with_names(name)


def _standalone(asked: RewriteInput) -> str:
    """In clinical terms, with the setting it takes for granted in the words of the best passages.

    A fixed setting ("in pregnancy") was tried: it draws every question to the same general passages.
    """
    return _listed(_glossed(asked), asked.terms(FEW))


def _synonyms(asked: RewriteInput) -> str:
    """Its clinical terms and the other names of what it speaks of, without the words between them."""
    names = [name for concept in asked.concepts for name in asked.other_names(concept)]
    return " ".join([_condensed(_transform(asked), asked.language), *dict.fromkeys(names)])


def _expanded(asked: RewriteInput) -> str:
    """With what belongs to it: the headings it leads to, or else complications, prevention and care."""
    return _listed(_glossed(asked), asked.feedback.titles() or [asked.wording.wider])


def _complications(asked: RewriteInput) -> str:
    return _listed(_transform(asked), [asked.wording.risks])


def _paraphrasing(asked: RewriteInput) -> str:
    return asked.wording.paraphrase.format(_transform(asked))


def _aspect_specific(asked: RewriteInput) -> str:
    """Turned towards the aspect that its own words show."""
    shown = (name for name, words in asked.wording.aspects.items() if words.search(asked.text))
    return f"{next(shown, asked.wording.otherwise).capitalize()}: {_transform(asked)}"


def _entity_aware(asked: RewriteInput) -> str:
    """With what the best passages name: conditions, drugs, tests."""
    return _listed(asked.text, asked.terms(MANY))


def _clarification(asked: RewriteInput) -> str:
    """With the place where the best passage stands: which patient, which stage."""
    return _listed(_glossed(asked), asked.feedback.titles()[:1])


def _entity_expansion(asked: RewriteInput) -> str:
    """Each concept with its other names; where it names none, with feedback terms."""

    def name(mention: Mention) -> str:
        written = asked.text[mention.start : mention.end]
        return _listed(written, asked.other_names(mention.concept))

    text = asked.with_names(name)
    return text if text != asked.text else _listed(text, asked.terms(FEW))


def _retrieval_condense(asked: RewriteInput) -> str:
    return _condensed(asked.text, asked.language)


RULES: Mapping[str, Callable[[RewriteInput], str]] = {
    "standalone": _standalone,
    "synonyms": _synonyms,
    "expanded": _expanded,
    "complications": _complications,
    "paraphrasing": _paraphrasing,
    "aspect_specific": _aspect_specific,
    "entity_aware": _entity_aware,
    "clarification": _clarification,
    "entity_expansion": _entity_expansion,
    "retrieval_condense": _retrieval_condense,
    "transform": _transform,
}


def _condensed(text: str, language: str) -> str:
    """The words that carry meaning, and every fact as it is written; the text when nothing is left."""
    kept: dict[tuple[int, int], str] = {}
    held = facts(text, language)
    for word in words_of(text, language):
        span = next(((fact.start, fact.end) for fact in held if fact.start <= word.start < fact.end), None)
        if span or not word.stop:
            start, end = span or (word.start, word.end)
            kept[start, end] = text[start:end]
    return " ".join(kept.values()) or text


def _listed(text: str, items: Iterable[str]) -> str:
    """Text followed by items in one list, none twice."""
    listed = ", ".join(dict.fromkeys(items))
    return f"{text} ({listed})" if listed else text
