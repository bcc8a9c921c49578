"""The table of urgent signs, signs.toml: what triage and answers know of them."""

import functools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from ...language.analysis import LANGUAGES
from ...values.triage import Level, Triage
from .learned import plain

_NAME = re.compile(r"\{([a-z-]+)\}")
_NOTHING = "(?!)"

Parts = tuple[str, ...]  # as written in the table; must all occur


@dataclass(frozen=True, slots=True, eq=False)
class Sign:
    """One urgent sign.

    Args:
        names: what it is called, by language.
        actions: what to do, by language.
        others: the same when somebody else is ill than the one who asks.
        readings: ways to express it in a question, the parts of each near one another.
        slight: its level when it is called slight.
        denied: whether the sign is itself a denial ("does not move").
        flag: "self_harm", "violence" or empty.
        passages: how a passage names it.
    """

    id: str
    level: Level
    names: Mapping[str, str]
    actions: Mapping[str, str]
    others: Mapping[str, str]
    readings: tuple[Parts, ...]
    slight: Level
    denied: bool
    flag: str
    passages: str

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
    simple = plain(text)
    return frozenset(sign.id for sign in signs() if pattern(sign.passages).search(simple))


def names_sign(text: str) -> bool:
    """Whether a passage's text names a sign in the surest words, whatever it says of it."""
    simple = plain(text)
    return any(pattern.search(simple) for pattern in _families())


def signs_of(triage: Triage) -> tuple[Sign, ...]:
    """The signs to act on, the gravest: self-harm and violence, else those for the emergency number, else the most urgent."""
    if not triage.signs:  # as most questions; compiling the patterns of all takes a tenth of a second
        return ()
    named = tuple(sign for sign in signs() if sign.names[triage.language] in triage.signs)
    flagged = tuple(sign for sign in named if sign.flag)
    level = tuple(sign for sign in named if sign.level == triage.level)
    # of two emergencies, the one that the emergency number is named for is the graver
    gravest = tuple(sign for sign in level if "emergency number" in sign.actions["en"])
    return flagged or gravest or level or named


@functools.cache
def signs() -> tuple[Sign, ...]:
    """All signs; of those of questions, the most urgent first."""
    levels = {row["id"]: row["level"] for row in _table()["documents"]["step"]}
    return tuple(_sign(row, levels) for row in _table()["sign"])


@functools.cache
def _families() -> tuple[re.Pattern[str], ...]:
    return tuple(map(pattern, _table()["families"].values()))


def _sign(row: Mapping[str, Any], levels: Mapping[str, Level]) -> Sign:
    led = actions(row["action"])
    level = levels[led["least"]]
    return Sign(
        row["id"],
        level,
        {language: row[language] for language in LANGUAGES},
        led,
        _table()["actions"].get(f"{row['action']}_other", led),
        tuple(tuple(text.split(" & ")) for text in row.get("readings", ())),
        row.get("slight", level),
        row.get("denied", False),
        row.get("flag", ""),
        row.get("passages", _NOTHING),
    )


@functools.cache
def pattern(part: str) -> re.Pattern[str]:
    """A part of a reading, compiled when it is first looked for: all of them take a tenth of a second."""
    return re.compile(rf"(?<!\w)(?:{_NAME.sub(_words, part)})(?!\w)")


def _words(name: re.Match[str]) -> str:
    (words,) = (_table()[kind][name[1]] for kind in ("words", "families") if name[1] in _table()[kind])
    return f"(?:{words})"
