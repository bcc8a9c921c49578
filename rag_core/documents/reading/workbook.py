"""The sheets of an Excel workbook as tables, with reports of what is in them and not read.

openpyxl reads the cells row by row in half the time of its full model, but then knows no merged or hidden ones:
these are read from the sheet's own XML (ECMA-376 part 1, 18.3).
"""

import io
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, fromstring, iterparse

from ...values.letters import raised
from ...values.message import Message
from ..documents import Document
from ..hidden import LONGEST
from ..limits import LimitExceeded
from .tables import Row, row_documents, with_reports
from .word_styles import ON, tag

_LAST_ROW = 1_048_576  # of any sheet
_CODE = re.compile(r"&(?:[LCRPNDTFAGZBIUESXYOH]|K[\dA-F]{6}|\"[^\"]*\"|\d+)")  # in a header or footer


class Area(NamedTuple):
    """A merged cell: its first and last column and row, from 1."""

    left: int
    top: int
    right: int
    bottom: int


@dataclass(slots=True)
class _Aside:
    """What openpyxl does not tell of a sheet while it reads it row by row."""

    merged: list[Area] = field(default_factory=list)
    rows: set[int] = field(default_factory=set)  # hidden
    columns: list[tuple[int, int]] = field(default_factory=list)  # hidden, first and last
    # texts in cells with runs struck or raised
    rich: dict[tuple[int, int], Any] = field(default_factory=dict)
    # row, 0 for the sheet -> texts
    reports: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))

    def hides(self, column: int) -> bool:
        return any(first <= column <= last for first, last in self.columns)


def workbook_documents(content: io.BytesIO, stem: str, name: str) -> Iterator[Document]:
    """The rows of every sheet as documents, as for `row_documents`; hidden sheets are reported."""
    from openpyxl import load_workbook

    book = load_workbook(content, read_only=True, data_only=True, rich_text=True)
    try:
        with zipfile.ZipFile(content) as archive:
            yield from with_reports(_pieces(book, archive, stem, name), name)
    finally:
        book.close()


def _pieces(book: Any, archive: zipfile.ZipFile, stem: str, name: str) -> Iterator[Document | str]:
    yield from (f"chart sheet: {sheet.title}" for sheet in book.chartsheets)
    for sheet in book.worksheets:
        rows = _rows(sheet, _aside(archive, sheet._worksheet_path))
        if sheet.sheet_state == "visible":
            one = len(book.worksheets) == 1
            yield from row_documents(rows, stem, name if one else f"{name}#{sheet.title}")
        elif said := _beginning(cell for row in rows for cell in row.cells):
            yield f"hidden sheet {sheet.title}: {said}"


def _beginning(texts: Iterable[str]) -> str:
    return ", ".join(islice(filter(None, texts), LONGEST))  # which is shortened where it is reported


def _rows(sheet: Any, aside: _Aside) -> Iterator[Row]:
    from openpyxl.utils import get_column_letter

    sheet.reset_dimensions()  # some programs write one that leaves out cells
    merged = _Merged(aside.merged)
    unseen: dict[int, list[str]] = defaultdict(list)
    for number, cells in enumerate(sheet.rows, start=1):
        if number > _LAST_ROW:
            raise LimitExceeded(Message("it has more than {most:,} rows or sections", most=_LAST_ROW))
        row = Row([], reports=[*aside.reports.pop(0, ()), *aside.reports.pop(number, ())])
        for column, cell in enumerate(cells, start=1):
            text = "" if cell.value is None else _text(cell, aside.rich.get((number, column)), row.reports)
            if text and aside.hides(column):
                unseen[column].append(text)
                text = ""
            row.cells.append(text)
        row.covered, row.grouped = merged.covered(number, row.cells)
        for column in [at for at in row.covered if aside.hides(at + 1)]:
            del row.covered[column]
        row.hidden = number in aside.rows
        yield row
    reports = [f"hidden column {get_column_letter(at)}: {_beginning(texts)}" for at, texts in unseen.items()]
    reports += [report for texts in aside.reports.values() for report in texts]
    yield Row([], reports=reports)


class _Merged:
    """Merged cells, from the top of a sheet to its end."""

    def __init__(self, areas: list[Area]) -> None:
        self._waiting = sorted(areas, key=lambda area: -area.top)
        self._open: list[tuple[Area, str]] = []

    def covered(self, number: int, cells: list[str]) -> tuple[dict[int, str], bool]:
        """What merged cells show in a row's empty cells, by column from 0, once a row; whether one of them is wide."""
        self._open = [(area, text) for area, text in self._open if area.bottom >= number]
        wide = False
        while self._waiting and self._waiting[-1].top <= number:
            area = self._waiting.pop()
            text = cells[area.left - 1] if area.left <= len(cells) else ""
            if text and area.top == number:
                self._open.append((area, text))
                wide |= area.right > area.left
        shown_in: dict[int, str] = {}
        for area, text in self._open:
            if not any(cells[area.left - 1 : area.right]):
                shown_in[area.left - 1] = text
        return shown_in, wide


def _text(cell: Any, rich: Any, reports: list[str]) -> str:
    """What a cell shows; what is struck through, an error or hidden in it is reported instead."""
    from openpyxl.utils.escape import unescape

    value: Any = cell.value if rich is None else rich
    if not cell.has_style and isinstance(value, str) and cell.data_type != "e":  # most cells
        return str(unescape(value)).strip()
    if cell.data_type == "e":
        reports.append(f"{cell.coordinate}: {value}")
        return ""
    number_format = cell.number_format if cell.has_style else ""
    struck_cell = cell.has_style and bool(cell.font.strike)
    parts: Any = value if isinstance(value, list | tuple) else [value]
    kept = struck = ""
    for part in parts:
        font: Any = getattr(part, "font", None)
        text: Any = getattr(part, "text", part)
        if font is not None and font.vertAlign == "superscript":
            text = raised(text, kept)
        if font.strike if font is not None else struck_cell:
            struck += shown(text, number_format)
        else:
            kept += text if len(parts) > 1 else shown(text, number_format)
    kept, struck = (str(unescape(text)).strip() for text in (kept, struck))
    if struck:
        reports.append(f"{cell.coordinate}: struck through: {struck}")
    elif not kept and str(value).strip():
        reports.append(f"{cell.coordinate}: hidden by its format: {shown(value)}")
    return kept


def _aside(archive: zipfile.ZipFile, path: str) -> _Aside:
    from openpyxl.utils import range_boundaries

    aside = _Aside()
    at = 0
    with archive.open(path) as sheet:
        for _, element in iterparse(sheet):
            match tag(element):
                case "row":
                    at = int(float(element.get("r", at + 1)))
                    _read_row(element, at, aside)
                    element.clear()
                case "col" if element.get("hidden") in ON or _is_zero(element.get("width")):
                    aside.columns.append((int(element.get("min", 0)), int(element.get("max", 0))))
                case "mergeCell":
                    aside.merged.append(Area(*range_boundaries(element.get("ref", ""))))
                case "oddHeader" | "oddFooter" | "evenHeader" | "evenFooter" | "firstHeader" | "firstFooter":
                    said = " ".join(_CODE.sub(" ", element.text or "").split())
                    aside.reports[0] += [f"header or footer: {said}"] * bool(said)
                case "dataValidation" if element.get("prompt"):
                    aside.reports[0].append(f"{element.get('sqref')}: prompt: {element.get('prompt')}")
    _read_parts(archive, path, aside)
    return aside


def _read_row(row: Element, number: int, aside: _Aside) -> None:
    from openpyxl.utils import get_column_letter
    from openpyxl.utils.cell import coordinate_to_tuple

    if row.get("hidden") in ON or _is_zero(row.get("ht")):
        aside.rows.add(number)
    column = 0
    for cell in row:
        place = cell.get("r")
        column = coordinate_to_tuple(place)[1] if place else column + 1
        inner = {tag(child): child for child in cell}
        if "f" in inner and cell.get("t") != "str" and not ("v" in inner and inner["v"].text):
            formula = inner["f"].text or ""
            place = f"{get_column_letter(column)}{number}"
            aside.reports[number].append(f"{place}: formula without a value: ={formula}")
        if "is" in inner and len(inner["is"]) > 1:
            from openpyxl.cell.rich_text import CellRichText

            aside.rich[number, column] = CellRichText.from_tree(inner["is"])


def _read_parts(archive: zipfile.ZipFile, path: str, aside: _Aside) -> None:
    from openpyxl.packaging.relationship import get_dependents, get_rels_path

    names = set(archive.namelist())
    relations = get_rels_path(path)
    parts = {part.target for part in get_dependents(archive, relations)} if relations in names else set()
    trees = {part: fromstring(archive.read(part)) for part in sorted(parts & names) if part.endswith(".xml")}
    threaded = any(tag(tree) == "ThreadedComments" for tree in trees.values())
    for tree in trees.values():
        counts: Counter[str] = Counter()
        for element in tree.iter():
            kind = tag(element)
            if kind == "threadedComment" or (kind == "comment" and not threaded):
                place = element.get("ref", "")
                row = int(re.sub(r"\D", "", place) or 0)
                aside.reports[row].append(f"{place}: comment: {_said(element)}")
            elif kind == "txBody" and (said := _said(element)):
                aside.reports[0].append(f"text box: {said}")
            elif kind in ("pic", "graphicFrame"):
                counts["pictures" if kind == "pic" else "charts"] += 1
        aside.reports[0] += [f"{kind} ({count:,})" for kind, count in counts.items()]


def _said(element: Element) -> str:
    said = [one for one in element.iter() if tag(one) in ("t", "text", "p")]
    return " ".join("".join("\n" if tag(one) == "p" else one.text or "" for one in said).split())


def _is_zero(size: str | None) -> bool:
    return size is not None and float(size) == 0


# What a cell shows of its value: ECMA-376 part 1, 18.8.31 has the signs of number formats.
_TOKEN = re.compile(
    r"""(?P<fraction>(?:[#0?]+\s+)?[#0?]+/[#0?\d]+)
    | (?P<number>\.?[#0?][#0?,.]*(?:[eE][+-]?[#0?]+)?)
    | "(?P<quoted>[^"]*)" | \\(?P<escaped>.) | _(?P<space>.) | \*(?P<filler>.)
    | \[\$(?P<currency>[^\]-]*)[^\]]*\] | \[(?P<colour>[^\]]*)\]
    | (?P<general>General) | (?P<sign>.)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_SECTION = re.compile(r'(?:"[^"]*"|\\.|\[[^\]]*\]|[^;])*')
_NOT_OF_DATES = re.compile(r'"[^"]*"|\\.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE)
_SAID = {"space": " ", "filler": "", "colour": ""}
_CONDITION = re.compile(r"\[[<>=]")

Tokens = tuple[tuple[str, str], ...]


def shown(value: Any, number_format: str = "General") -> str:
    """A value as its cell shows it, but dates as ISO has them; empty if its format shows nothing.

    Example:
        >>> shown(0.2, "0%"), shown(2.5, '0.0 "mg"'), shown(datetime(2025, 3, 7), "dd/mm/yyyy")
        ('20%', '2.5 mg', '2025-03-07')
    """
    match value:
        case bool():
            return str(value).upper()
        case int() | float():
            return _number(value, number_format)
        case datetime() | date() | time():
            return _date(value, number_format)
        case timedelta():
            minutes, seconds = divmod(round(value.total_seconds()), 60)
            return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds else "")
    return _as_text(str(value), number_format)


def _number(value: float, number_format: str) -> str:
    if number_format in ("", "General") or _CONDITION.search(number_format):
        return _general(value)
    sections = _sections(number_format)
    at = 2 if value == 0 and len(sections) > 2 else int(value < 0 and len(sections) > 1)
    tokens, sign = sections[at], "-" if value < 0 and at == 0 else ""
    if sum(kind in ("number", "fraction") for kind, _ in tokens) > 1:  # such as that of a telephone
        return _general(value)
    try:
        size = abs(Decimal(str(value))).scaleb(2 * tokens.count(("sign", "%")))
        said = [_WAYS[kind](size, text) if kind in _WAYS else text for kind, text in tokens]
    except (ArithmeticError, ValueError):  # an odd format, or more digits than anyone writes
        return _general(value)
    text = " ".join("".join(said).split())
    return f"{sign}{text}" if re.search(r"[1-9]", text) else text


def _general(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    size = abs(value)
    if not 1e-9 <= size < 1e15:
        return f"{value:.10g}"
    return f"{Decimal(f'{value:.{10 if size < 1e9 else 15}g}'):f}"


def _figures(size: Decimal, pattern: str) -> str:
    from babel.numbers import format_decimal

    if not size and "0" not in pattern:
        return ""
    thousands = len(pattern) - len(pattern.rstrip(","))
    with localcontext(Context(rounding=ROUND_HALF_UP, prec=40)):
        plain = pattern.rstrip(",").replace("?", "#").upper()
        return format_decimal(size.scaleb(-3 * thousands), plain, locale="en")


def _fraction(size: Decimal, pattern: str) -> str:
    """A fraction as `# ?/?` shows it; the signs below the bar say how large the lower number may be."""
    lower = pattern.rpartition("/")[2]
    exact = Fraction(size)
    near = exact.limit_denominator(10 ** len(lower) - 1)
    if lower.isdigit() and int(lower):
        near = Fraction(round(exact * int(lower)), int(lower))
    whole, rest = divmod(near, 1) if re.search(r"\s", pattern) else (0, near)
    return " ".join([str(whole)] * bool(whole or not rest) + [str(rest)] * bool(rest))


_WAYS: dict[str, Callable[[Decimal, str], str]] = {
    "number": _figures, "fraction": _fraction, "general": lambda size, _: _general(float(size))
}  # fmt: skip


def _date(value: date | time, number_format: str) -> str:
    signs = _NOT_OF_DATES.sub("", number_format.partition(";")[0]).lower()
    if isinstance(value, time):
        return value.isoformat("seconds" if value.second else "minutes")
    if not isinstance(value, datetime):
        return value.isoformat()
    value = (value + timedelta(milliseconds=500)).replace(microsecond=0)
    clock = value.time().isoformat("seconds" if value.second else "minutes")
    if "h" in signs and not set("dy") & set(signs):
        return clock
    if "h" not in signs or value.time() == time():  # many programs give every date a clock
        clock = ""
    day = value.date().isoformat()
    if "d" not in signs and "y" in signs:
        day = day[:7] if "m" in signs else day[:4]
    return f"{day} {clock}".strip()


def _as_text(value: str, number_format: str) -> str:
    sections = _sections(number_format)
    tokens = sections[3] if len(sections) > 3 else sections[-1]
    if ("sign", "@") not in tokens:
        return "" if len(sections) > 3 and not tokens else value
    return "".join(value if (kind, text) == ("sign", "@") else text for kind, text in tokens).strip()


@lru_cache(maxsize=1000)
def _sections(number_format: str) -> tuple[Tokens, ...]:
    """The parts of a format: for numbers above, below and of zero, and for text."""
    return tuple(
        _tokens(found[0])
        for found in _SECTION.finditer(number_format)
        if f";{number_format}"[found.start()] == ";"  # not the empty match that follows each section
    )


def _tokens(section: str) -> Tokens:
    found = ((one.lastgroup or "sign", one) for one in _TOKEN.finditer(section))
    return tuple((kind, _SAID.get(kind, one[kind])) for kind, one in found)
