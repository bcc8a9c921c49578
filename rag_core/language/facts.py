"""Facts a rewrite must keep: numbers, weeks of pregnancy, negations and drug names."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .analysis import LANGUAGES, Word, language_of, words_of
from .quantities import LEAST, NUMBER_WORDS, TENS, plain_number
from .thesaurus import Thesaurus
from .words import read_words

FactKind = Literal["number", "age", "negation", "drug"]
NEAR = 4  # words; a negation this close before a word negates it

_JOINS = {"en": "", "es": "y"}  # thirty four, treinta y cuatro

# Not the digits of a name such as B12, T1DM, omega-3 or COVID-19.
_DIGITS = re.compile(r"(?<![^\W_])(?<![^\W\d_]-)\d+(?:[.,]\d+)*")
_WEEKS = re.compile(r"weeks?|wks?|w|semanas?|sem|sdg")
_AGE = re.compile(r"\d+(?:\s*(?:-|–|to|or|a|o|y|and|ou)\s*\d+)*\s*(?:weeks?|wks?|semanas?|sem\b|w\b)"
                  r"|(?:weeks?|semanas?)\s+(?:de\s+)?\d+|\d+\s*\+\s*[0-6]\b", re.IGNORECASE)  # fmt: skip

_NEGATING = {name: frozenset(listed.split()) for name, listed in read_words()["negations"].items()}
_NEGATES_NEXT, ENGLISH_NEGATIONS = _NEGATING["next"], _NEGATING["english"]
_NEGATIONS = _NEGATES_NEXT | ENGLISH_NEGATIONS | _NEGATING["others"]
_SAID_OTHERWISE = tuple(_NEGATING["instead"])
DRUGS = frozenset(read_words()["medicines"]["names"].split())  # that are not built as _DRUG_ENDING says
# Stems of international nonproprietary names (WHO, 2018), with the vowel that English and Spanish end them in.
_DRUG_ENDING = re.compile(
    "^rifa|(?:mab|nib|pril|sartan|olol|azol|cil+in|m[yi]cin|oxacin|c[yi]clin|statin|triptan|oxetin|pramin|tript[yi]lin|azepam|"
    "zolam|parin|xaban|gatran|tidin|setron|gliptin|gliflozin|glutid|formin|[ao]vir|[cm]lovir|[ms]ivir|cain|dipin|zosin|"
    "profen|fenac|coxib|oxicam|tocin|prost|priston|barbital|(?<!mag)azin|t(?:h|)iazid|semid|gestrel|trexat|"
    "lukast|vaptan|dronat|abapentin|meterol)[aeo]?$|(?:[ai]son|olon)[ae]$"
)


@dataclass(frozen=True, slots=True)
class Fact:
    """A part text[start:end] that every rewrite must keep; `values`: "34", a drug's folded name or a negated word."""

    kind: FactKind
    start: int
    end: int
    values: tuple[str, ...]


def facts(text: str, language: str) -> list[Fact]:
    """The numbers, weeks of pregnancy, negations and drugs in a text, in order.

    Numbers in words are read from two to ninety-nine. A week of pregnancy ("34 weeks", "34+2", "semana
    34") is a single fact, not also a number.
    """
    words = words_of(text, language)
    digits = (Fact("number", *found.span(), (plain_number(found[0]),)) for found in _DIGITS.finditer(text))
    numbers = [*digits, *_in_words(words, language)]
    ages = list(_ages(text, words, numbers))
    found = [
        *ages,
        *(fact for fact in numbers if not any(age.start <= fact.start < age.end for age in ages)),
        *_negations(words),
        *(Fact("drug", word.start, word.end, (word.form,)) for word in words if is_medicine(word.form)),
    ]
    return sorted(found, key=lambda fact: (fact.start, fact.end))


def lost_in_rewrite(question: str, rewrite: str, thesaurus: Thesaurus | None = None) -> tuple[str, ...]:
    """The facts of a question that its rewrite lost, in the question's words and order.

    Compares numbers (in digits or words), weeks of pregnancy, negations and drug names; with a thesaurus,
    any name of a drug will do. Any negation keeps a negation, unless the negated word appears without one
    ("no fever" and "fever, no pain").
    """
    language = language_of(question)
    wanted = facts(question, language)
    if not wanted:
        return ()
    words = words_of(rewrite, language)
    kept = facts(rewrite, language)
    numbers = {value for fact in kept if fact.kind in ("number", "age") for value in fact.values}
    in_weeks = any(fact.kind == "age" for fact in kept) or any(_WEEKS.fullmatch(word.form) for word in words)

    def lost(fact: Fact) -> bool:
        match fact.kind:
            case "number":
                return not numbers.issuperset(fact.values)
            case "age":
                return not (in_weeks and numbers.issuperset(fact.values))
            case "negation":
                return not _still_negated(fact, words)
            case "drug":
                same = any(word.form == fact.values[0] for word in words)
                return not (same or _renamed(question[fact.start : fact.end], rewrite, thesaurus))

    return tuple(dict.fromkeys(question[fact.start : fact.end] for fact in wanted if lost(fact)))


def _in_words(words: list[Word], language: str) -> Iterator[Fact]:
    units, tens, join = NUMBER_WORDS.get(language, {}), TENS.get(language, {}), _JOINS.get(language, "")
    at = 0
    while at < len(words):
        first, last, value = words[at], words[at], None
        if first.form in tens:
            value = tens[first.form]
            rest = [word.form for word in words[at + 1 : at + 3]]
            step = 2 if join and rest[:1] == [join] else 1
            unit = units.get(rest[step - 1], 0) if len(rest) >= step and (not join or step == 2) else 0
            if 0 < unit < 10:
                value += unit
                at += step
                last = words[at]
        elif first.form in units:
            value = units[first.form]
        if value is not None and value >= LEAST:
            yield Fact("number", first.start, last.end, (str(value),))
        at += 1


def _ages(text: str, words: list[Word], numbers: list[Fact]) -> Iterator[Fact]:
    """Weeks of pregnancy: digits matched as one expression, number words by the word "weeks" after them."""
    for match in _AGE.finditer(text):
        inside = [fact for fact in numbers if match.start() <= fact.start < match.end()]
        if inside:
            yield Fact("age", *match.span(), tuple(value for fact in inside for value in fact.values))
    following = {word.start: word for word in words}
    for fact in numbers:
        gap = re.match(r"[\s-]*", text[fact.end :])
        after = following.get(fact.end + (gap.end() if gap else 0))
        if not text[fact.start].isdigit() and after and after.form in {"weeks", "week", "semanas", "semana"}:
            yield Fact("age", fact.start, after.end, fact.values)


def _negations(words: list[Word]) -> Iterator[Fact]:
    for at, word in enumerate(words):
        if word.form in _NEGATIONS and not (word.form == "t" and (at == 0 or not _contracted(words, at))):
            start = words[at - 1].start if word.form == "t" else word.start
            negated = words[at + 1].stem if word.form in _NEGATES_NEXT and at + 1 < len(words) else ""
            yield Fact("negation", start, word.end, (negated,))


def _contracted(words: list[Word], at: int) -> bool:
    """Whether the word at `at` is the "t" of "don't"."""
    return words[at - 1].form.endswith("n") and words[at].start == words[at - 1].end + 1


def _still_negated(fact: Fact, words: list[Word]) -> bool:
    signs = {negation.end for negation in _negations(words)}
    said = [word.form.startswith(_SAID_OTHERWISE) for word in words]
    negated = [word.end in signs or otherwise for word, otherwise in zip(words, said, strict=True)]
    places = [at for at, word in enumerate(words) if word.stem == fact.values[0]]
    if not places:
        return any(negated)
    return any(any(negated[max(0, at - NEAR) : at]) or any(said[at : at + NEAR]) for at in places)


def _renamed(name: str, rewrite: str, thesaurus: Thesaurus | None) -> bool:
    """Whether the rewrite uses another name of the same drug."""
    if thesaurus is None:
        return False
    asked, said = (
        {mention.concept.id for language in LANGUAGES for mention in thesaurus.find(text, language)}
        for text in (name, rewrite)
    )
    return not asked.isdisjoint(said)


def is_medicine(word: str) -> bool:
    """Whether a word in lower case is, or is built like, the name of a medicine, English or Spanish."""
    return word in DRUGS or (len(word) > 6 and _DRUG_ENDING.search(word) is not None)
