"""Places of private data in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["name_and_birth_date", "name", "phone", "email", "record_number", "national_id", "address"]


@dataclass(frozen=True, slots=True, order=True)
class PrivateSpan:
    """A piece of private data: `text[start:end]`, and what it is."""

    start: int
    end: int
    kind: Kind


def any_of(words: str) -> str:
    """A pattern for phrases separated by " | ", the longest first; a space matches any blanks."""
    phrases = sorted((phrase.strip() for phrase in words.split(" | ")), key=len, reverse=True)
    return "|".join(re.sub(r"\s+", r"\\s+", phrase) for phrase in phrases)


def without_overlaps(found: Iterable[PrivateSpan]) -> tuple[PrivateSpan, ...]:
    """The spans in reading order; of two that overlap, the one that was found first."""
    kept: list[PrivateSpan] = []
    for span in found:
        if all(span.end <= other.start or other.end <= span.start for other in kept):
            kept.append(span)
    return tuple(sorted(kept))
