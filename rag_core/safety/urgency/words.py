"""What the screen and the terminal say about an urgent question, in its language."""

from __future__ import annotations

from dataclasses import dataclass

from ...values.translation import country_name, translate
from ...values.triage import Triage
from .helplines import Helplines


@dataclass(frozen=True, slots=True)
class UrgentNotice:
    """A notice in parts: its title, what to do, phone numbers (may be empty), the reason, and its limits."""

    title: str
    action: str
    numbers: tuple[str, ...]
    reason: str
    caveat: str


def urgent_notice(triage: Triage, lines: Helplines | None) -> UrgentNotice | None:
    """What to say about a question; None if it is routine."""
    if not triage.urgent:
        return None
    at = triage.language
    title = (
        translate(at, "This may be an emergency.")
        if triage.level == "emergency"
        else translate(at, "This needs an examination today.")
    )
    numbers: list[str] = []
    if lines:
        if "self_harm" in triage.flags and lines.crisis:
            numbers.append(translate(at, "Crisis line: {number}.", number=lines.crisis))
        if "violence" in triage.flags and lines.violence:
            numbers.append(translate(at, "Help against violence: {number}.", number=lines.violence))
        country = country_name(lines.code, triage.language)
        numbers.append(
            translate(at, "Emergency number in {country}: {number}.", country=country, number=lines.emergency)
        )
    reason = (
        translate(at, "The question mentions: {signs}.", signs="; ".join(triage.signs))
        if triage.signs
        else translate(at, "No single sign was recognised, but the question is worded like an urgent one.")
    )
    caveat = translate(
        at,
        "Read from the wording of the question before any answer; signs can be missed. Not medical advice.",
    )
    return UrgentNotice(title, triage.action, tuple(numbers), reason, caveat)
