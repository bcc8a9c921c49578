"""Markdown as its reader sees it: notes where they are referred to, nothing crossed out or hidden, and marks of sources."""

import html
import re
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from ..values.letters import raised
from ..values.message import Message
from .hidden import reported
from .limits import READING, LimitExceeded
from .markup import CODE, take_markup

_HEADING = re.compile(r"#{1,6}[ \t]+(.*\S)")
_MARK = re.compile(r"[ \t]*<!--\s*source:([^;<>]*)(?:;\s*differs_from:([^;<>]*))?-->\s*")


class Mark(NamedTuple):
    """The sources of a section, as keys.

    Args:
        heading: of the section, without its signs.
        differs_from: keys of the sources whose guidance differs from that of `sources`.
    """

    heading: str
    sources: tuple[str, ...]
    differs_from: tuple[str, ...]


def take_marks(text: str, keys: Collection[str]) -> tuple[str, tuple[Mark, ...]]:
    """A Markdown text without its marks, and the marks.

    A comment that names none of the keys, or is not the first line under a heading, is ordinary text.
    """
    if not keys or "<!--" not in text:
        return text, ()
    kept: list[str] = []
    marks: list[Mark] = []
    heading = ""
    for line in text.split("\n"):
        found = _MARK.fullmatch(line) if heading else None
        named = [_keys(part) for part in found.groups("")] if found else [(), ()]
        if any(key in keys for part in named for key in part):
            marks.append(Mark(heading, *named))
            continue
        kept.append(line)
        title = _HEADING.fullmatch(line.rstrip())
        heading = title[1].strip() if title else heading if not line.strip() else ""
    return "\n".join(kept), tuple(marks)


def _keys(part: str) -> tuple[str, ...]:
    return tuple(key.strip() for key in part.split(",") if key.strip())


_NOTED = re.compile(r" ?\[\^([^\]\s]{1,100})\]")
_DEFINED = re.compile(r" {0,3}\[\^([^\]\s]{1,100})\]:")
_INTERRUPTS = re.compile(r" {0,3}(?:#|>|[-*+]\s|\d{1,9}[.)]\s|```|~~~|\|)")  # a paragraph
_INLINE_NOTE = re.compile(r" ?\^\[([^\[\]\n]{1,2000})\]")
_STRUCK = re.compile(r"(?<![~\\])~~(?![~\s])((?:[^~\n]|~(?!~)|\n(?!\s*\n)){1,2000}?)(?<![\s\\])~~(?!~)")
_TASK = re.compile(r"^([ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t]+)\[([ xX])\](?=[ \t])", re.MULTILINE)
_FRACTION = re.compile(r"<sup>(\d{1,3})</sup> ?[/\u2044] ?<sub>(\d{1,3})</sub>", re.IGNORECASE)
_RAISED = re.compile(r"<sup>([^<>\n]{1,100})</sup>", re.IGNORECASE)
_RAISED_BY_SIGNS = re.compile(r"(?<=\w)\^([+\-\u2212]?\d{1,4})\^")
_LOWERED = re.compile(r"<sub>([^<>\n]{1,100})</sub>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)

Change = Callable[[Sequence[str]], str]  # of a match and its groups


def take_markdown(text: str) -> tuple[str, tuple[str, ...]]:
    """A Markdown text as its reader sees it, and what is not read. Code is left as it is.

    A note stands in brackets wherever it is referred to, a task as a box, raised figures as such.
    """
    struck: list[str] = []

    def cut(found: Sequence[str]) -> str:
        struck.append(f"struck through: {found[1]}")
        return ""

    changes: list[tuple[re.Pattern[str], Change]] = [
        (_INLINE_NOTE, lambda found: f" ({found[1]})"),
        (_STRUCK, cut),
        (_TASK, lambda found: f"{found[1]}{'☐' if found[2] == ' ' else '☒'}"),
        (_FRACTION, lambda found: f" {found[1]}/{found[2]}"),
        (_RAISED, lambda found: raised(found[1])),
        (_RAISED_BY_SIGNS, lambda found: raised(found[1])),
        (_LOWERED, lambda found: found[1]),
    ]
    if "[^" in text:
        text = _with_notes(text)
    for pattern, change in changes:
        text = _changed(pattern, text, change)
    text, hidden = take_markup(text)
    text = _changed(_ENTITY, text, lambda found: html.unescape(found[0]))  # last: what it gives is no markup
    return text, reported([*hidden, *struck])


def _changed(pattern: re.Pattern[str], text: str, change: Change) -> str:
    if not pattern.search(text):
        return text
    kept, end = [], 0
    for found in pattern.finditer(_masked(text)):
        groups = [text[start:stop] if start >= 0 else "" for start, stop in found.regs]
        kept += [text[end : found.start()], change(groups)]
        end = found.end()
    return "".join([*kept, text[end:]])


def _masked(text: str) -> str:
    return _COMMENT.sub(_nothing, CODE.sub(_nothing, text))


def _nothing(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", "\ufffc", found[0])


def _with_notes(text: str) -> str:
    """A text with each note where it is referred to; one that nothing refers to is at the end."""
    body, notes = _apart(text)
    written: dict[str, str] = {}
    room = READING.characters

    def placed(found: Sequence[str], around: tuple[str, ...] = ()) -> str:
        nonlocal room
        name = found[1].lower()
        if name not in notes:
            return found[0]
        if name in around:  # a note that refers to itself
            return ""
        if name not in written:
            written[name] = _changed(_NOTED, notes[name], lambda inner: placed(inner, (*around, name)))
        room -= len(written[name])
        if room < 0:  # notes that refer to others twice double with each
            raise LimitExceeded(
                Message("it has more than {most:,} characters of text", most=READING.characters)
            )
        return f" ({written[name]})" if written[name] else ""

    shown = _changed(_NOTED, body, placed)
    left = [note for name, note in notes.items() if name not in written and note]
    return "\n\n".join([shown.rstrip("\n"), *left, ""]) if left else shown


def _apart(text: str) -> tuple[str, dict[str, str]]:
    body: list[str] = []
    notes: dict[str, list[str]] = {}
    note: list[str] | None = None  # the one being read
    after_blank = False
    for line, shown in zip(text.split("\n"), _masked(text).split("\n"), strict=True):
        if defined := _DEFINED.match(shown):
            note = notes.setdefault(defined[1].lower(), [])
            note.append(line[defined.end() :])
        elif not line.strip():
            body.append(line)
        elif note is not None and (
            line.startswith(("    ", "\t")) or not (after_blank or _INTERRUPTS.match(line))
        ):
            note.append(line)
        else:
            note = None
            body.append(line)
        after_blank = not line.strip()
    return "\n".join(body), {name: " ".join(" ".join(lines).split()) for name, lines in notes.items()}
