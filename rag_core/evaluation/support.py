"""Whether the passages shown support an answer, judged by words alone: a lexical proxy for entailment."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..language.analysis import language_of, sentences, tokens
from ..language.quantities import LEAST, NUMBER_WORDS, THOUSANDS, UNITS, plain_number
from ..stages.citations import MARKER
from ..values.trace import Trace
from ..values.types import Passage

# Share of a sentence's content-word stems that one passage must contain. The lowest of 0.5, 0.6, 0.65, 0.7 ...
# at which fewer than 5 % of 1,375 sentences from neighbouring documents passed for 40 dev questions, by words
# alone (4.6 %; 3.2 % with numbers and negations); a higher threshold rejects more paraphrases.
SUPPORT = 0.7
REACH = 3  # content words after a negation that it applies to

_NEGATION = {
    "en": re.compile(r"\b(?:no|not|never|without|neither|nor|none|cannot|avoid\w*)\b|n['’]t\b"),
    "es": re.compile(r"\b(?:no|nunca|jamás|sin|ni|tampoco|ning[uú]n\w*|nadie|nada|evit\w+)\b"),
}
_MOST_IN_WORDS = 12  # larger numbers are usually in digits
_NUMBERS = {
    code: {word: str(value) for word, value in words.items() if LEAST <= value <= _MOST_IN_WORDS}
    for code, words in NUMBER_WORDS.items()
}
_WORD = re.compile(r"\w+")
_QUANTITY = re.compile(
    rf"(?<!\w)({THOUSANDS.pattern}(?!\d)|\d+(?:[.,]\d+)?)[\s-]?(%|per cent\b|por ciento\b|[^\W\d_]+)?"
)

_AFTER_STOP = re.compile(r"([.!?])((?:\s?\[\d+\])+)")
_BEFORE_SENTENCE = re.compile(r"(\[\d+\])\s+(?=[A-ZÀ-Þ¿¡])")

Quantity = tuple[float, str | None]  # a number and its unit, when it is one of UNITS


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """Support and citations of one answer, judged by words; all zero for an abstention.

    Args:
        supported: sentences that a shown passage supports (see `SourceText.supports`): a proxy.
        unsupported: sentences that no shown passage supports.
        unchecked: sentences in another language than their evidence, which words cannot check.
        citations: markers the model wrote.
        valid_citations: markers that name a passage it was shown.
    """

    supported: int = 0
    unsupported: tuple[str, ...] = ()
    unchecked: int = 0
    citations: int = 0
    valid_citations: int = 0

    @property
    def sentences(self) -> int:
        """All sentences of the answer."""
        return self.supported + len(self.unsupported) + self.unchecked


def check(trace: Trace) -> AnswerCheck:
    """Check the answer of a trace against the passages it was written from.

    Raises:
        ValueError: the trace has no answer.
    """
    answer = trace.answer
    if answer is None:
        raise ValueError("the trace has no answer to check")
    if answer.abstained:
        return AnswerCheck()
    shown = [SourceText.of(hit.passage) for hit in trace.ranking]
    supported, unchecked = 0, 0
    unsupported: list[str] = []
    for sentence, cited in claims(answer.written):
        language = language_of(sentence)
        if any(evidence.supports(sentence) for evidence in shown):
            supported += 1
        elif all(evidence.language != language for evidence in [shown[n - 1] for n in cited] or shown):
            unchecked += 1
        else:
            unsupported.append(sentence)
    valid = len(MARKER.findall(answer.text))
    return AnswerCheck(supported, tuple(unsupported), unchecked, valid + answer.invalid_citations, valid)


def claims(text: str) -> Iterator[tuple[str, list[int]]]:
    """Yield the sentences of an answer without their markers, and the passage numbers each cites.

    A marker belongs to the sentence it follows, before or after the full stop. Fragments without a content
    word or number are skipped.
    """
    marked = _BEFORE_SENTENCE.sub(r"\1\n\n", _AFTER_STOP.sub(r"\2\1", text))
    language = language_of(MARKER.sub("", text))
    for piece in sentences(marked, language):
        sentence = MARKER.sub("", piece)
        content = read(sentence, language)
        if content.stems or content.quantities:
            yield sentence, [int(n) for n in MARKER.findall(piece)]


@dataclass(frozen=True, slots=True)
class Content:
    """What a text says, reduced to words, quantities and negations.

    Args:
        stems: stems of its content words, without numbers and their units.
        negated: stems of the words that a negation applies to.
    """

    stems: frozenset[str]
    quantities: frozenset[Quantity]
    negated: frozenset[str]


def read(text: str, language: str) -> Content:
    """Extract the content of a text in a language."""
    numbers = _NUMBERS.get(language, {})
    digits = _WORD.sub(lambda word: numbers.get(word[0], word[0]), unicodedata.normalize("NFC", text).lower())
    negation = _NEGATION.get(language)
    rest = _QUANTITY.sub(_keep_word, digits)
    return Content(
        frozenset(tokens(rest, language)),
        frozenset(_quantity(match) for match in _QUANTITY.finditer(digits)),
        frozenset(
            stem
            for match in (negation.finditer(rest) if negation else ())
            for stem in tokens(rest[match.end() :], language)[:REACH]
        ),
    )


@dataclass(frozen=True, slots=True)
class SourceText:
    """The content of a passage: of title and text together, and of each sentence."""

    language: str
    whole: Content
    parts: tuple[Content, ...]

    @classmethod
    def of(cls, passage: Passage) -> SourceText:
        """Extract the content of a passage."""
        language = passage.language
        parts = tuple(read(part, language) for part in sentences(passage.text, language))
        whole = f"{passage.full_title}\n{passage.text}"  # as shown; an added context is not evidence
        return cls(language, read(whole, language), parts)

    def supports(self, sentence: str) -> bool:
        """Whether the passage supports a sentence, judged by words.

        It must contain SUPPORT of the sentence's content-word stems and every number with its unit
        ("24 h" is "24 hours", "0,5" is "0.5"; a number without a unit matches any), and its closest
        sentence must negate a shared word if and only if the sentence does. Words alone miss a wrong name,
        a number taken from another drug in the passage, and "at least" for "at most".

        Args:
            sentence: in the passage's language, without citation markers.
        """
        claim = read(sentence, self.language)
        if len(claim.stems & self.whole.stems) < SUPPORT * len(claim.stems):
            return False
        if not all(_contains(self.whole.quantities, quantity) for quantity in claim.quantities):
            return False
        overlaps = [len(claim.stems & part.stems) for part in self.parts]
        return any(
            _same_negation(claim, part)
            for part, overlap in zip(self.parts, overlaps, strict=True)
            if overlap == max(overlaps)
        )


def _same_negation(claim: Content, part: Content) -> bool:
    """Whether both negate a word they share, or neither does."""
    shared = claim.stems & part.stems
    return bool(claim.negated & shared) == bool(part.negated & shared)


def _contains(quantities: Iterable[Quantity], quantity: Quantity) -> bool:
    number, unit = quantity
    return any(number == value and (unit == other or None in (unit, other)) for value, other in quantities)


def _quantity(match: re.Match[str]) -> Quantity:
    return float(plain_number(match[1])), _unit(match)


def _unit(match: re.Match[str]) -> str | None:
    word = match[2] or ""
    return "%" if word in ("per cent", "por ciento") else UNITS.get(word)


def _keep_word(match: re.Match[str]) -> str:
    """What replaces a quantity in the text: the following word unless it is a unit, else nothing."""
    return f" {'' if _unit(match) else match[2] or ''} "
