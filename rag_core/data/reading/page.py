"""The text of an HTML page as its reader sees it."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from ..hidden import reported
from ..markup import Look, look

if TYPE_CHECKING:
    from bs4 import Tag

_NOT_TEXT = {"script", "style", "nav", "header", "footer", "title"}
_NOT_CURRENT = {"del", "s", "strike"}
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_BLOCKS = {
    "p", "div", "li", "tr", "td", "th", "br", "dt", "dd", "section", "article", "blockquote", "option", "pre",
    "figcaption", "caption", "address", "summary", "legend", "hr", "table", "ul", "ol",
}  # fmt: skip
_RAISED = str.maketrans(
    "0123456789+-\u2212", "\u2070\xb9\xb2\xb3\u2074\u2075\u2076\u2077\u2078\u2079\u207a\u207b\u207b"
)


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
    text = text.replace("\u2011", "-")  # a hyphen that keeps its line together
    lines = "\n".join(line.strip() for line in text.splitlines())
    return Page(title, re.sub(r"\n{3,}", "\n\n", lines).strip(), reported(hidden))


def raised(text: str) -> str:
    """Figures as raised ones, so that 10 to the 9th is not read as 109; other text as it is."""
    return text.translate(_RAISED) if re.fullmatch(r"[\d+\-\u2212]+", text) else text


def _is_fraction(figures: Tag) -> bool:
    """Whether raised figures are the upper half of a fraction, as in 3<sup>1</sup>/<sub>2</sub>."""
    bar = figures.next_sibling
    return (
        isinstance(bar, str)
        and bar.strip() in ("/", "\u2044")
        and getattr(bar.next_sibling, "name", "") == "sub"
    )


def _number(element: Tag, items: Counter[int]) -> str:
    """The number before an item of a numbered list; `items` counts those read of each list."""
    around = element.parent
    if element.name != "li" or around is None or around.name != "ol":
        return ""
    start = str(around.get("start", "1"))
    number = items[id(around)] + (int(start) if start.isdecimal() else 1)
    items[id(around)] += 1
    return f"{number}. "


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
    items: Counter[int] = Counter()
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
            seen = None if element.name in _NOT_CURRENT else look(element.name, attributes, around)
            if seen is None:
                hidden.append(element.get_text(" ", strip=True))
                continue
            into = parts if heading is None else heading
            if element.name == "sup" and (figures := element.get_text(strip=True)):
                into.append(f" {figures}" if _is_fraction(element) else raised(figures))
                continue
            if element.name == "input" and attributes.get("type") == "checkbox":
                into.append("\u2612 " if "checked" in attributes else "\u2610 ")
            ends: list[tuple[PageElement | str | None, Look]] = []
            if (
                element.name in _HEADINGS and heading is None
            ):  # as Markdown, so that passages keep their headings
                parts.append(f"\n\n{'#' * int(element.name[1])} ")
                heading, ends = [], [(None, seen)]
            elif element.name in _BLOCKS:
                into.append(f"\n{_number(element, items)}")
                ends = [("\n", seen)]
            rest += [*ends, *((child, seen) for child in reversed(element.contents))]
    return "".join(parts), hidden
