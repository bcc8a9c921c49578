"""The line under a heading that names the sources of its section, by their keys in the front matter.

<!-- source: WHO2018, NICE2023; differs_from: ACOG2020 -->
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

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
