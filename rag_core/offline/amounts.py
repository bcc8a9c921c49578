"""Numbers with their units in a comparable form: "1 g" is "1000 mg" and "one in ten" is "10 %"."""

import re
from typing import NamedTuple

from ..language.quantities import NUMBER_WORDS, TENS, THOUSANDS, UNITS, plain_number
from ..language.spanish.reader import composed, plain


class Quantity(NamedTuple):
    """A number and its unit in base units, or "" if it has none; the number as written; and both as text."""

    value: float
    unit: str
    number: float
    text: str


# Units that are the same thing in another size: the base unit, and how many of it.
_SIZES = {
    "min": ("h", 1 / 60), "day": ("h", 24), "week": ("h", 168), "year": ("month", 12),
    "g": ("mg", 1000), "mcg": ("mg", 1 / 1000), "kg": ("mg", 1_000_000), "l": ("ml", 1000), "cm": ("mm", 10),
    "m": ("mm", 1000),
}  # fmt: skip
_WRITTEN = {
    **{word: unit for word, unit in UNITS.items() if word not in ("m", "unit", "units", "unidad", "unidades")},
    **dict.fromkeys(("unit", "units", "unidad", "unidades"), "iu"),
    **dict.fromkeys(("meter", "metre", "metro"), "m"), **dict.fromkeys(("meters", "metres", "metros"), "m"),
    **dict.fromkeys(("times", "veces", "vez"), "times"), "°c": "°c", "ºc": "°c", "degrees": "°c", "grados": "°c",
    **{unit: unit for unit in ("mmhg", "mmol", "ng", "kcal", "bpm", "sec", "dl")},
    **dict.fromkeys(("second", "seconds", "segundo", "segundos"), "sec"),
}  # fmt: skip


def _number_words(code: str) -> re.Pattern[str]:
    """Numbers from two to ninety-nine in words."""
    units = "|".join(word for word, value in NUMBER_WORDS[code].items() if 0 < value < 10)
    alone = sorted((word for word, value in NUMBER_WORDS[code].items() if value > 1), key=len, reverse=True)
    return re.compile(rf"\b(?:({'|'.join(TENS[code])})(?:(?:[\s-]|\s+y\s+)({units}))?|({'|'.join(alone)}))\b")


_NAMES = {plain(word.lower()): unit for word, unit in _WRITTEN.items()}
# with its accents and capitals, to be shown
_SPELT = {plain(word.lower()): word for word in _WRITTEN} | {"°c": "°C", "ºc": "°C", "mmhg": "mmHg"}
_UNIT = "|".join(sorted(map(re.escape, _NAMES), key=len, reverse=True))
_UNITS = rf"(?:{_UNIT})(?:/(?:{_UNIT}))?(?![^\W\d_])|%"

_VALUES = {code: words | TENS[code] for code, words in NUMBER_WORDS.items()}
_WORDS = {code: _number_words(code) for code in _VALUES}
_ONE = re.compile(
    rf"\b(?:one|una?|uno|a)(?=\s+(?:[^\W\d]+\s+)?(?:in|of each|out of|in every|of every|de cada|to|or|a|o)\s+\d)|\b(?:one|una?)(?=[\s-](?:{_UNIT})\b)"
)
_NUMBER = rf"(?<![\w.,])(?<![^\W\d_]-)(?:{THOUSANDS.pattern}(?!\d)|\d+(?:[.,]\d+)?)"
_SHARE = re.compile(
    rf"({_NUMBER})\s+(?:[^\W\d]+\s+)?(?:in|in every|in each|out of|out of every|of each|of every|of|per|by each|by|de cada|por cada)\s+"
    rf"({_NUMBER})(?!\s*-?(?:{_UNITS}))"
)
_RANGE = r"(?:\s*(?:-|–|to|or|and|a|o|y|until|/|,|hasta)\s*)"
_FIRST = re.compile(rf"({_NUMBER})((?:{_RANGE}(?:{_NUMBER}))*)[\s-]{{0,2}}({_UNITS})?")


def quantities(text: str, language: str) -> tuple[frozenset[Quantity], str]:
    """A text's quantities, and the text without them; a range's unit belongs to both ends, "B12" is no quantity."""
    folded = plain(composed(text).lower())
    if language in _WORDS:
        values = _VALUES[language]
        folded = _WORDS[language].sub(lambda match: str(sum(values[word] for word in match.groups() if word)), folded)
    folded = _ONE.sub("1", folded)
    found: set[Quantity] = set()

    def take_share(match: re.Match[str]) -> str:
        part, whole = (float(plain_number(number)) for number in match.groups())
        if part >= whole:
            return str(match[0])
        found.add(Quantity(float(f"{100 * part / whole:.4g}"), "%", part, match[0]))
        return " "

    def take(match: re.Match[str]) -> str:
        for number in (match[1], *(one[0] for one in re.finditer(_NUMBER, match[2]))):
            found.add(_quantity(number, match[3] or ""))
        return " "

    rest = _FIRST.sub(take, _SHARE.sub(take_share, folded))
    return frozenset(found), rest


def contains(evidence: frozenset[Quantity], claimed: Quantity) -> bool:
    """Whether the evidence has this number with this unit; a number without a unit may have any."""
    return any(
        (claimed.value, claimed.unit) == (one.value, one.unit) if claimed.unit else claimed.number == one.number
        for one in evidence
    )


def _quantity(number: str, written: str) -> Quantity:
    spelt = "/".join(_SPELT.get(part, part) for part in written.split("/"))
    value, text = float(plain_number(number)), f"{number} {spelt}".strip()
    if written == "%":
        return Quantity(float(f"{value:.4g}"), "%", value, text)
    over, _, under = written.partition("/")
    unit, size = _SIZES.get(_NAMES.get(over, ""), (_NAMES.get(over, ""), 1.0))
    return Quantity(float(f"{value * size:.6g}"), f"{unit}/{_NAMES[under]}" if under else unit, value, text)
