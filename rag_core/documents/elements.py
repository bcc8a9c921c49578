"""The elements of a JSON array, with the lines they stand on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_BETWEEN = re.compile(r"[^\s,]|\Z")


def elements(text: str) -> Iterator[tuple[int, str]]:
    """(line number from 1, element) of an array, or of objects one after the other.

    The last is the rest of the text where that is no JSON: its reader says why.
    """
    place = _after(text, 0)
    inside = text.startswith("[", place)
    place, number, counted = _after(text, place + inside), 1, 0
    while place < len(text) and text[place] != "]":
        number, counted = number + text.count("\n", counted, place), place
        try:
            end = json.JSONDecoder().raw_decode(text, place)[1]
        except (ValueError, RecursionError):
            end = len(text)
        yield number, text[place:end]
        place = _after(text, end)
    if text[place:].strip() != "]" * inside:
        yield number, text[place:] or "…"  # the end is missing


def _after(text: str, place: int) -> int:
    found = _BETWEEN.search(text, place)
    return found.start() if found else len(text)
