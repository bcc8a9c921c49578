"""The table of urgent signs, signs.toml."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ..language.urgency import signs_in
from ..values.triage import Level, Triage
from .reading import plain

_NAME = re.compile(r"\{([a-z]+)\}")


@dataclass(frozen=True, slots=True)
class Sign:
    """One urgent sign.

    Args:
        names: what it is called, by language.
        actions: what to do, by language.
        others: the same when somebody else is ill than the one who asks.
        readings: ways to express it, each a sequence of patterns that must all occur near one another.
        slight: its level when it is called slight.
        denied: whether the sign is itself a denial ("does not move").
        flag: "self_harm", "violence" or empty.
        families: the families of `language.urgency` by which a passage names it.
        passages: other words by which a passage names it.
    """

    id: str
    level: Level
    names: Mapping[str, str]
    actions: Mapping[str, str]
    others: Mapping[str, str]
    readings: tuple[tuple[re.Pattern[str], ...], ...]
    slight: Level
    denied: bool
    flag: str
    families: frozenset[str] = frozenset()
    passages: re.Pattern[str] | None = None

    @property
    def needs_number(self) -> bool:
        """Whether what to do about it names the emergency number: of two emergencies, that one is the graver."""
        return "emergency number" in self.actions["en"]

    def named_in(self, text: str) -> bool:
        """Whether a passage's text names the sign, whatever it says of it."""
        return self.id in named(text)


@functools.cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("signs.toml").read_text("utf-8"))


def actions(key: str) -> Mapping[str, str]:
    """What to do, by language: an entry of [actions]."""
    return _table()["actions"][key]  # type: ignore[no-any-return]


@functools.lru_cache(maxsize=65536)
def named(text: str) -> frozenset[str]:
    """The ids of the signs that a passage's text names."""
    families, simple = signs_in(text), plain(text)
    return frozenset(
        sign.id
        for sign in signs()
        if sign.families & families or (sign.passages is not None and sign.passages.search(simple))
    )


def signs_of(triage: Triage) -> tuple[Sign, ...]:
    """The signs to act on, the gravest: self-harm and violence, else those for the emergency number, else the most urgent."""
    named = tuple(sign for sign in signs() if sign.names[triage.language] in triage.signs)
    flagged = tuple(sign for sign in named if sign.flag)
    level = tuple(sign for sign in named if sign.level == triage.level)
    return flagged or tuple(sign for sign in level if sign.needs_number) or level or named


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
        actions[row.get("other", row["action"])],
        tuple(tuple(_pattern(part, words) for part in reading.split(" & ")) for reading in row["readings"]),
        row.get("slight", row["level"]),
        row.get("denied", False),
        row.get("flag", ""),
        frozenset(row.get("families", ())),
        _pattern(row["passages"], words) if "passages" in row else None,
    )


def _pattern(part: str, words: Mapping[str, str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{_NAME.sub(lambda name: f'(?:{words[name[1]]})', part)})(?!\w)")
