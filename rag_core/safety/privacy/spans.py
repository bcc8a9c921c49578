"""Places of private data in a text, what they are called, and full dates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from ...values.message import Message
from ...values.sources import listed
from ...values.translation import translated

# what one is called, and what stands for it in brackets
_CALLED: Mapping[Kind, tuple[Message, Message]] = {
    "name_and_birth_date": (Message("a name with a date of birth"), Message("name and date of birth")),
    "name": (Message("a name"), Message("name")),
    "phone": (Message("a phone number"), Message("phone")),
    "email": (Message("an e-mail address"), Message("e-mail")),
    "record_number": (Message("a record number"), Message("record number")),
    "national_id": (Message("an identity number"), Message("identity number")),
    "address": (Message("a postal address"), Message("address")),
}


def placeholders(language: str) -> Mapping[Kind, str]:
    """What stands in brackets for each kind in a redacted question of this language."""
    return {kind: translated(language, bracketed) for kind, (_, bracketed) in _CALLED.items()}


def kinds_in_words(spans: Iterable[PrivateSpan], language: str = "en") -> str:
    """The kinds of private data found, never the data: "a phone number and an e-mail address"."""
    return listed((translated(language, _CALLED[span.kind][0]) for span in spans), language)


Kind = Literal["name_and_birth_date", "name", "phone", "email", "record_number", "national_id", "address"]


@dataclass(frozen=True, slots=True, order=True)
class PrivateSpan:
    """A piece of private data: `text[start:end]`, and what it is."""

    start: int
    end: int
    kind: Kind


def any_of(words: str) -> str:
    """A pattern for phrases separated by "|" between blanks, the longest first; a space matches any blanks."""
    phrases = sorted(re.split(r"\s\|\s", words.strip()), key=len, reverse=True)
    return "|".join(re.sub(r"\s+", r"\\s+", phrase) for phrase in phrases)


def without_overlaps(found: Iterable[PrivateSpan]) -> tuple[PrivateSpan, ...]:
    """The spans in reading order; of two that overlap, the one that was found first."""
    kept: list[PrivateSpan] = []
    for span in found:
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return tuple(sorted(kept))


_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?|ene(?:ro)?|feb(?:rero)?|marzo|abr(?:il)?|mayo|junio|julio|ago(?:sto)?"
    r"|se[pt]t?(?:iembre)?|oct(?:ubre)?|nov(?:iembre)?|dic(?:iembre)?)\.?"
)
_YEAR = r"(?:(?:19|20)\d\d|['’]?\d\d)"
_ORDINAL = r"(?:st|nd|rd|th|\.?º)?"
_GAP = r"[\s./-]+(?:del?\s+(?:año\s+)?)?"

DATE = re.compile(
    r"(?<![\w/.,-])(?:"
    rf"(?:19|20)\d\d[/.-]\d{{1,2}}[/.-]\d{{1,2}}|\d{{1,2}}\s?([/.-])\s?\d{{1,2}}\s?\1\s?{_YEAR}"
    rf"|\d{{1,2}}{_ORDINAL}(?:\s+of)?{_GAP}{_MONTH},?{_GAP}{_YEAR}|{_MONTH}{_GAP}\d{{1,2}}{_ORDINAL},?\s+{_YEAR}"
    r")(?![\w/-]|[.,]\d)",
    re.IGNORECASE,
)
