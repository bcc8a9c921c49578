"""The table of urgent signs, signs.toml."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ..values.triage import Level

_NAME = re.compile(r"\{([a-z]+)\}")


@dataclass(frozen=True, slots=True)
class Sign:
    """One urgent sign.

    Args:
        names: what it is called, by language.
        actions: what to do, by language.
        readings: ways to express it, each a sequence of patterns that must all occur near one another.
        slight: its level when it is called slight.
        denied: whether the sign is itself a denial ("does not move").
        flag: "self_harm", "violence" or empty.
    """

    id: str
    level: Level
    names: Mapping[str, str]
    actions: Mapping[str, str]
    readings: tuple[tuple[re.Pattern[str], ...], ...]
    slight: Level
    denied: bool
    flag: str


@functools.cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("signs.toml").read_text("utf-8"))


def actions(level: Level) -> Mapping[str, str]:
    """What to do, by language, when a question is urgent but no sign says what about."""
    return _table()["actions"]["unit" if level == "emergency" else "today"]  # type: ignore[no-any-return]


@functools.cache
def signs() -> tuple[Sign, ...]:
    """All signs, the most urgent first."""
    table = _table()
    words: Mapping[str, str] = table["words"]
    actions: Mapping[str, Mapping[str, str]] = table["actions"]
    return tuple(_sign(row, words, actions) for row in table["sign"])


def _sign(row: Mapping[str, Any], words: Mapping[str, str], actions: Mapping[str, Mapping[str, str]]) -> Sign:
    return Sign(
        row["id"],
        row["level"],
        {"en": row["en"], "es": row["es"]},
        actions[row["action"]],
        tuple(tuple(_pattern(part, words) for part in reading.split(" & ")) for reading in row["readings"]),
        row.get("slight", row["level"]),
        row.get("denied", False),
        row.get("flag", ""),
    )


def _pattern(part: str, words: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{_NAME.sub(lambda name: f'(?:{words[name[1]]})', part)})(?!\w)")
