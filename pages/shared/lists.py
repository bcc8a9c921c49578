"""Text of documents and answers as HTML in which lines that begin with a dash are lists, as their authors wrote them."""

from collections.abc import Iterable

from pages.drawing.untrusted import escape
from rag_core.language.highlight import Segment
from rag_core.values.answers import ITEM, lines_as_html

Line = list[Segment]


def with_lists(segments: Iterable[Segment]) -> str:
    """Segments of a text as HTML that keeps line breaks: <mark> on what matches, <u> on what is quoted."""
    return lines_as_html(map(_drawn, _lines(segments)))


def _drawn(line: Line) -> tuple[bool, str]:
    """Whether a line is an item, and its pieces without its dash, which a mark may begin in; escaped and marked."""
    found = ITEM.match("".join(piece.text for piece in line))
    left, drawn = found.end() if found else 0, ""
    for piece in line:
        if rest := piece.text[left:]:
            drawn += _piece(piece._replace(text=rest))
        left = max(0, left - len(piece.text))
    return found is not None, drawn


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
