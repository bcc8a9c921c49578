"""What the screen and the terminal say about an urgent question, in its language."""

from __future__ import annotations

from dataclasses import dataclass

from ...values.triage import Triage
from .helplines import Helplines

_TITLE = {
    ("emergency", "en"): "This may be an emergency.",
    ("emergency", "es"): "Puede ser una emergencia.",
    ("same_day", "en"): "This needs an examination today.",
    ("same_day", "es"): "Esto requiere una valoración hoy mismo.",
}
_SIGNS = {"en": "The question mentions: {}.", "es": "La pregunta menciona: {}."}
_NO_SIGN = {
    "en": "No single sign was recognised, but the question is worded like an urgent one.",
    "es": "No se reconoció ningún signo concreto, pero la pregunta está redactada como una urgente.",
}
_EMERGENCY = {"en": "Emergency number in {}: {}.", "es": "Emergencias en {}: {}."}
_LINES = {
    ("self_harm", "en"): "Crisis line: {}.",
    ("self_harm", "es"): "Línea de crisis: {}.",
    ("violence", "en"): "Help against violence: {}.",
    ("violence", "es"): "Ayuda contra la violencia: {}.",
}
_CAVEAT = {
    "en": "Read from the wording of the question before any answer; signs can be missed. Not medical advice.",
    "es": "Se decide por las palabras de la pregunta, antes de cualquier respuesta; algún signo puede pasar inadvertido. No es consejo médico.",
}


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
    numbers: list[str] = []
    if lines:
        numbers += [
            _LINES[flag, at].format(number) for flag in triage.flags if (number := lines.number(flag))
        ]
        numbers.append(_EMERGENCY[at].format(lines.country[at], lines.emergency))
    reason = _SIGNS[at].format("; ".join(triage.signs)) if triage.signs else _NO_SIGN[at]
    return UrgentNotice(_TITLE[triage.level, at], triage.action, tuple(numbers), reason, _CAVEAT[at])
