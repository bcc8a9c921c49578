"""The text of an HTML page as its reader sees it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ..hidden import reported
from ..markup import Look, look

if TYPE_CHECKING:
    from bs4 import Tag

_NOT_TEXT = {"script", "style", "nav", "header", "footer", "title"}
_HEADINGS = {"h1", "h2", "h3", "h4"}
_BLOCKS = {"p", "div", "li", "tr", "td", "th", "br", "dt", "dd", "section", "article", "blockquote", "option"}


class Page(NamedTuple):
    """A page's title, its text as Markdown, and what it hides."""

    title: str
    text: str
    hidden: tuple[str, ...]


def read_page(content: bytes, deepest: int) -> Page:
    """The page in a file.

    Args:
        deepest: elements in elements; deeper ones are flattened.
    """
    from bs4 import BeautifulSoup

    class Flattened(BeautifulSoup):
        """Closes elements beyond the limit at once, so that their text stays but not their nesting."""

        def pushTag(self, tag: Tag) -> None:
            super().pushTag(tag)
            if len(self.tagStack) > deepest:
                self.popTag()

    page = Flattened(content, "html.parser", from_encoding=_encoding(content))
    title = page.title.get_text(strip=True) if page.title else ""
    styled = page.find(["style", "link"]) is not None  # a sheet may colour the page
    text, hidden = _read(page, Look(ground=None) if styled else Look())
    lines = "\n".join(line.strip() for line in text.splitlines())
    return Page(title, re.sub(r"\n{3,}", "\n\n", lines).strip(), reported(hidden))


def _encoding(content: bytes) -> str | None:
    """UTF-8 where the page names no encoding and is valid in it: few other files are, and guesses are often wrong."""
    from bs4.dammit import EncodingDetector

    if EncodingDetector.find_declared_encoding(content, is_html=True):
        return None
    try:
        content.decode()
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _read(page: Tag, plain: Look) -> tuple[str, list[str]]:
    """The visible text in order, and the hidden ones. Changing the tree instead takes quadratic time on a large page."""
    from bs4 import Comment, Tag
    from bs4.element import CData, NavigableString, PageElement

    parts: list[str] = []
    hidden: list[str] = []
    heading: list[str] | None = None  # the parts of the one being read
    rest: list[tuple[PageElement | str | None, Look]] = [(page, plain)]
    while rest:
        element, around = rest.pop()
        if element is None:  # the end of a heading
            parts += [" ".join("".join(heading or []).split()), "\n\n"]
            heading = None
        elif isinstance(element, Comment):
            hidden.append(str(element))
        elif not isinstance(element, Tag):
            if type(element) in (str, NavigableString, CData):  # not declarations and such
                (parts if heading is None else heading).append(str(element))
        elif element.name not in _NOT_TEXT:
            attributes = {name: str(value) for name, value in element.attrs.items()}
            seen = look(element.name, attributes, around)
            if seen is None:
                hidden.append(element.get_text(" ", strip=True))
                continue
            ends: list[tuple[PageElement | str | None, Look]] = []
            if (
                element.name in _HEADINGS and heading is None
            ):  # as Markdown, so that passages keep their headings
                parts.append(f"\n\n{'#' * int(element.name[1])} ")
                heading, ends = [], [(None, seen)]
            elif element.name in _BLOCKS:
                (parts if heading is None else heading).append("\n")
                ends = [("\n", seen)]
            rest += [*ends, *((child, seen) for child in reversed(element.contents))]
    return "".join(parts), hidden
