"""Text of documents and answers as HTML in which lines that begin with a dash are lists, as their authors wrote them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter

from pages.drawing.untrusted import escape
from rag_core.language.highlight import Segment

_MARKER = re.compile(r"[-*•] +(?=\S)")

Line = list[Segment]


def with_lists(segments: Iterable[Segment]) -> str:
    """A text as HTML for an element that keeps line breaks: <mark> on what matches, <u> on what is quoted.

    Args:
        segments: joined, they are the text.
    """
    lines = ((_is_item(line), _drawn(_without_marker(line))) for line in _lines(segments))
    return _joined(lines)


def drawn_with_lists(drawn: str) -> str:
    """The same of a text that is HTML already, whose line breaks are those of the text."""
    found = ((_MARKER.match(line), line) for line in drawn.split("\n"))
    return _joined((marker is not None, line[marker.end() :] if marker else line) for marker, line in found)


def _joined(lines: Iterable[tuple[bool, str]]) -> str:
    """Drawn lines, each with whether it is an item of a list."""
    parts = []
    for item, group in groupby(lines, key=itemgetter(0)):
        texts = [text for _, text in group]
        parts.append(f"<ul><li>{'</li><li>'.join(texts)}</li></ul>" if item else "\n".join(texts).strip("\n"))
    return "".join(parts)


def _drawn(line: Line) -> str:
    """The pieces of a line, escaped and marked."""
    return "".join(_piece(segment) for segment in line)


def _piece(segment: Segment) -> str:
    text = escape(segment.text)
    if segment.matched:
        text = f"<mark>{text}</mark>"
    return f"<u>{text}</u>" if segment.quoted else text


def _lines(segments: Iterable[Segment]) -> list[Line]:
    """The lines of a text, each in pieces that are marked the same way throughout."""
    lines: list[Line] = [[]]
    for segment in segments:
        first, *others = segment.text.split("\n")
        lines[-1].append(segment._replace(text=first))
        lines += [[segment._replace(text=text)] for text in others]
    return [[piece for piece in line if piece.text] for line in lines]


def _is_item(line: Line) -> bool:
    return _MARKER.match("".join(piece.text for piece in line)) is not None


def _without_marker(line: Line) -> Line:
    """The pieces of an item without its dash, which a mark may begin in."""
    found = _MARKER.match("".join(piece.text for piece in line))
    left, pieces = found.end() if found else 0, []
    for piece in line:
        pieces.append(piece._replace(text=piece.text[left:]))
        left = max(0, left - len(piece.text))
    return [piece for piece in pieces if piece.text]
