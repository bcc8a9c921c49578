"""What signs.toml says of our own documents alone: how they name a sign, and the least that they must tell their reader."""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rag_core.language.analysis import LANGUAGES
from rag_core.safety.urgency.signs import _NOTHING, Sign, _table, pattern
from rag_core.values.triage import Level


@dataclass(frozen=True, slots=True)
class Step:
    """How urgently a document tells its reader to get help.

    Args:
        words: what finds it in a clause, by language: "hospital" alone is enough in English, and not in Spanish.
        open: whether another clause of the same passage may ask for more.
    """

    name: str
    level: Level
    words: Mapping[str, re.Pattern[str]]
    open: bool


class Checked(NamedTuple):
    """How documents name a sign.

    Args:
        least: the least that a document must tell its reader to do, a place in `steps`.
        advised: how a clause of our documents names it; none: the check does not look for it.
        unless: what excuses a clause.
        topic: what excuses a whole passage, in its title and headings.
    """

    least: int
    advised: tuple[re.Pattern[str], ...]
    unless: re.Pattern[str]
    topic: re.Pattern[str]


@functools.cache
def steps() -> tuple[Step, ...]:
    """What documents tell their reader to do, from the least urgent to the most."""
    return tuple(
        Step(
            row["en"],
            row["level"],
            {language: pattern(row["words"][language]) for language in LANGUAGES},
            row.get("open", False),
        )
        for row in _table()["documents"]["step"]
    )


@functools.cache
def clause_words(kind: Literal["advice", "general"]) -> re.Pattern[str]:
    """What finds a clause of a document that tells a reader to do something, or one that excuses every sign."""
    return pattern(_table()["documents"][kind])


@functools.cache
def checked(sign: Sign) -> Checked:
    (row,) = (row for row in _table()["sign"] if row["id"] == sign.id)
    least = _table()["actions"][row["action"]]["least"]
    return Checked(
        [step["id"] for step in _table()["documents"]["step"]].index(least),
        tuple(map(pattern, row["advised"].split(" & "))) if "advised" in row else (),
        pattern(row.get("unless", _NOTHING)),
        pattern(row.get("topic", _NOTHING)),
    )
