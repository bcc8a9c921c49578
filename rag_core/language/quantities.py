"""Numbers and units of measurement as English and Spanish write them."""

import re

from .words import read_words

NUMBER_WORDS = {
    code: {word: value for value, word in enumerate(row.split())} for code, row in read_words()["numbers"].items()
}
TENS = {
    code: {word: 10 * value for value, word in enumerate(row.split(), start=2 if code == "en" else 3)}
    for code, row in read_words()["tens"].items()
}
LEAST = 2  # "one" and "uno" are usually pronouns

UNITS = {word: unit for unit, words in read_words()["units"].items() for word in (unit, *words.split())}
THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:[., \u00a0\u202f]\d{3})+")  # 1,500; 1.500; 1 500


def plain_number(written: str) -> str:
    """A number in digits with a decimal point alone: "1,500" is "1500", and "0,5" is "0.5"."""
    return re.sub(r"\D", "", written) if THOUSANDS.fullmatch(written) else written.replace(",", ".")
