"""A room as one JSON file that shows what was altered in it: one entry a line, each with a SHA-256 over all before it.

The chain finds any change by somebody who does not write all later hashes anew. Against one who does, compare the last
hash, which stands at the end of the minutes, too.
"""

import hashlib
import json
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ...values.errors import DataError
from ...values.message import NOTICE, Message
from ..saved import Saved, parse_session, read_session, read_text, session_json
from .room import Room, Round, Vote, from_json, to_json

FORMAT = "rag-panel-1"
PACKAGES = ("obstetrics-rag-lab", "evalica", "llama-index-core", "numpy")  # that figures depend on
_OPENING, _CLOSING = '{"panel": [', "]}"  # lines before and after the entries
_HINT = Message("Use the file as it was downloaded.")
_ROOM, _VOTE = TypeAdapter(Room), TypeAdapter(Vote)


@dataclass(frozen=True, slots=True)
class PanelSession:
    """A room as it was kept, and the package `versions` then; `sha256` is of the last entry, and so of the file."""

    room: Room
    rounds: tuple[Round, ...]
    votes: tuple[Vote, ...]
    versions: Mapping[str, str]
    sha256: str


def write_panel(room: Room, rounds: Sequence[Round], votes: Sequence[Vote]) -> str:
    """The file: the room, each question with its answers and all that drawing them needs, each vote, and an end."""
    versions = {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
    known = _ROOM.dump_python(room, mode="json", exclude={"presenter_token"})
    entries = [
        {"kind": "room", "format": FORMAT, "notice": NOTICE, "room": known, "versions": versions},
        *map(_asked, rounds),
        *({"kind": "vote", **_VOTE.dump_python(one, mode="json")} for one in votes),
    ]
    lines, before = [], ""
    for entry in [*entries, _end(entries)]:
        before = _chained(before, entry)
        lines.append(_canonical({"entry": entry, "sha256": before}))
    return "\n".join([_OPENING, ",\n".join(lines), _CLOSING, ""])


def open_panel(text: str) -> PanelSession:
    """The room in a file; raises DataError if another version wrote it, or naming the first entry that was altered."""
    (first, *entries), sha256 = _checked(text)
    try:
        room = _ROOM.validate_python(first["room"])
        rounds = tuple(_round(room, one) for one in entries if one["kind"] == "question")
        votes = tuple(_VOTE.validate_python(one) for one in entries if one["kind"] == "vote")
        return PanelSession(room, rounds, votes, first["versions"], sha256)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            Message("The panel's file cannot be opened: {kind}.", kind=type(error).__name__),
            Message("Another version wrote it."),
        ) from error


def read_questions(path: Path) -> list[tuple[Saved, ...]]:
    """The traces of each question in a session file, as `rag replay` runs them again; raises DataError."""
    text = read_text(path)
    if not text.startswith(_OPENING[:9]):
        return [read_session(path)]
    asked = [one.question.answers for one in open_panel(text).rounds]
    if not asked:
        raise DataError(Message("No question was asked in this room."), Message("Choose another file."))
    return [
        parse_session(session_json([one.trace for one in answers], [one.label for one in answers])) for answers in asked
    ]


def _checked(text: str) -> tuple[list[dict[str, Any]], str]:
    """The entries, and the last hash, of a file that is as it was written."""
    lines = text.split("\n")
    if lines[0] != _OPENING or lines[-2:] != [_CLOSING, ""]:
        raise DataError(Message("The first or the last line of the panel's file was altered."), _HINT)
    entries: list[dict[str, Any]] = []
    before, written = "", lines[1:-2]
    for number, line in enumerate(written, start=1):
        comma = "," if number < len(written) else ""
        try:
            read = json.loads(line.removesuffix(comma))
            same = read["sha256"] == _chained(before, read["entry"]) and line == _canonical(read) + comma
        except (ValueError, KeyError, TypeError, RecursionError):
            same = False
        if not same:
            raise DataError(
                Message(
                    "Entry {number} of the panel's file, on line {line}, is not as it was written.",
                    number=number,
                    line=number + 1,
                ),
                _HINT,
            )
        entries.append(read["entry"])
        before = read["sha256"]
    if not entries or entries[-1] != _end(entries):
        raise DataError(Message("The panel's file has not all of its entries."), _HINT)
    return entries, before


def _end(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    kinds = Counter(one["kind"] for one in entries)
    return {"kind": "end", "questions": kinds["question"], "votes": kinds["vote"]}


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _chained(before: str, entry: object) -> str:
    return hashlib.sha256(f"{before}\n{_canonical(entry)}".encode()).hexdigest()


def _asked(asked: Round) -> dict[str, Any]:
    known = {
        "number": asked.number,
        "asked": asked.asked.isoformat(),
        "closed": asked.closed,
        "revealed": asked.revealed,
    }
    return {"kind": "question", **known, "record": json.loads(to_json(asked.question))}


def _round(room: Room, entry: Mapping[str, Any]) -> Round:
    asked, question = datetime.fromisoformat(entry["asked"]), from_json(json.dumps(entry["record"]))
    return Round(room.code, entry["number"], asked, question, entry["closed"], entry["revealed"])
