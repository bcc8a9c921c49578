"""Weeks of pregnancy: the one a question is in, and those that a heading says its section is about."""

from __future__ import annotations

import re

from ..language.analysis import language_of
from ..language.facts import facts

LAST = 42
_BORN = re.compile(
    r"(?<!\w)(?:old|born|after (?:birth|giving|having|my|the|a)|post-?(?:partum|natal)|ago|later|postpartum|pp|"
    r"hace|nacid\w|naci[óo]|despu[ée]s|pos(?:t)?parto|tras)(?!\w)",
    re.IGNORECASE,
)
_UNIT = r"(?:\+\d)? (?:weeks?|semanas?)"
_BETWEEN = re.compile(
    rf"(?:between|entre(?: las)?) (\d+)(?:\+\d)? (?:and|y)(?: las)? (\d+){_UNIT}", re.IGNORECASE
)
_UNTIL = re.compile(rf"(?:before|under|antes de(?: las)?|first|primeras) (\d+){_UNIT}", re.IGNORECASE)
_FROM = re.compile(
    rf"(?:after|from|desde(?: las)?|a partir de(?: las)?|despu[ée]s de(?: las)?) (\d+){_UNIT}", re.IGNORECASE
)


def week_of(question: str) -> int | None:
    """The completed week of pregnancy that a question is in; None if it names none, several, or an age after birth.

    >>> week_of("Can I take ibuprofen at 32+4?"), week_of("My baby is 3 weeks old")
    (32, None)
    """
    named = {fact.values[0] for fact in facts(question, language_of(question)) if fact.kind == "age"}
    if len(named) != 1 or _BORN.search(question):
        return None
    week = re.match(r"\d+", named.pop())
    return int(week[0]) if week and 1 <= int(week[0]) <= LAST else None


def is_about(heading: str, week: int) -> bool:
    """Whether a section with this heading is about a week; true if the heading names none.

    >>> is_about("NSAIDs before 20 weeks", 32), is_about("From 34 weeks", 34), is_about("How to take it", 32)
    (False, True, True)
    """
    if between := _BETWEEN.search(heading):
        return int(between[1]) <= week <= int(between[2])
    if until := _UNTIL.search(heading):
        return week < int(until[1])
    if start := _FROM.search(heading):
        return week >= int(start[1])
    return True
