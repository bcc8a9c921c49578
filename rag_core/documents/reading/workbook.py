"""The sheets of an Excel workbook as tables, with reports of what is in them and not read.

openpyxl reads the cells one row at a time, which takes half the time that all of its model does, and knows no merged or
hidden ones then: these are read from the sheet's own XML (ECMA-376 part 1, 18.3).
"""

import io
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, fromstring, iterparse

from ...values.letters import raised
from ...values.message import Message
from ..documents import Document
from ..hidden import LONGEST
from ..limits import LimitExceeded
from .cell_formats import shown
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
        """What merged cells show in the empty cells of a row, by column from 0; and whether one of it is wide.

        A value is repeated for each row that it covers, not for each column.
        """
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
