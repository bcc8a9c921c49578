"""Rewriting questions without a language model: thesaurus, pseudo-relevance feedback, fixed phrases.

Every rewrite is in the question's language and keeps its numbers, weeks of pregnancy, negations and drugs: the
words that express them are never replaced or dropped.
"""

import functools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..language.analysis import language_of, words_of
from ..language.facts import Fact, facts
from ..language.thesaurus import Concept, Mention, Thesaurus
from ..language.words import read_words
from ..runtime.services import Embedder, Index
from ..stages import ReciprocalRankFusion
from ..values.types import Passage, Query, Ranking

FEW_TERMS, MANY_TERMS = 4, 8  # feedback terms appended to a question
MAX_NAMES = 2  # further names per concept
DEPTH = 50  # hits per search of the first pass
MAX_FEEDBACK_PASSAGES = 3  # assumed to be relevant
AGREEMENT_DEPTH = 20  # both searches must rank them this high; on dev, 20 is better than 10 or no check
MIN_TERM_LENGTH = 4  # letters per feedback term


@dataclass(frozen=True, slots=True)
class Feedback:
    """A first pass: its best passages, and all passages it found, as background."""

    best: tuple[Passage, ...]
    background: tuple[Passage, ...]

    def titles(self) -> list[str]:
        """Titles and headings of the best passages, without duplicates, best first."""
        return list(dict.fromkeys(passage.full_title for passage in self.best if passage.full_title))

    def terms(self, language: str, known: str, most: int) -> list[str]:
        """The most distinctive terms of the best passages, in their most common form, without `known` words.

        RM3 (Lavrenko and Croft, SIGIR 2001; Abdul-Jaleel et al., UMass at TREC 2004): a term's weight is its
        share of each best passage, divided by the passage's rank and summed. Instead of interpolating, the
        terms are appended to the question as text; instead of an idf, each weight is multiplied by the share
        of first-pass passages without the term.
        """
        weights: defaultdict[str, float] = defaultdict(float)
        forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for rank, passage in enumerate(self.best, start=1):
            words = [
                word
                for word in words_of(passage.indexed_text, language)
                if not word.stop and len(word.form) >= MIN_TERM_LENGTH and word.form.isalpha()
            ]
            for word in words:
                weights[word.stem] += 1 / (rank * len(words))
                forms[word.stem][passage.indexed_text[word.start : word.end].lower()] += 1
        for word in words_of(known, language):
            weights.pop(word.stem, None)
        common = Counter(
            stem
            for passage in self.background
            for stem in {word.stem for word in words_of(passage.indexed_text, language)}
        )
        for stem in weights:
            weights[stem] *= 1 - common[stem] / (len(self.background) + 1)
        ranked = sorted(weights, key=lambda stem: (-weights[stem], stem))[:most]
        return [forms[stem].most_common(1)[0][0] for stem in ranked]


def first_pass(question: str, language: str, embedder: Embedder, index: Index | None) -> Feedback:
    """Search densely and lexically, fuse by reciprocal rank, and keep passages in the question's language.

    If there are none, passages in any language are used. A passage must rank high in both searches: feedback
    harms questions whose first pass is wrong (selective feedback; Amati, Carpineto and Romano, ECIR 2004), and
    lay questions often match on a chance word. Without an index, nothing is found.
    """
    if index is None:
        return Feedback((), ())
    vectors, _ = embedder.embed([question])
    searches = [index.dense(vectors[0], DEPTH), index.lexical(question, DEPTH, 1.5, 0.75)]
    scores = ReciprocalRankFusion().fuse([Ranking(Query(question), tuple(hits)) for hits in searches])
    by_id = {hit.id: hit.passage for hits in searches for hit in hits}
    found = [by_id[name] for name in sorted(scores, key=lambda name: (-scores[name], name))]
    agreed = set.intersection(*({hit.id for hit in hits[:AGREEMENT_DEPTH]} for hits in searches))
    passages = [passage for passage in found if passage.language == language] or found
    best = [
        passage for passage in passages[:MAX_FEEDBACK_PASSAGES] if passage.id in agreed and not passage.gives_orders
    ]
    return Feedback(tuple(best), tuple(passages))


@dataclass(frozen=True, slots=True)
class Wording:
    """One language's phrases; `aspects` are patterns of what a question asks about: the first match wins."""

    full: str
    wider: str
    risks: str
    paraphrase: str
    aspects: Mapping[str, re.Pattern[str]]
    otherwise: str


WORDINGS = {
    code: Wording(
        **phrases
        | {
            "aspects": {
                name: re.compile(rf"\b(?:{alternatives})", re.IGNORECASE)
                for name, alternatives in phrases["aspects"].items()
            }
        }
    )
    for code, phrases in read_words()["wordings"].items()
}


@dataclass(frozen=True)
class RewriteInput:
    """A question and its analysis; the expensive part is computed on first use."""

    text: str
    language: str
    mentions: tuple[Mention, ...]
    facts: tuple[Fact, ...]
    wording: Wording
    search: Callable[[], Feedback]

    @functools.cached_property
    def feedback(self) -> Feedback:
        return self.search()

    @functools.cached_property
    def concepts(self) -> list[Concept]:
        return list({mention.concept.id: mention.concept for mention in self.mentions}.values())

    def with_names(self, name: Callable[[Mention], str]) -> str:
        """The text with each mention renamed, unless it overlaps a fact or its term is there too (see `WrittenOut`)."""
        parts, end = [], 0
        named = {mention.concept.id for mention in self.mentions if mention.kind == "term"}
        for mention in self.mentions:
            again = mention.kind != "term" and mention.concept.id in named
            if again or any(fact.start < mention.end and mention.start < fact.end for fact in self.facts):
                continue
            parts += [self.text[end : mention.start], name(mention)]
            end = mention.end
        return "".join([*parts, self.text[end:]])

    def terms(self, most: int) -> list[str]:
        return self.feedback.terms(self.language, self.text, most)

    def other_names(self, concept: Concept, most: int = MAX_NAMES) -> list[str]:
        """A concept's clinical terms and abbreviations that are not in the text, preferred term first."""
        names = [*concept.terms[self.language], *concept.abbreviations]
        return [name for name in names if name.casefold() not in self.text.casefold()][:most]


def full_question(keywords: str) -> str:
    """A full question from keywords; the keywords themselves in languages other than English and Spanish."""
    wording = WORDINGS.get(language_of(keywords))
    return wording.full.format(keywords.rstrip(" .?")) if wording else keywords


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Rewrites questions by rule, selected by the template's name."""

    embedder: Embedder
    thesaurus: Thesaurus | None
    index: Index | None

    def rewrite(self, template: str, question: str, form: str = "sentence") -> str:
        """A rewrite by the template's rule, else by synonyms; languages but English and Spanish stay as they are."""
        language = language_of(question)
        if language not in WORDINGS:
            return question
        rule = RULES.get(template, _synonyms)
        text = full_question(question) if form == "keywords" else question
        return " ".join(rule(self._analyse(text, question, language)).split())

    def _analyse(self, text: str, question: str, language: str) -> RewriteInput:
        mentions = self.thesaurus.find(text, language) if self.thesaurus else ()
        return RewriteInput(
            text,
            language,
            mentions,
            tuple(facts(text, language)),
            WORDINGS[language],
            lambda: first_pass(question, language, self.embedder, self.index),
        )


def _with_clinical_terms(question: RewriteInput, form: str = "{written} ({preferred})") -> str:
    def name(mention: Mention) -> str:
        written = question.text[mention.start : mention.end]
        preferred = mention.concept.preferred(question.language)
        return written if mention.kind == "term" else form.format(written=written, preferred=preferred)

    return question.with_names(name)


def _transform(question: RewriteInput) -> str:
    return _with_clinical_terms(question, "{preferred}")


def _synonyms(question: RewriteInput) -> str:
    """Its content words with clinical terms, plus other names of its concepts."""
    names = [name for concept in question.concepts for name in question.other_names(concept)]
    return " ".join([_condensed(_transform(question), question.language), *dict.fromkeys(names)])


def _aspect_specific(question: RewriteInput) -> str:
    """Focused on the aspect its words suggest."""
    found = (name for name, words in question.wording.aspects.items() if words.search(question.text))
    return f"{next(found, question.wording.otherwise).capitalize()}: {_transform(question)}"


def _entity_expansion(question: RewriteInput) -> str:
    """With the other names of each concept, or feedback terms if there are none."""

    def name(mention: Mention) -> str:
        written = question.text[mention.start : mention.end]
        return _listed(written, question.other_names(mention.concept))

    text = question.with_names(name)
    return text if text != question.text else _listed(text, question.terms(FEW_TERMS))


RULES: Mapping[str, Callable[[RewriteInput], str]] = {
    # Feedback terms for the implied setting; a fixed one ("in pregnancy") draws every question to the same passages.
    "standalone": lambda q: _listed(_with_clinical_terms(q), q.terms(FEW_TERMS)),
    "synonyms": _synonyms,
    # With related topics: the headings it finds, or else complications, prevention and care.
    "expanded": lambda q: _listed(_with_clinical_terms(q), q.feedback.titles() or [q.wording.wider]),
    "complications": lambda q: _listed(_transform(q), [q.wording.risks]),
    "paraphrasing": lambda q: q.wording.paraphrase.format(_transform(q)),
    "aspect_specific": _aspect_specific,
    "entity_aware": lambda q: _listed(q.text, q.terms(MANY_TERMS)),  # conditions, drugs, tests
    # With the best passage's headings: which patient, which stage.
    "clarification": lambda q: _listed(_with_clinical_terms(q), q.feedback.titles()[:1]),
    "entity_expansion": _entity_expansion,
    "retrieval_condense": lambda q: _condensed(q.text, q.language),
    "transform": _transform,
}


def _condensed(text: str, language: str) -> str:
    """The content words, and every fact as written; the full text if nothing is left."""
    kept: dict[tuple[int, int], str] = {}
    kept_facts = facts(text, language)
    for word in words_of(text, language):
        span = next(((fact.start, fact.end) for fact in kept_facts if fact.start <= word.start < fact.end), None)
        if span or not word.stop:
            start, end = span or (word.start, word.end)
            kept[start, end] = text[start:end]
    return " ".join(kept.values()) or text


def _listed(text: str, items: Iterable[str]) -> str:
    listed = ", ".join(dict.fromkeys(items))
    return f"{text} ({listed})" if listed else text
