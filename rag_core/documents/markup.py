"""Which elements of HTML their reader does not see, by their own attributes; and Markdown without them.

Style sheets and scripts are not read: much of what they hide can be opened with a click.
"""

import re
from collections import Counter
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import NamedTuple

from .hidden import reported

NEVER_SHOWN = {"script", "style", "template", "datalist"}
_CROSSED_OUT = {"del": "deleted", "s": "struck through", "strike": "struck through"}
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_COMMENT = re.compile(
    r"<!--.*?(?:--!?>|\Z)|<[?!][A-Za-z\[][^>]{0,1000}>|^ {0,3}\[(?://|comment)\]:[^\n]*",
    re.MULTILINE | re.DOTALL,
)
_DECLARATION = re.compile(r"([\w-]+)\s*:\s*([^;]+)")
_NUMBER = re.compile(r"(-?\d*\.?\d+)\s*(px|pt|r?em|%|)")
_UNREADABLE = {"px": 3.0, "pt": 2.0, "em": 0.2, "rem": 0.2, "%": 20.0, "": 1.0}  # font sizes below these
_FAR = 900  # pixels off the page
_HEX = re.compile(r"#([0-9a-f]{3,8})")
_RGB = re.compile(r"rgba?\(\s*([\d.]+)[\s,]+([\d.]+)[\s,]+([\d.]+)(?:[\s,/]+([\d.]+))?\s*\)")
_NAMED = {"white": (255, 255, 255), "black": (0, 0, 0), "snow": (255, 250, 250), "ivory": (255, 255, 240)}
_CLOSE = 24  # between two colours nobody tells apart, red, green and blue added

Colour = tuple[float, float, float]


class Look(NamedTuple):
    """The colours of an element and its ground, as far as attributes give them; None if unknown, as an image."""

    text: Colour | None = None
    ground: Colour | None = _NAMED["white"]


def look(name: str, attributes: Mapping[str, str], around: Look) -> Look | None:
    """The look of an element inside another; None if its reader does not see it."""
    if name in NEVER_SHOWN or "hidden" in attributes or (name == "dialog" and "open" not in attributes):
        return None
    declared = _DECLARATION.findall(attributes.get("style", "").lower())
    style = {key: value.replace("!important", "").strip() for key, value in declared}
    if _hides(style):
        return None
    ground = style.get("background-color") or style.get("background") or attributes.get("bgcolor")
    text = style.get("color") or (attributes.get("color") if name == "font" else None)
    seen = Look(_colour(text) if text else around.text, _colour(ground) if ground else around.ground)
    if text == "transparent" or (text and (found := _RGB.fullmatch(text)) and float(found[4] or 1) == 0):
        return None
    changed = bool(text or ground) and seen.text and seen.ground
    if changed and sum(abs(a - b) for a, b in zip(seen.text or (), seen.ground or (), strict=True)) <= _CLOSE:
        return None
    return seen


def crossed_out(name: str, style: str) -> str:
    """How an element, its style in lower case, says that its text no longer holds; empty if it does not."""
    drawn = re.findall(r"text-decoration(?:-line)?\s*:([^;]*)", style) if "line-through" in style else []
    return "struck through" if drawn and "line-through" in drawn[-1] else _CROSSED_OUT.get(name, "")


def _hides(style: Mapping[str, str]) -> bool:
    size = _NUMBER.fullmatch(style.get("font-size", ""))
    opacity = _NUMBER.fullmatch(style.get("opacity", ""))
    sides = ("left", "top", "right", "bottom", "margin-left", "text-indent")
    off = [_NUMBER.match(style.get(side, "")) for side in sides]
    lengths = [_NUMBER.fullmatch(style.get(side, "")) for side in ("width", "height")]
    empty = any(one and float(one[1]) == 0 for one in lengths)
    return (
        style.get("display") == "none"
        or style.get("visibility") in ("hidden", "collapse")
        or bool(size and float(size[1]) < _UNREADABLE[size[2]])
        or bool(opacity and float(opacity[1]) < 0.05)
        or any(one and one[2] == "px" and float(one[1]) < -_FAR for one in off)
        or (empty and style.get("overflow") == "hidden")
        or style.get("clip", "").replace(" ", "").replace("px", "") in ("rect(0,0,0,0)", "rect(0000)", "rect(1,1,1,1)")
    )


def _colour(value: str) -> Colour | None:
    if value in _NAMED:
        return _NAMED[value]
    if found := _HEX.fullmatch(value):
        digits = found[1] if len(found[1]) > 5 else "".join(digit * 2 for digit in found[1])
        return float(int(digits[:2], 16)), float(int(digits[2:4], 16)), float(int(digits[4:6], 16))
    if found := _RGB.fullmatch(value):
        return float(found[1]), float(found[2]), float(found[3])
    return None


def take_markup(text: str) -> tuple[str, tuple[str, ...]]:
    """A text without comments and hidden elements, and what these say. Every "<" before a letter in it is markup."""
    if "<" not in text and "]:" not in text:
        return text, ()
    spans = [(*found.span(), "") for found in _COMMENT.finditer(text)]
    masked = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    if "<" in masked:
        spans += _Finder(masked).spans
    kept: list[str] = []
    found: list[str] = []
    end = 0
    for start, stop, reason in sorted(spans):
        if start >= end:
            kept.append(text[end:start])
            said = _said(text[start:stop])
            found.append(f"{reason}: {said}" if reason and said.strip() else said)
            end = stop
    return "".join([*kept, text[end:]]), reported(found)


def _said(markup: str) -> str:
    """What a comment without its signs, or an element without its tags, says."""
    comment = re.fullmatch(r"<(?:!--|[?!])(.*?)(?:--!?>|\?>|>)?", markup, re.DOTALL)
    return comment[1] if comment else re.sub(r"</?[A-Za-z][^>]*>", " ", markup)


class _Finder(HTMLParser):
    """The spans of the elements of a text that are hidden or crossed out, and why for the latter."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.spans: list[tuple[int, int, str]] = []
        self._open: list[tuple[str, Look | None, int, str]] = []  # name, look, where its span starts, why
        self._count: Counter[str] = Counter()  # of the open elements, by name
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]
        self._text = text
        # no tag ends below the last sign, and to look for an end takes quadratic time
        self.feed(text[: text.rfind(">") + 1])
        self.close()
        while self._open:  # a letter in angle brackets must not cross out all that follows
            if self._open[-1][3]:
                self._open.pop()
            else:
                self._close(len(text))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            return
        around = self._open[-1][1] if self._open else Look()
        attributes = {name: value or "" for name, value in attrs}
        seen = look(tag, attributes, around) if around else None
        reason = crossed_out(tag, attributes.get("style", "").lower()) if seen else ""
        start = self._at() if (around and not seen) or reason else -1
        self._open.append((tag, seen, start, reason))
        self._count[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        if self._count[tag]:
            end = self._text.find(">", self._at()) + 1 or len(self._text)
            while self._close(end) != tag:
                pass

    def _close(self, end: int) -> str:
        tag, _, start, reason = self._open.pop()
        self._count[tag] -= 1
        if start >= 0:
            self.spans.append((start, end, reason))
        return tag

    def _at(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column
