"""The text of an HTML page as its reader sees it."""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from ...values.letters import raised
from ..hidden import reported
from ..markup import Look, crossed_out, look
from .headers import find_header

if TYPE_CHECKING:
    from bs4 import Tag

_NOT_TEXT = {"script", "style", "title", "annotation", "rp"}  # the last are a formula's source, and brackets
_OF_THE_PAGE = {"header": "page header", "footer": "page footer"}  # outside these: what they are of
_SECTIONS = {"article", "section", "main", "aside"}
_LISTS = {"ol", "ul", "menu"}
_NOT_SHOWN = {  # in a browser of today, unless it fails
    "nav": "navigation", "noscript": "for browsers without scripts", "noframes": "for browsers without frames",
    "noembed": "for browsers without plug-ins", "iframe": "embedded page", "video": "video", "audio": "recording",
    "canvas": "drawing", "object": "embedded file",
    "embed": "embedded file",
}  # fmt: skip
_WITHOUT_TEXT = {"iframe", "video", "audio", "canvas", "object", "embed"}  # are reported all the same
_Change = Callable[[str], str]
_WRAPPED: dict[str, _Change] = {
    "rt": lambda text: f" ({text.strip()})",  # how a word is spoken
    "q": lambda text: f"\u201c{text.strip()}\u201d",
    "msqrt": lambda text: f"\u221a({text.strip()})",
}
_SIGNS = {"i", "span", "svg"}  # drawn by a sheet
_DESCRIBED = {"alt", "aria-label", "title"}
_BOXES = dict.fromkeys(("true", "checked", "checkbox-on"), "\u2612 ")  # by state, or as Confluence and Notion name them
_BOXES |= dict.fromkeys(("false", "checkbox-off"), "\u2610 ")
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
_CELLS, _NONE = {"td", "th"}, set[str]()
_ENDS = {  # an element -> those that it ends, if the page does not, and in which they are (HTML, 13.1.2.4)
    "li": ({"li"}, _LISTS | _CELLS), "dt": ({"dt", "dd"}, {"dl"}), "dd": ({"dt", "dd"}, {"dl"}), "option": ({"option"}, {"select"}),
    "tr": ({"tr"}, {"table"}), "td": (_CELLS, {"tr", "table"}), "th": (_CELLS, {"tr", "table"}),
}  # fmt: skip
_OF_ROWS = {"table", "thead", "tbody", "tfoot", "tr"}
_BLOCKS = {
    "p", "div", "li", "tr", "td", "th", "br", "dt", "dd", "section", "article", "blockquote", "option", "pre",
    "figcaption", "caption", "address", "summary", "legend", "hr", "table", "ul", "ol", "dl", "main", "aside", "header",
    "footer", "hgroup", "figure", "form", "fieldset", "details", "dialog", "textarea", "select", "optgroup", "center",
    "menu", "dir", "search", "button", "listing", "xmp", "plaintext", "text",
}  # fmt: skip
_SAME_AS = {  # an encoding's name -> the one that browsers read, by Python's names (WHATWG Encoding Standard, 4.2)
    "iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874", "tis-620": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949", "utf-16": "utf-8",
    "utf-16-le": "utf-8", "utf-16-be": "utf-8", "utf-32": "utf-8",
}  # fmt: skip
_LABELS = {"iso88591": "cp1252", "x-cp1252": "cp1252"}  # those of windows-1252 that Python does not know
_VALUES = {
    "", "text", "search", "tel", "url", "email", "number", "date", "time", "datetime-local", "month",
    "week",
}  # fmt: skip
_ROMAN = {
    1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl", 10: "x", 9: "ix", 5: "v", 4: "iv", 1: "i",
}  # fmt: skip
_LETTERS = {"a", "A", "lower-alpha", "lower-latin", "upper-alpha", "upper-latin"}  # by type, or by a style
_NUMERALS = {"i", "I", "lower-roman", "upper-roman"}
_COUNTED = re.compile(r"(?:list-style|counter\()[^;]*?((?:lower|upper)-(?:alpha|latin|roman))")
LINES = 4  # of a cell; one with more, or with a heading, is a part of the page's layout
SEPARATOR = " | "
LONG = 12  # rows: a table that may be cut has a rule below its header, by which each part is given it


class Page(NamedTuple):
    """A page's title, its text as Markdown, and what it hides."""

    title: str
    text: str
    hidden: tuple[str, ...]


class _End(NamedTuple):
    """The end of an element changed as a whole; its pictures, after `labels` others, stand for a missing text."""

    change: _Change
    labels: int | None = None


def read_page(content: bytes, deepest: int) -> Page:
    """The page in a file; elements more than `deepest` within others are flattened."""
    from bs4 import BeautifulSoup

    class Flattened(BeautifulSoup):
        """Closes what another element ends, and elements beyond the limit at once: their text stays, their nesting not."""

        def handle_starttag(self, name: str, *more: Any, **named: Any) -> Tag | None:
            ended, within = _ENDS.get(name, (_NONE, _NONE))
            place = next((one.name for one in reversed(self.tagStack) if one.name in ended | within), "")
            if place in ended:
                self.endData()  # the text so far is in it
                self._popToTag(place)
            return super().handle_starttag(name, *more, **named)

        def pushTag(self, tag: Tag) -> None:
            super().pushTag(tag)
            if len(self.tagStack) > deepest:
                self.popTag()

    decoded = _decoded(content)
    page = Flattened(decoded, "html.parser", multi_valued_attributes=None)
    titles = (one.get_text(strip=True) for one in page.find_all("title") if not _around(one, {"svg"}))
    title = next(titles, "")
    styled = page.find(["style", "link"]) is not None  # a sheet may colour the page
    text, hidden = _read(page, Look(ground=None) if styled else Look())
    text = re.sub(" {2,}", " ", text.replace("\u2011", "-"))  # a hyphen that keeps its line together
    lines = "\n".join(line.strip() for line in text.splitlines())
    if isinstance(decoded, str) and (lost := decoded.count("\ufffd")):
        hidden.append(f"characters that its encoding does not have ({lost:,})")
    return Page(title, re.sub(r"\n{3,}", "\n\n", lines).strip(), reported(hidden))


def _is_fraction(figures: Tag) -> bool:
    """Whether raised figures are the upper half of a fraction, as in 3<sup>1</sup>/<sub>2</sub>."""
    bar = figures.next_sibling
    is_bar = isinstance(bar, str) and bar.strip() in ("/", "\u2044")
    return is_bar and getattr(getattr(bar, "next_sibling", None), "name", "") == "sub"


def _item(element: Tag, following: dict[int, int], styles: Mapping[str, str]) -> _Change | None:
    """What becomes of the text of an item of a list; `following` holds each list's next number (HTML, 4.4.5 and 4.4.8)."""
    if element.name != "li":
        return None
    around = _around(element, _LISTS)
    if around is None or around.name != "ol":
        return lambda text: f"\n{text.strip()}\n"
    backwards = "reversed" in around.attrs
    places = [element.get("value"), following.get(id(around)), around.get("start")]
    number = next((int(str(one)) for one in places if re.fullmatch(r"\s*-?\d{1,9}\s*", str(one))), 1)
    if backwards and places == [None] * 3:
        number = sum(_around(one, _LISTS) is around for one in around("li"))
    following[id(around)] = number - 1 if backwards else number + 1
    styled = _COUNTED.findall(f"{_style(around, styles)};{_style(element, styles)}")
    mark = _counted(number, [str(element.get("type") or around.get("type")), *styled][-1])
    return lambda text: f"\n{mark}. {text.strip()}\n"


def _counted(number: int, kind: str) -> str:
    """A number as lists of a kind show it: "a" counts with letters, "i" with Roman numerals, "A" and "I" with capitals."""
    small = _letters(number) if kind in _LETTERS else roman(number) if kind in _NUMERALS else ""
    return (small.upper() if kind.isupper() or kind.startswith("upper") else small) or str(number)


def _letters(number: int) -> str:
    return _letters((number - 1) // 26) + chr(ord("a") + (number - 1) % 26) if number > 0 else ""


def roman(number: int) -> str:
    """A number in small Roman figures; empty for one that has none."""
    if number >= 4_000:
        return ""
    return next((sign + roman(number - value) for value, sign in _ROMAN.items() if number >= value), "")


def _decoded(content: bytes) -> bytes | str:
    """A page's text as browsers read its encoding, or its bytes where these begin with a mark of it or are of no western one.

    UTF-8 where it is valid and the page names no encoding or windows-1252: few other files are, and a server may have said
    UTF-8 of a page that names another. A page that names none is windows-1252 otherwise: guesses mistake its ñ for ń.
    """
    from bs4.dammit import EncodingDetector

    if content.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in content:
        return content
    named = _python_name(EncodingDetector.find_declared_encoding(content, is_html=True) or "") or "cp1252"
    if named == "cp1252":
        try:
            return content.decode()
        except UnicodeDecodeError:
            pass
    return content.decode(named, "replace")


def _python_name(label: str) -> str:
    """The encoding that browsers understand by a label; empty for none."""
    label = label.strip().lower()
    try:
        name = codecs.lookup(label).name
        "".encode(name)  # fails for what is no encoding of text
    except LookupError:
        return _LABELS.get(label, "")
    return _SAME_AS.get(name, name)


def _read(page: Tag, plain: Look) -> tuple[str, list[str]]:
    """The visible text in order, and the hidden ones. Changing the tree instead takes quadratic time on a large page."""
    from bs4 import Comment, Tag
    from bs4.element import CData, NavigableString, PageElement, RubyTextString

    # the text so far; in elements whose text is changed as a whole, also theirs
    parts: list[list[str]] = [[]]
    hidden: list[str] = []
    items: dict[int, int] = {}
    labels: list[tuple[str, str]] = []  # what pictures and signs say, and how that is reported
    grids = defaultdict[int, Grid](Grid)
    styles = _styles(page)
    rest: list[tuple[PageElement | _End | str, Look]] = [(page, plain)]
    while rest:
        element, around = rest.pop()
        if isinstance(element, _End):
            whole = "".join(parts.pop())
            if element.labels is not None and not whole.strip():
                whole = " ".join(label for label, _ in labels[element.labels :])
                del labels[element.labels :]
            parts[-1].append(element.change(whole))
        elif isinstance(element, Comment):
            hidden.append(str(element))
        elif not isinstance(element, Tag):
            if type(element) in (str, NavigableString, CData, RubyTextString):  # not declarations and such
                within = getattr(getattr(element, "parent", None), "name", "")
                if within not in _OF_ROWS or str(element).strip():  # no blanks between the rows of a table
                    parts[-1].append(str(element))
        elif element.name == "title" and _around(element, {"svg"}):
            labels.append((element.get_text(" ", strip=True), ""))
        elif element.name not in _NOT_TEXT:
            attributes = {name: str(one or "") for name, one in element.attrs.items()}
            style = _style(element, styles)
            seen = look(element.name, attributes, around)
            if seen is None or (reason := crossed_out(element.name, style) or _why_not_shown(element)):
                said = " ".join(element.get_text(" ", strip=True).split())
                if seen and (said or element.name in _WITHOUT_TEXT):  # some are worth a word by themselves
                    said = f"{reason}: {said}" if said else reason
                hidden.append(said)
                continue
            hidden += _beside(element, attributes)
            before = len(labels)
            said = attributes.get("title", "") if element.name in _SIGNS | {"img", "a"} else ""
            if label := (attributes.get("aria-label") or attributes.get("alt") or said).strip():
                labels.append((label, f"picture: {label}" if "alt" in attributes else ""))
            ends: list[tuple[PageElement | _End | str, Look]] = []
            change = _in_grid(element, attributes, grids) or _item(element, items, styles)
            if change := change or _change(element, style):
                parts.append([])
                ends = [(_End(change, before if element.name in _CELLS | {"li"} else None), seen)]
            elif element.name in _BLOCKS or element.name in _HEADINGS:
                parts[-1].append("\n")
                ends = [("\n", seen)]
            parts[-1].append(_instead(element, attributes))
            rest += [*ends, *((child, seen) for child in reversed(element.contents))]
    return "".join(parts[0]), [*hidden, *(told for _, told in labels if told)]


def _styles(page: Tag) -> dict[str, str]:
    """What a page's own style sheet says of classes, where it bears on meaning: Google Docs strikes, raises and counts so."""
    found: dict[str, str] = {}
    for sheet in page.find_all("style"):
        for rule in sheet.get_text().lower().split("}"):
            selectors, _, style = rule.rpartition("{")
            items = r"(?:\s*>?\s*li(?:::?before|::marker)?)?" if _COUNTED.search(style) else ""
            if items or "line-through" in style or "vertical-align" in style:
                for name in re.findall(rf"\.([\w-]+){items}\s*(?:,|$)", selectors):
                    found[name] = f"{found.get(name, '')};{style}"
    return found


def _style(element: Tag, styles: Mapping[str, str]) -> str:
    classes = [styles[name] for name in str(element.get("class") or "").split() if name in styles]
    return ";".join([*classes, str(element.get("style") or "").lower()])


def _why_not_shown(element: Tag) -> str:
    if element.name in _OF_THE_PAGE and not _around(element, _SECTIONS):
        return _OF_THE_PAGE[element.name]
    return _NOT_SHOWN.get(element.name, "")


def _beside(element: Tag, attributes: Mapping[str, str]) -> Iterator[str]:
    bare = _DESCRIBED.isdisjoint(attributes)  # an empty description is one of decoration
    if element.name == "img" and bare:
        yield "a picture without a description"
    elif element.name in _SIGNS and bare and not element.find(True):
        cell = _around(element, {"td", "th", "li"})  # otherwise empty: a tick, or a cross
        within = [*islice(cell.descendants, LONG)] if cell else []
        empty = len(within) < LONG and not "".join(one for one in within if isinstance(one, str)).strip()
        if "class" in attributes and cell and empty:
            yield f"a sign without a description: {attributes['class']}"
    elif element.name == "abbr" and attributes.get("title"):
        yield f"{element.get_text(' ', strip=True)}: {attributes['title']}"


def _instead(element: Tag, attributes: Mapping[str, str]) -> str:
    if element.name == "input":
        kind = attributes.get("type", "").lower()
        if kind in ("checkbox", "radio"):
            return " \u2612 " if "checked" in attributes else " \u2610 "
        return f"{attributes.get('value', '')} " if kind in _VALUES else ""
    if element.name == "option" and _around(element, {"select"}):
        return "\u2612 " if "selected" in attributes else "\u2610 "
    named = attributes.get("class", "").split() if element.name in ("li", "div", "span") else []
    box = next((_BOXES[one] for one in [attributes.get("aria-checked", ""), *named] if one in _BOXES), "")
    return "/" if _is_last_of(element, "mfrac") else box


def _change(element: Tag, style: str) -> _Change | None:
    name = element.name
    if name in _HEADINGS and not _around(element, _HEADINGS):  # as Markdown, so that passages keep them
        return lambda text: f"\n\n{'#' * int(name[1])} {' '.join(text.split())}\n\n"
    if name == "sup" and _is_fraction(element):
        return lambda text: f" {text.strip()}"
    if name == "sup" or _is_last_of(element, "msup") or re.search(r"vertical-align\s*:\s*super", style):
        before = str(element.find_previous(string=True) or "")
        return lambda text: text.replace(text.strip(), raised(text.strip(), before))
    return _WRAPPED.get(name)


def _in_grid(element: Tag, attributes: Mapping[str, str], grids: Mapping[int, Grid]) -> _Change | None:
    """What becomes of the text of a cell or a row of a table: the row says its cells on one line."""
    if element.name not in _CELLS | {"tr"} or not (table := _around(element, {"table"})):
        return None
    grid = grids[id(table)]
    if element.name == "tr":
        first = table.find_all("tr", limit=LONG) if table.find("tr") is element else []
        rule = _rule([row.find_all(("th", "td")) for row in first]) if len(first) == LONG else ""
        return lambda text: "\n" + "\n".join(filter(None, [text.strip(), grid.end_row(), rule]))
    columns, rows = attributes.get("colspan", ""), attributes.get("rowspan", "")
    return lambda text: grid.take(text, columns, rows)


def _rule(rows: list[list[Tag]]) -> str:
    """The line below the header of a table with these cells; few programs mark one, so that it may be told by its words."""
    texts = [[one.get_text(" ", strip=True) for one in row] for row in rows]
    layout = any(one.find(("table", *_HEADINGS)) for one in rows[0])
    is_header = all(one.name == "th" for one in rows[0]) or (not layout and find_header(texts)[::2] == (0, 1))
    return SEPARATOR.join(["---"] * len(rows[0])) if is_header and len(rows[0]) > 1 else ""


def _around(element: Tag, names: set[str]) -> Tag | None:
    """The innermost of these elements around one; BeautifulSoup's own search takes much longer."""
    return next((one for one in element.parents if one.name in names), None)


def _is_last_of(element: Tag, name: str) -> bool:
    around = element.parent
    within = around.find_all(True, recursive=False) if around and around.name == name else []
    return len(within) > 1 and within[-1] is element


class Grid:
    """One table, read from top to bottom."""

    def __init__(self) -> None:
        self._row = list[tuple[str, int, int]]()  # texts of cells, and how many columns and rows they cover
        # column -> rows below that a cell still covers, its text
        self._reaching: dict[int, tuple[int, str]] = {}

    def take(self, text: str, columns: str, rows: str) -> str:
        """Take the next cell of the row; nothing is left in its place."""
        self._row.append((text.strip(), _span(columns), _span(rows)))
        return ""

    def end_row(self) -> str:
        """The row as a line, with what reaches into it from above; its cells one after the other if layout."""
        cells, self._row = self._row, []
        if not cells:
            return ""
        texts = [text for text, *_ in cells]
        if any(text[:1] == "#" or "\n#" in text or text.count("\n") >= LINES for text in texts):
            self._reaching.clear()
            return "\n\n".join(texts)
        shown = {column: text for column, (_, text) in self._reaching.items()}
        reaching = {column: (rows - 1, text) for column, (rows, text) in self._reaching.items() if rows > 1}
        column = 0
        for text, width, height in cells:
            while column in shown:
                column += 1
            lines = text.splitlines() if SEPARATOR in text else [text]  # rows, of a table in it
            shown[column] = "\n".join(" ".join(line.split()) for line in lines)
            if height > 1:
                reaching[column] = height - 1, shown[column]
            column += width
        self._reaching = reaching
        return SEPARATOR.join(shown[at] for at in sorted(shown)).strip(SEPARATOR)


def _span(number: str) -> int:
    """How far a cell reaches; 0 and what is no number mean 1 here, and 1,000 is the most that browsers take."""
    return min(max(int(number), 1), 1_000) if number.isdecimal() and len(number) < 6 else 1
