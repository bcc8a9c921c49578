"""What a clause says, reduced to what must match exactly: quantities, medicines, negations and sides of a contrast."""

import functools
import re
from dataclasses import dataclass

from ..language.analysis import Word, words_of
from ..language.facts import ENGLISH_NEGATIONS, is_medicine
from ..language.thesaurus import Thesaurus
from ..language.words import read_words
from .amounts import Quantity, quantities

FEWEST = 3  # content words of a clause; a shorter piece belongs to the one before it
SCOPE = 4  # content words after a negation that it applies to
SUBJECT_WORDS = 2  # content words before it that it applies to: "the sun is no treatment"

_SPLIT = re.compile(
    r"\s*[,;:()]\s+|\s+\(|\s+(?=(?:and|but|although|though|whereas|while|because|so|which|even if|even when)\s+(?!\d))",
    re.IGNORECASE,
)
_REFUSALS = tuple(read_words()["claims"]["refusals"].split())  # beginnings of words
# Idioms that say otherwise than their words.
_IDIOMS = (
    (re.compile(r"\b(?:without|with no) (?:delay|waiting|fail|exception)\b"), "at once"),
    (re.compile(r"\bfree (?:of|from)\b"), "without"),
    (re.compile(r"n['’]t\b"), " not"),
)
# Words that exclude one another: a clause on one side is no evidence for a claim on the other.
_CONTRASTS = [[frozenset(side.split()) for side in contrast] for contrast in read_words()["claims"]["contrasts"]]
SUBJECT = 1  # place of the contrast between mother and baby, for which the sentence before and the heading speak too


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause as read in English.

    Args:
        stems: of its content words, without quantities.
        drugs: thesaurus ids, or names without their endings.
        negated: the stems that each of its negations applies to.
        sides: for each of the contrasts, the sides it is on.
    """

    text: str
    stems: frozenset[str]
    quantities: frozenset[Quantity]
    drugs: frozenset[str]
    negated: tuple[frozenset[str], ...]
    sides: tuple[frozenset[int], ...]


def clauses(text: str, thesaurus: Thesaurus | None) -> tuple[Clause, ...]:
    """The clauses of a sentence that was read in English."""
    pieces: list[str] = []
    for piece in _SPLIT.split(text):
        if piece and pieces and (_short(piece) or _short(pieces[-1])):
            pieces[-1] += f", {piece}"
        elif piece:
            pieces.append(piece)
    return tuple(read(piece, thesaurus) for piece in pieces)


@functools.lru_cache(maxsize=16_384)
def read(text: str, thesaurus: Thesaurus | None) -> Clause:
    """The content of an English text, as one clause."""
    plain = text.lower()
    for idiom, meaning in _IDIOMS:
        plain = idiom.sub(meaning, plain)
    found, rest = quantities(plain, "en")
    words = words_of(rest, "en")
    content = [word for word in words if _counts(word)]
    forms = {word.form for word in words}
    return Clause(
        text,
        frozenset(word.stem for word in content),
        found,
        _drugs(text, words, thesaurus),
        tuple(_scopes(words)),
        tuple(frozenset(place for place, side in enumerate(contrast) if side & forms) for contrast in _CONTRASTS),
    )


def _counts(word: Word) -> bool:
    return not word.stop and len(word.form) > 1 and word.form not in ENGLISH_NEGATIONS


def _short(text: str) -> bool:
    return sum(_counts(word) or word.form.isdigit() for word in words_of(text, "en")) < FEWEST


def _scopes(words: list[Word]) -> list[frozenset[str]]:
    """What each negation applies to: the next content words, or for "is avoided" those before it."""
    found = []
    for at, word in enumerate(words):
        if word.form in ENGLISH_NEGATIONS:
            before = [each.stem for each in words[:at] if _counts(each)][-SUBJECT_WORDS:]
            after = [each.stem for each in words[at + 1 :] if _counts(each)][:SCOPE]
            found.append(frozenset(before + after))
        elif word.form.startswith(_REFUSALS):
            found.append(frozenset(each.stem for each in words if each is not word and _counts(each)))
    return found


def _drugs(text: str, words: list[Word], thesaurus: Thesaurus | None) -> frozenset[str]:
    mentions = thesaurus.find(text, "en") if thesaurus else ()
    known = {mention.concept.id for mention in mentions if mention.concept.kind == "drug"}
    covered = {word.form for mention in mentions for word in words_of(text[mention.start : mention.end], "en")}
    unlisted = [word.form for word in words if word.form not in covered and is_medicine(word.form)]
    # without the ending that differs between English and Spanish
    return frozenset(known | {re.sub(r"[aeo]$", "", name) for name in unlisted})


def names_of(drugs: frozenset[str]) -> str:
    """Medicines as a phrase."""
    return " or ".join(sorted(name.replace("_", " ").replace("-", " ") for name in drugs))
