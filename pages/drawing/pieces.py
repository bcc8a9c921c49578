"""Tables, and pieces of HTML that show more on hover, on focus or when pressed."""

import re
from collections.abc import Iterable, Sequence

from pages.drawing.untrusted import escape

_NUMBER = re.compile(r"(?<!\w)(\*?\d[\d -]+\d)(?!\w)")


def note(text: str) -> str:
    """A line in quiet print; nothing for no text."""
    return f'<p class="rl-note">{escape(text)}</p>' if text else ""


def tip(text: str, explanation: str, css: str, *, stop: bool = True) -> str:
    """A word that shows an explanation on hover and, at a tab stop, on focus; without one, it must stand elsewhere too."""
    tab = ' tabindex="0"' if stop else ""
    return f'<span class="rl-tip {css}"{tab}>{escape(text)}<span role="tooltip">{escape(explanation)}</span></span>'


def dial(text: str) -> str:
    """Text with each phone number as a link that calls it."""
    return "".join(
        f'<a href="tel:{escape(re.sub(r"[^0-9*]", "", piece))}">{escape(piece)}</a>' if place % 2 else escape(piece)
        for place, piece in enumerate(_NUMBER.split(text))
    )


def opener(position: int, rank: int, text: str, css: str, name: str = "") -> str:
    """A button that opens a passage's card beside it; columns count from 0, `name` is for screen readers."""
    spoken = f' aria-label="{escape(name)}"' if name else ""
    return f'<button type="button" class="{css}" popovertarget="c{position:d}-p{rank:d}"{spoken}>{text}</button>'


def presser(key: str, text: str, name: str) -> str:
    """A button that presses Streamlit's hidden one with this key (letters, digits, "-"); see page.js."""
    return f'<button type="button" class="rl-open" data-press="{escape(key)}" aria-label="{escape(name)}">{escape(text)}</button>'


def listed(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose rows a phone shows as lists, each cell (HTML) after its head; the first names the row."""
    names = [escape(text) for text in heads]
    head = "".join(f'<th scope="col">{one}</th>' for one in names)
    body = ""
    for row in rows:
        cells = (f'<td data-head="{name}">{one}</td>' for name, one in zip(names[1:], row[1:], strict=True))
        body += f'<tr><th scope="row">{row[0]}</th>{"".join(cells)}</tr>'
    return f'<table class="rl-table rl-listed"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
