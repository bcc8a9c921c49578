"""A room as one JSON file that shows what was altered in it: one entry a line, each with a SHA-256 over all before it.

The chain finds any change by somebody who does not write all later hashes anew. Against one who does, compare the last
hash, which stands at the end of the minutes, too.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ...values.errors import DataError
from ...values.message import Message
from ...values.notice import NOTICE
from ..saved import Saved, parse_session, read_session, read_text, session_json
from .room import Pair, Room, Round, Vote, from_json, to_json

FORMAT = "rag-panel-1"
PACKAGES = (
    "obstetrics-rag-lab",
    "evalica",
    "llama-index-core",
    "numpy",
)  # that figures depend on
_OPENING, _CLOSING = '{"panel": [', "]}"  # lines before and after the entries
_HINT = Message("Use the file as it was downloaded.")


@dataclass(frozen=True, slots=True)
class PanelSession:
    """A room as it was kept.

    Args:
        versions: of Python and the packages that figures depend on, when the file was written.
        sha256: of the last entry, and so of the whole file.
    """

    room: Room
    rounds: tuple[Round, ...]
    votes: tuple[Vote, ...]
    versions: Mapping[str, str]
    sha256: str


def write_panel(room: Room, rounds: Sequence[Round], votes: Sequence[Vote]) -> str:
    """The file: the room, each question with its answers, each vote, and an entry that ends it.

    An answer is there twice: as `rag compare --json` prints it, and with all that drawing it needs, prompts included.
    """
    known = {"code": room.code, "title": room.title, "opened": room.opened.isoformat()}
    entries = [
        {"kind": "room", "format": FORMAT, "notice": NOTICE, "room": known, "versions": _versions()},
        *map(_asked, rounds),
        *({"kind": "vote", **asdict(one), "voted": one.voted.isoformat()} for one in votes),
    ]
    lines, before = [], ""
    for entry in [*entries, _end(entries)]:
        before = _chained(before, entry)
        lines.append(_canonical({"entry": entry, "sha256": before}))
    return "\n".join([_OPENING, ",\n".join(lines), _CLOSING, ""])


def is_panel(text: str) -> bool:
    """Whether a text is such a file, altered or not."""
    return text.startswith(_OPENING[:9])


def open_panel(text: str) -> PanelSession:
    """The room in a file.

    Raises:
        DataError: it was altered, and the message names the first entry that was; or another version wrote it.
    """
    entries, sha256 = _checked(text)
    try:
        first = entries[0]
        room = Room(**{**first["room"], "opened": datetime.fromisoformat(first["room"]["opened"])})
        rounds = tuple(
            Round(
                room.code, one["number"], datetime.fromisoformat(one["asked"]), from_json(json.dumps(one["record"])),
                one["closed"], one["revealed"],
            )
            for one in entries
            if one["kind"] == "question"
        )  # fmt: skip
        votes = tuple(
            Vote(
                one["round"], one["person"], Pair(**one["pair"]), one["choice"], datetime.fromisoformat(one["voted"]),
                tuple(one["reasons"]), one["comment"],
            )
            for one in entries
            if one["kind"] == "vote"
        )  # fmt: skip
        return PanelSession(room, rounds, votes, first["versions"], sha256)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            Message("The panel's file cannot be opened: {kind}.", kind=type(error).__name__),
            Message("Another version wrote it."),
        ) from error


def read_questions(path: Path) -> list[tuple[Saved, ...]]:
    """The traces of each question in a session file, of a room or of one question, as `rag replay` runs them again.

    Raises:
        DataError: the file cannot be read, is not a session, or was altered.
    """
    text = read_text(path)
    if not is_panel(text):
        return [read_session(path)]
    found = [parse_session(one["session"]) for one in _checked(text)[0] if one["kind"] == "question"]
    if not found:
        raise DataError(Message("No question was asked in this room."), Message("Choose another file."))
    return found


def _checked(text: str) -> tuple[list[dict[str, Any]], str]:
    """The entries, and the last hash, of a file that is as it was written."""
    lines = text.split("\n")
    if lines[0] != _OPENING or lines[-2:] != [_CLOSING, ""]:
        raise DataError(Message("The first or the last line of the panel's file was altered."), _HINT)
    entries: list[dict[str, Any]] = []
    before, written = "", lines[1:-2]
    for number, line in enumerate(written, start=1):
        try:
            read = json.loads(line.removesuffix(",") if number < len(written) else line)
            entry, sha256 = read["entry"], read["sha256"]
            same = sha256 == _chained(before, entry) and line.removesuffix(",") == _canonical(read)
            if not same or line.endswith(",") != (number < len(written)):
                raise ValueError("another hash")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError(
                Message(
                    "Entry {number} of the panel's file, on line {line}, is not as it was written.",
                    number=number,
                    line=number + 1,
                ),
                _HINT,
            ) from error
        entries.append(entry)
        before = sha256
    if not entries or entries[-1] != _end(entries):
        raise DataError(Message("The panel's file has not all of its entries."), _HINT)
    return entries, before


def _end(entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The last entry, which counts the others."""
    kinds = Counter(one["kind"] for one in entries)
    return {"kind": "end", "questions": kinds["question"], "votes": kinds["vote"]}


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _chained(before: str, entry: object) -> str:
    return hashlib.sha256(f"{before}\n{_canonical(entry)}".encode()).hexdigest()


def _asked(asked: Round) -> dict[str, Any]:
    question = asked.question
    return {
        "kind": "question", "number": asked.number, "asked": asked.asked.isoformat(), "closed": asked.closed,
        "revealed": asked.revealed, "language": question.language, "about": question.kind,
        "triage": question.triage.as_json(),
        "session": session_json([one.trace for one in question.answers], [one.label for one in question.answers]),
        "record": json.loads(to_json(question)),
    }  # fmt: skip


def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
