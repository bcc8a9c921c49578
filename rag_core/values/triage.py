"""How urgent a question is, before anybody answers it."""

from dataclasses import dataclass
from typing import Any, Literal

Level = Literal["emergency", "same_day", "routine"]
LEVELS: tuple[Level, ...] = ("emergency", "same_day", "routine")  # the most urgent first


@dataclass(frozen=True, slots=True)
class Triage:
    """What a question describes as happening now, and what to do about it.

    Args:
        level: "emergency": help now; "same_day": an examination today; "routine": no urgent sign was found,
            which does not mean that there is none.
        signs: names of the signs, in the question's language, the most urgent first; empty for "routine".
        action: what to do, in one or two sentences in the question's language; empty for "routine".
        language: ISO 639-1 code of `signs` and `action`: "en" or "es".
        flags: "self_harm", "violence", both or neither: they have their own words and phone numbers.
        clinician: whether the wording is that of a clinician, who also needs the treatment.
    """

    level: Level
    signs: tuple[str, ...] = ()
    action: str = ""
    language: str = "en"
    flags: tuple[str, ...] = ()
    clinician: bool = False

    @property
    def urgent(self) -> bool:
        return self.level != "routine"

    def as_json(self) -> dict[str, Any]:
        return {
            "level": self.level,
            "signs": list(self.signs),
            "action": self.action,
            "language": self.language,
        }


ROUTINE = Triage("routine")
