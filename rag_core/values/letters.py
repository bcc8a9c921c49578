"""Signs that are another form of ordinary letters, as those letters: to search, embed and rate them alike."""

import functools
import re
import unicodedata

# Unicode's compatibility forms that are read like the plain sign. Raised, lowered, circled and fractions are not.
_FORMS = {"<wide>", "<narrow>", "<font>", "<square>", "<initial>", "<medial>", "<final>", "<isolated>"}
_MICRO = "\xb5"  # by itself and in units; Unicode has it as a form of the Greek letter
_RAISED = str.maketrans(
    "0123456789+-\u2212", "\u2070\xb9\xb2\xb3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b\u207b"
)


def plain_letters(text: str) -> str:
    """A text with ligatures, full-width signs and letters of other forms as ordinary ones, composed with their accents.

    ², ½, µ, ≥, ª and the like stay: they mean something else than the plain sign.

    >>> plain_letters("\ufb01ve ５００ ｍｇ, 10⁹, 5 µg")
    'five 500 mg, 10⁹, 5 µg'
    """
    if text.isascii():
        return text
    forms = {ord(sign): plain for sign in set(text) if (plain := _plain(sign)) != sign}
    return unicodedata.normalize("NFC", text.translate(forms) if forms else text)


def without_accents(text: str) -> str:
    """A text in lower case without accents: "Cesárea" and "cesarea" are the same; ñ is n."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in apart if not unicodedata.combining(letter)).casefold()


def raised(text: str, before: str = "") -> str:
    """Figures as raised ones, so that 10 to the 9th is not read as 109; other text as it is.

    So is a letter that marks a note of the word `before` it, but not the one of 1.ª, Dr or XXe.
    """
    is_mark = len(text) == 1 and text.isalpha() and re.search(r"[^\W\d_]{2}$", before) and before[-2:].islower()
    if is_mark or re.fullmatch(r"[+\-\u2212]?\d+[.,]\d+", text):
        return f"^{text}"  # Unicode has no raised point, and few letters that are searched as such
    return text.translate(_RAISED) if re.fullmatch(r"[\d+\-\u2212]+", text) else text


@functools.lru_cache(maxsize=4096)
def _plain(sign: str) -> str:
    form, _, codes = unicodedata.decomposition(sign).partition(" ")
    letter = form == "<compat>" and (sign.isalpha() or unicodedata.category(sign) == "Nl")
    if sign == _MICRO or not (letter or form in _FORMS):
        return sign
    return "".join(_plain(chr(int(code, 16))) for code in codes.split())
