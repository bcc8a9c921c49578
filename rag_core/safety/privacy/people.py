"""Names beside a date of birth, and names that introduce someone. Any other name alone, or a date alone, is left."""

import re
from collections.abc import Iterator

from ...language.words import read_words
from .spans import DATE, PrivateSpan, any_of

WINDOW = 110  # characters on either side of a date in which a name is looked for

_PHRASES = read_words()["private"]
_UPPER = "A-ZÀ-ÖØ-ÞĆČĐŁŃŚŠŹŻŽİ"
_WORD = rf"[{_UPPER}](?:[^\W\d_]|['’-](?=[^\W\d_]))*\.?"
_PARTICLE = r"(?:del?|de\s+las?|de\s+los|la|las|los|da|dos?|das|di|van|von|der|den|bin|ibn|al|el|y|e)"
_JOIN = rf"(?:,?[ \t]+(?:{_PARTICLE}[ \t]+)?)"
_NAME = rf"(?<![^\W_]){_WORD}(?:{_JOIN}{_WORD}){{0,5}}"
_BORN = "(?i:" + any_of(_PHRASES["births"]) + ")"
_GLUE = r"[\s,;:.(\[–—/|-]*"
_CONNECT = rf"{_GLUE}(?:(?:and|y|que|con|with|my|her|his|su|mi)\s+)?(?:\b(?:{_BORN})(?:\s+is|\s+es)?)?{_GLUE}(?:(?:el|on|the|día)\s+)?"
_BEFORE = re.compile(rf"({_NAME}){_CONNECT}$")
# a name in small letters needs words that say it is one, and words that say the date is of birth
_INTRODUCED = re.compile(
    rf"\b(?:me llamo|mi nombre es|se llama|my name is|i am called|called|nombre:?|name:?)\s+"
    rf"((?:[^\W\d_]|['’-])+(?:\s+(?:[^\W\d_]|['’-])+){{1,4}}?){_GLUE}(?:y\s+|and\s+)?\b(?:{_BORN}){_GLUE}(?:(?:el|on|the)\s+)?$",
    re.IGNORECASE,
)
_PRESENTED = re.compile(
    rf"(?<![^\W_])(?i:(?:my|her|his)\s+name(?:\s+is|['’]s)|i(?:\s+am|['’]m)\s+called|me\s+llamo|mi\s+nombre\s+es)"
    rf"[\s:]+({_NAME})"
)
_ENDS = r"(?=\s*(?:[,.;:()!?\n]|$|(?:and|y|i|i['’]m|tengo|estoy|soy|con|with)\b))"
# two names or more, since "I am Pregnant" and "patient: Primigravida" are none
_FULL_NAMED = re.compile(
    rf"(?<![^\W_])(?:(?i:i\s+am|i['’]m|soy)\s+|(?i:patient|paciente|pt)\s*:\s*)({_WORD}{_JOIN}{_NAME})(?i:{_ENDS})"
)
_SMALL = re.compile(
    rf"\b(?:my\s+name\s+is|me\s+llamo|mi\s+nombre\s+es)[\s:]+((?:[^\W\d_]|['’-]){{2,}}(?:\s+(?:[^\W\d_]|['’-]){{2,}}){{1,3}}?){_ENDS}",
    re.IGNORECASE,
)
_AFTER = re.compile(rf"[\s,;:.)\]–—/|-]*(?i:(?:name|nombre|paciente|patient)[\s:]+)?({_NAME})")
_IS_BORN = re.compile(rf"\b(?:{_BORN})(?:\s+is|\s+es|\s+(?:en|in)\s+{_NAME})?{_GLUE}(?:(?:el|on)\s+)?$")
_FULL = re.compile(_NAME)
_HAS_BORN = re.compile(rf"(?<!\w)(?:{_BORN})", re.IGNORECASE)
_WORDS = re.compile(r"[^\W\d_][^\s,;:()]*")
_LONG_NUMBER = re.compile(r"\d(?:\D?\d){4}")
_CHILD = re.compile(
    r"\b(?:beb[eé]|baby|rn|hij[oa]|niñ[oa]|newborn|son|daughter|reci[eé]n|twins?|gemel[oa]s?)\b",
    re.IGNORECASE,
)
_VOWEL = re.compile(r"[aeiouyáéíóúàèìòùäëïöüâêîôûãõåøæ]", re.IGNORECASE)

_AROUND = {name: frozenset(listed.split()) for name, listed in read_words()["people"].items()}
_IS_ROLE, _IS_CLINICAL = _AROUND["roles"], _AROUND["clinical"]
_IS_NO_NAME = (_IS_ROLE - {"de", "la", "el", "y"}) | _IS_CLINICAL | _AROUND["no_names"]


def names_with_birth_dates(text: str) -> Iterator[PrivateSpan]:
    """Names with the date beside them, where the date is said to be of birth, or follows a full name directly."""
    for date in DATE.finditer(text):
        left = max(0, date.start() - WINDOW)
        before = text[left : date.start()]
        start = _name_before(before)
        if start is not None:
            yield PrivateSpan(left + start, date.end(), "name_and_birth_date")
        elif born := _IS_BORN.search(before):
            after = _AFTER.match(text, date.end(), date.end() + WINDOW)
            if after and _full_name(after[1]):
                yield PrivateSpan(left + born.start(), after.end(1), "name_and_birth_date")
            else:
                yield from _parted(text, left, left + born.start(), date.end())


def introduced_names(text: str) -> Iterator[PrivateSpan]:
    """Names after "my name is" and the like; full names after "I am" or "patient:"; 2 to 4 words in lower case."""
    for found in _FULL_NAMED.finditer(text):
        if _full_name(found[1]) and not {_plain(word[0]) for word in _WORDS.finditer(found[1])} & _IS_NO_NAME:
            yield PrivateSpan(found.start(1), found.end(1), "name")
    for found in _SMALL.finditer(text):
        if not {_plain(word) for word in found[1].split()} & _IS_NO_NAME:
            yield PrivateSpan(found.start(1), found.end(1), "name")
    for found in _PRESENTED.finditer(text):
        words = list(_WORDS.finditer(found[1]))
        while words and _plain(words[-1][0]) in _IS_ROLE | _IS_CLINICAL:  # "Ana Gil I am", "Ana, DNI"
            words.pop()
        if words:
            yield PrivateSpan(found.start(1), found.start(1) + words[-1].end(), "name")


def _parted(text: str, left: int, born: int, end: int) -> Iterator[PrivateSpan]:
    """A name and a birth date with something between: an age stays inside, another number stays outside."""
    line = max(text.rfind(stop, left, born) for stop in "\n?!;")
    for name in reversed(list(_FULL.finditer(text, max(left, line + 1), born))):
        words = list(_WORDS.finditer(name[0]))
        while words and _plain(words[-1][0]) in _IS_CLINICAL:  # "Ana Gil DNI"
            words.pop()
        if not _looks_like_a_full_name([word[0] for word in words]):
            continue
        name_end = name.start() + words[-1].end()
        if any(_plain(word[0]) in _IS_CLINICAL for word in words) or _CHILD.search(text, name_end, born):
            return
        if _LONG_NUMBER.search(text, name_end, born):
            yield PrivateSpan(name.start(), name_end, "name_and_birth_date")
            yield PrivateSpan(born, end, "name_and_birth_date")
        else:
            yield PrivateSpan(name.start(), end, "name_and_birth_date")
        return


def _name_before(before: str) -> int | None:
    """Where the name begins that leads to the end of a text; None if there is none."""
    if introduced := _INTRODUCED.search(before):
        return introduced.start(1)
    found = _BEFORE.search(before)
    if found is None:
        return None
    words = [(found.start(1) + word.start(), word[0]) for word in _WORDS.finditer(found[1])]
    while words and _plain(words[0][1]) in _IS_ROLE:
        words.pop(0)
    while words and _HAS_BORN.fullmatch(words[-1][1]):
        words.pop()
    if not words:
        return None
    name = [word for _, word in words]
    born = _HAS_BORN.search(before, words[-1][0] + len(name[-1]) - 1)
    if born or _looks_like_a_full_name(name):
        # "Baby Oliver": the role is part of what names the person
        return found.start(1) if _plain(found[1].split()[0]) == "baby" else words[0][0]
    return None


def _full_name(name: str) -> bool:
    return _looks_like_a_full_name([word[0] for word in _WORDS.finditer(name)])


def _looks_like_a_full_name(words: list[str]) -> bool:
    """Whether capitalised words, with nothing to say that a date is of birth, can be a name and a surname."""
    plain = [_plain(word) for word in words]
    return (
        len(words) > 1
        and plain[0] not in _IS_CLINICAL
        and not all(word in _IS_CLINICAL for word in plain)
        and all(_VOWEL.search(word) or len(word) == 1 for word in plain)
    )


def _plain(word: str) -> str:
    return word.strip(".,'’").lower()
