"""Weeks of pregnancy: the one that a question names, and the end that a heading sets for its section."""

from __future__ import annotations

import re

from ..language.analysis import language_of
from ..language.facts import facts

LAST = 42
_BEFORE = re.compile(
    r"(?:before|under|antes de(?: las)?|first|primeras) (\d+)(?:\+\d)? (?:weeks?|semanas?)", re.IGNORECASE
)


def week_of(question: str) -> int | None:
    """The completed week of pregnancy that a question names; None if it names none, or several.

    >>> week_of("Can I take ibuprofen at 32+4?"), week_of("Is it 24 weeks or 28 weeks?")
    (32, None)
    """
    named = {fact.values[0] for fact in facts(question, language_of(question)) if fact.kind == "age"}
    if len(named) != 1:
        return None
    week = re.match(r"\d+", named.pop())
    return int(week[0]) if week and 1 <= int(week[0]) <= LAST else None


def is_about(heading: str, week: int) -> bool:
    """Whether a section with this heading is about a week; false only if the heading names an earlier end.

    >>> is_about("NSAIDs before 20 weeks", 32), is_about("NSAIDs before 20 weeks", 12), is_about("How to take it", 32)
    (False, True, True)
    """
    before = _BEFORE.search(heading)
    return before is None or week < int(before[1])
