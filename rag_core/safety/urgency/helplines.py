"""Phone numbers of the chosen country, and what the screen and the terminal say about an urgent question."""

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from ...values.errors import SettingsError
from ...values.message import Message
from ...values.translation import country_name, translate
from ...values.triage import Triage


@dataclass(frozen=True, slots=True)
class Helplines:
    """The numbers of a country (ISO 3166), empty if not known; `crisis`: for thoughts of suicide or of harming the baby."""

    code: str
    emergency: str
    crisis: str = ""
    violence: str = ""


def helplines(country: str) -> Helplines | None:
    """The numbers of a country, by its ISO 3166 code, None for an empty one; raises SettingsError for an unlisted one."""
    if not country:
        return None
    table = _table()
    if country.upper() not in table:
        raise SettingsError(
            Message("Setting RAG_COUNTRY: there are no phone numbers for {country!r}.", country=country[:20]),
            Message("Use one of {countries}, or leave it empty.", countries=", ".join(table)),
        )
    return table[country.upper()]


def countries(language: str = "en") -> Mapping[str, str]:
    """The name of each country that can be chosen, by its ISO 3166 code."""
    return {code: country_name(code, language) for code in _table()}


@functools.cache
def _table() -> Mapping[str, Helplines]:
    rows = tomllib.loads(resources.files(__package__).joinpath("helplines.toml").read_text("utf-8"))
    return {code: Helplines(code, **row) for code, row in rows.items()}


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
