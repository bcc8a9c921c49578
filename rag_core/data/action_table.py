"""The table of signs and the least action that a document must give for each, actions.toml."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..language.analysis import LANGUAGES
from ..values.errors import DataError
from ..values.message import Message

_NOTHING = "(?!)"


@dataclass(frozen=True, slots=True, eq=False)
class Sign:
    """A sign, and how documents name it in each language.

    Args:
        least: place of the least urgent action allowed, in `ActionTable.actions`.
        find: patterns that must all occur in a clause.
        unless: what excuses a clause.
        topic: what excuses a whole passage, in its title and headings.
    """

    name: str
    least: int
    find: Mapping[str, tuple[re.Pattern[str], ...]]
    unless: Mapping[str, re.Pattern[str]]
    topic: Mapping[str, re.Pattern[str]]


@dataclass(frozen=True, slots=True)
class Action:
    """What a document tells its reader to do.

    Args:
        words: what finds it in a clause.
        open: whether another clause of the same passage may ask for more.
    """

    name: str
    words: Mapping[str, re.Pattern[str]]
    open: bool


@dataclass(frozen=True, slots=True)
class ActionTable:
    """Actions from the least urgent to the most, and the signs.

    Args:
        advice: what finds a sentence that tells a reader to do something.
        general: what excuses every sign in a clause.
    """

    actions: tuple[Action, ...]
    advice: Mapping[str, re.Pattern[str]]
    general: Mapping[str, re.Pattern[str]]
    signs: tuple[Sign, ...]


def read_actions(path: Path) -> ActionTable:
    """The table in a file.

    Raises:
        DataError: the file is missing or is not such a table.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        places = {row["id"]: place for place, row in enumerate(table["action"])}
        return ActionTable(
            tuple(
                Action(row["en"], _patterns(row["words"]), row.get("open", False)) for row in table["action"]
            ),
            _patterns(table["advice"]),
            _patterns(table["general"]),
            tuple(_sign(row, places) for row in table["sign"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, re.error) as error:
        raise DataError(
            Message(
                "The table of signs and actions {path} cannot be read: {reason}.",
                path=path,
                reason=repr(error),
            ),
            Message("Restore data/actions.toml."),
        ) from error


def _sign(row: Mapping[str, Any], places: Mapping[str, int]) -> Sign:
    return Sign(
        row["en"],
        places[row["least"]],
        {language: tuple(map(_pattern, row["find"][language].split(" & "))) for language in LANGUAGES},
        _patterns(row.get("unless", {})),
        _patterns(row.get("topic", {})),
    )


def _patterns(row: Mapping[str, str]) -> Mapping[str, re.Pattern[str]]:
    return {language: _pattern(row.get(language, _NOTHING)) for language in LANGUAGES}


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{text})(?!\w)")
