"""E-mail addresses and telephone numbers of people; helplines are left alone."""

import re
from collections.abc import Iterator

from phonenumbers import Leniency, PhoneNumberMatcher, PhoneNumberType, number_type

from ...language.words import read_words
from .spans import PrivateSpan, any_of

COUNTRIES = ("ES", "MX", "PE", "CO", "AR", "CL", "US", "GB")  # whose numbers are read as written at home

_PHRASES = read_words()["private"]
_EMAIL = re.compile(r"(?<![\w.+%-])[\w.+%-]{1,64}@[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)+")
_AT, _DOT = (
    r"(?:\s*[\[(]\s*(?:at|arroba)\s*[\])]\s*|\s+(?:at|arroba)\s+|\s*@\s*)",
    r"(?:\s*[\[(]\s*(?:dot|punto)\s*[\])]\s*|\s+(?:dot|punto)\s+)",
)
_SPELT_EMAIL = re.compile(
    rf"(?<![\w.+-])[\w+-]{{1,64}}(?:(?:\.|{_DOT})[\w+-]{{1,64}}){{0,3}}{_AT}[\w-]+(?:\.[\w-]+)*(?:{_DOT}[\w-]+(?:\.[\w-]+)*)+",
    re.IGNORECASE,
)
_CALL = re.compile(r"(?<!\w)(?:" + any_of(_PHRASES["calls"]) + r")(?!\w)\D{0,40}?\+?\(?$", re.IGNORECASE)
_DIGITS = re.compile(r"(?<![\w.,/])[+(]{0,2}\d(?:[ ().-]{0,3}\d){6,14}(?![\w/]|[.,-]\d)")
_ABROAD = re.compile(r"\(?\+(?:\D*\d){9}|00(?:\D*\d){10}")  # with a country's code
_UK_MOBILE = re.compile(r"07\d{3}[ -]?\d{3}[ -]?\d{3}")
_FEWEST_DIGITS = 9
_HELPLINES = (*COUNTRIES, "IE", "AU")  # countries whose toll-free numbers are known as such
# Toll-free and shared-cost numbers belong to services.
_OF_A_PERSON = frozenset(
    {
        PhoneNumberType.FIXED_LINE,
        PhoneNumberType.MOBILE,
        PhoneNumberType.FIXED_LINE_OR_MOBILE,
        PhoneNumberType.PERSONAL_NUMBER,
        PhoneNumberType.PAGER,
    }
)


def emails(text: str) -> Iterator[PrivateSpan]:
    """E-mail addresses, also those spelt out to deceive robots ("ana at example dot com")."""
    for pattern in (_EMAIL, _SPELT_EMAIL):
        for match in pattern.finditer(text):
            yield PrivateSpan(*match.span(), "email")


def phones_by_name(text: str) -> Iterator[PrivateSpan]:
    """Numbers that follow a word for telephoning or have a country's code, valid or not."""
    for match in _DIGITS.finditer(text):
        named = _CALL.search(text, max(0, match.start() - 60), match.start())
        if (named or _ABROAD.match(match[0])) and not is_of_a_service(match[0]):
            opened = match[0].startswith("(") and ")" not in match[0]  # and closed outside
            yield PrivateSpan(match.start() + opened, match.end(), "phone")


def phones_by_shape(text: str, country: str) -> Iterator[PrivateSpan]:
    """Valid numbers, written in the groups of their country."""
    if sum(char.isdigit() for char in text) < _FEWEST_DIGITS:
        return
    for match in _UK_MOBILE.finditer(text):  # of any range, those kept for drama included
        yield PrivateSpan(*match.span(), "phone")
    for region in dict.fromkeys((country, *COUNTRIES) if country else COUNTRIES):
        for found in PhoneNumberMatcher(text, region, leniency=Leniency.STRICT_GROUPING):
            digits = sum(char.isdigit() for char in found.raw_string)
            if digits >= _FEWEST_DIGITS and number_type(found.number) in _OF_A_PERSON:
                yield PrivateSpan(found.start, found.end, "phone")


def is_of_a_service(digits: str) -> bool:
    """Whether a number is toll-free or shared-cost in one of the countries, so no person's."""
    kinds = {
        number_type(found.number)
        for region in _HELPLINES
        for found in PhoneNumberMatcher(digits, region, leniency=Leniency.VALID)
    }
    return bool(kinds) and not kinds & _OF_A_PERSON
