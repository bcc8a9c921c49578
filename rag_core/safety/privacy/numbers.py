"""E-mail addresses, telephone numbers (but helplines), numbers of identity documents, health services and records.

A document's number is found by its name ("DNI", "NHS number", "historia clínica"), whatever its check digits, since a
mistyped one is as private; without a name, only by a shape whose check digits are right.
"""

import re
from collections.abc import Callable, Iterator

from phonenumbers import Leniency, PhoneNumberMatcher, PhoneNumberType, number_type
from stdnum.ar import cuit
from stdnum.br import cpf
from stdnum.cl import rut
from stdnum.es import dni, nie
from stdnum.gb import nhs
from stdnum.mx import rfc
from stdnum.pe import ruc
from stdnum.us import ssn

from ...language.words import read_words
from .spans import DATE, Kind, PrivateSpan, any_of

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


_OPEN, _CLOSE = r"(?<![\w.,/-])", r"(?![\w/]|[.,-]\w)"


def _shape(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"{_OPEN}(?:{pattern}){_CLOSE}", re.IGNORECASE)


_SHAPES: tuple[tuple[re.Pattern[str], Callable[[str], bool]], ...] = (
    (_shape(r"\d{2}\.?\d{3}\.?\d{3}[ -]?[A-Z]"), lambda text: dni.is_valid(text.replace(".", ""))),
    (_shape(r"[XYZ][ -]?\d\.?\d{3}\.?\d{3}[ -]?[A-Z]"), lambda text: nie.is_valid(text.replace(".", ""))),
    # a CURP: its shape says enough
    (_shape(r"[A-Z]{4}\d{2}[01]\d[0-3]\d[HMX][A-Z]{5}[A-Z\d]\d"), lambda text: True),
    (_shape(r"[A-ZÑ&]{4}[ -]?\d{6}[ -]?[A-Z\d]{3}"), rfc.is_valid),
    (_shape(r"\d{1,2}\.?\d{3}\.?\d{3}-[\dK]"), rut.is_valid),
    (_shape(r"(?:2[0347]|3[034])[ -]?\d{8}[ -]?\d"), cuit.is_valid),
    (_shape(r"(?:1[0567]|20)\d{9}"), ruc.is_valid),
    (_shape(r"\d{3}-\d{2}-\d{4}"), ssn.is_valid),
    (_shape(r"\d{3}([ -]?)\d{3}\1\d{4}"), lambda text: nhs.is_valid(text) and not is_of_a_service(text)),
    (_shape(r"\d{3}\.\d{3}\.\d{3}-\d{2}"), cpf.is_valid),
    # a National Insurance number has no check digits, and a shape of its own
    (_shape(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]"), str.isupper),
)

_NUMBER = r"(?:\s*(?:number|num\.?|no\.?|nr\.?|nro\.?|n[.]?[ºo°]\.?|n[úu]m(?:ero)?\.?|id|#))?"
_IDENTITIES = any_of(_PHRASES["identities"])
_RECORDS = any_of(_PHRASES["records"])
# Names that are also ordinary words or measures: the number must come right after them.
_SHORT_IDENTITIES = any_of(_PHRASES["short_identities"])
_SHORT_RECORDS = any_of(_PHRASES["short_records"])

_GROUPED = (
    r"\d{3}(?P<gap>[ -])\d{3}(?P=gap)\d{4}|\d{3}[ -]\d{2}[ -]\d{4}|\d{1,3}(?:[. ]\d{3}){2,3}(?:[ -]?[\dA-Z])?|[A-Z]{4} \d{7} \d{3}"
    r"|[A-Z]{1,3}\d{1,4}(?: \d{3}){1,3}|\d{2} \d{2} \d{2} \d{4} \d|\d{2}[ /-]\d{8}[ /-]\d{1,2}|[A-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]"
)
_VALUE = rf"(?<!\w)(?P<value>{_GROUPED}|(?=[A-Z\d./-]*\d)[A-Z\d](?:[./-]?[A-Z\d]){{3,24}})(?!\w|[.,]\d)"
_LONG_WAY = r"[^\d\n;?!¿¡]{0,30}?"  # "of my baby is"
_SHORT_WAY = r"[\s.:,#=/-]{0,4}"
_NAMES: tuple[tuple[str, str, Kind], ...] = (
    (_RECORDS, _LONG_WAY, "record_number"),
    (_IDENTITIES, _LONG_WAY, "national_id"),
    (_SHORT_RECORDS, _SHORT_WAY, "record_number"),
    (_SHORT_IDENTITIES, _SHORT_WAY, "national_id"),
)
_NAMED = tuple(
    (re.compile(rf"(?<![\w-])(?:{names}){_NUMBER}(?![^\W_])(?P<way>{way}){_VALUE}", re.IGNORECASE), kind)
    for names, way, kind in _NAMES
)
_AND_MINE = re.compile(
    rf"\s*(?:,|y|and|&)\s+(?:(?:el|la|lo)\s+)?(?:m[ií][oa]|mine|hers|his|suy[oa]|de\s+\w+|del\s+\w+|my\s+\w+)(?:\s+(?:is|es))?[\s:]+{_VALUE}",
    re.IGNORECASE,
)
_COUNT = re.compile(r"\d{1,3}[.,]\d{3}")  # of platelets, say
_YEAR = re.compile(r"(?:19|20)\d\d")
_PRESSURE = re.compile(r"\d{1,3}/\d{1,3}")
_FEWEST, _FEWEST_AT_ONCE = 5, 4  # digits of a number; fewer are doses, weeks and scores


def numbers_by_name(text: str) -> Iterator[PrivateSpan]:
    """Numbers that follow the name of a document or record."""
    for pattern, kind in _NAMED:
        for match in pattern.finditer(text):
            at_once = not any(char.isalpha() for char in match["way"])
            if not _is_a_number(match["value"], at_once=at_once):
                continue
            yield PrivateSpan(*match.span("value"), kind)
            second = _AND_MINE.match(text, match.end())
            if second and _is_a_number(second["value"]):
                yield PrivateSpan(*second.span("value"), kind)


def numbers_by_shape(text: str) -> Iterator[PrivateSpan]:
    """Identity numbers that their shape and check digits give away."""
    for pattern, is_valid in _SHAPES:
        for match in pattern.finditer(text):
            if is_valid(match[0]) and not DATE.fullmatch(match[0]):
                yield PrivateSpan(*match.span(), "national_id")


def _is_a_number(value: str, *, at_once: bool = False) -> bool:
    """Can a value, right after a document's name (`at_once`) or not, be its number? No date or count can."""
    if sum(char.isdigit() for char in value) < (_FEWEST_AT_ONCE if at_once else _FEWEST):
        return False
    others = (DATE, _YEAR, _PRESSURE) if at_once else (DATE, _YEAR, _PRESSURE, _COUNT)
    return not any(other.fullmatch(value) for other in others)
