"""The rows of a table as documents, and those of a CSV file, whatever program wrote it."""

import csv
import io
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, islice, takewhile

from ...values.errors import DataError
from ..documents import Document, language_code
from ..hidden import reported
from ..limits import MAX_TITLE
from .headers import LOOK, Header, find_card, find_gap, find_header, find_next

_OURS = ("id", "title", "language", "text")  # columns that are fields of a document
_NO_ROWS = "no rows below the header"
_LONGEST_ABOVE = 200  # characters of a heading above a table that go into the titles of its rows


@dataclass(slots=True)
class Row:
    """A row of a table."""

    cells: list[str]
    covered: dict[int, str] = field(default_factory=dict)  # what merged cells show in other columns, from 0
    reports: list[str] = field(default_factory=list)  # what in the row is not read, and why
    hidden: bool = False
    grouped: bool = False  # whether a cell of it spans several columns
    line: int = 0  # of a text file, from 1; 0 for a row of a sheet


def row_documents(rows: Iterable[Row], stem: str, name: str) -> Iterator[Document | str]:
    """The documents of a table, whose ids begin with `name`, titled by what is above it or `stem`; and reports."""
    ahead = _Ahead(rows)
    seen = [row for row in ahead.rows if not row.hidden]
    several = next((row for row in seen if sum(map(bool, row.cells)) > 1), None)
    cells = [row.cells for row in seen]
    if len(seen) == len(ahead.rows) < LOOK and (card := find_card(cells)):
        yield from (report for row in seen for report in row.reports)
        yield Document(f"{name}#1", stem, "", "\n".join(card))
        return
    if gap := find_gap(cells):
        yield f"two tables side by side: column {gap + 1} is empty"
        whole = [*ahead.rows, *ahead.below]
        yield from row_documents((_side(row, 0, gap) for row in whole), stem, name)
        right = (_side(row, gap + 1, len(row.cells)) for row in whole)
        yield from row_documents(right, stem, f"{name}#column {gap + 2}")
        return
    header: Header | None = find_header(cells, grouped=several is not None and several.grouped)
    taken, number, title, names = set[str](), 0, "", list[str]()
    while header is not None:
        seen = [row for row in ahead.rows if not row.hidden]
        above = [_line(row.cells) for row in seen[: header.above] if any(row.cells)]
        top = seen[: header.below]
        widths = Counter(len(row.cells) for row in seen if any(row.cells))
        usual = len(header.names) or max(widths, key=widths.__getitem__, default=0)
        yield from (report for row in top for report in row.reports)
        if names and not header.names:
            yield f"a table that may or may not go on below a blank row: {_line(seen[header.above].cells)}"
        ahead.drop(top)
        title = "; ".join(above) or (title if header.names == names else "")
        names, before = header.names, number
        if len(title) > _LONGEST_ABOVE or (above and "title" in map(str.lower, names)):
            yield Document(f"{name}#{_distinct('above', taken)}", stem, "", "\n".join(above))
            title = ""
        header, blank, apart, known = None, False, False, list[Sequence[str]]()
        while ahead.rows:
            row = ahead.rows[0]
            empty = not any(row.cells) and not row.covered
            if not row.hidden and not empty and (blank or _is_named(row, names)):
                header = find_next(names, known, ahead.block())
            if header:
                break
            ahead.take()
            apart = (blank or apart) and sum(map(bool, row.cells)) == 1 < usual  # a remark below the table
            blank = empty
            if empty:
                yield from row.reports
                continue
            number += 1
            if row.hidden:
                yield f"hidden row: {_line(row.cells)}"
                continue
            known += [row.cells] if len(known) < LOOK else []
            own = [] if apart else names
            if row.line and (_width(row) > usual or len(row.cells) < (_width(top[-1]) if names else usual)):
                own = [] if row.reports else own  # a malformed line may be cut anywhere
                row.reports.append(f"line {row.line}: {len(row.cells)} cells, not {usual}")
            document = _document(row, own, f"{title or stem}, row {number}")
            key = _distinct(document.id or str(number), taken)
            yield replace(document, id=f"{name}#{key}", hidden=reported(row.reports))
        if number == before and above:
            yield Document(f"{name}#{_distinct('above', taken)}", stem, "", "\n".join([*above, _line(names)]))
        elif number == before and names:
            yield f"{_NO_ROWS}: {_line(names)}"


class _Ahead:
    """The next LOOK rows of a table, and those below."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.below = iter(rows)
        self.rows = deque(islice(self.below, LOOK))

    def drop(self, taken: Sequence[Row]) -> None:
        self.rows = deque(row for row in self.rows if not any(row is one for one in taken))
        self.rows.extend(islice(self.below, LOOK - len(self.rows)))

    def take(self) -> None:
        self.rows.popleft()
        self.rows.extend(islice(self.below, 1))

    def block(self) -> list[Sequence[str]]:
        return [row.cells for row in takewhile(lambda row: any(row.cells), self.rows) if not row.hidden]


def _side(row: Row, start: int, end: int) -> Row:
    """The part of a row that belongs to one of two adjacent tables; the left one keeps the row's reports."""
    covered = {at - start: text for at, text in row.covered.items() if start <= at < end}
    reports = [] if start else row.reports
    return Row(row.cells[start:end], covered, reports, row.hidden, row.grouped)


def _is_named(row: Row, names: Sequence[str]) -> bool:
    """Whether a row begins with the name of its column, as a header does that is repeated."""
    first = next((at for at, cell in enumerate(row.cells) if cell), len(names))
    return first < len(names) and row.cells[first].lower() == names[first].lower()


def with_reports(pieces: Iterable[Document | str], name: str) -> Iterator[Document]:
    """The documents, each with the reports before it; the last also with those after it."""
    pending, waiting = None, list[str]()
    try:
        for piece in pieces:
            if isinstance(piece, str):
                waiting.append(piece)
                continue
            if pending:
                yield pending
            pending = replace(piece, hidden=reported((*waiting, *piece.hidden)))
            waiting = []
    except DataError:  # in one row; the rows above it are good
        if pending:
            yield pending
        raise
    if pending:
        yield replace(pending, hidden=reported((*pending.hidden, *waiting)))
    elif not all(report.startswith(_NO_ROWS) for report in waiting):
        yield Document(name, "", "", "", hidden=reported(waiting))


def _document(row: Row, names: Sequence[str], title: str) -> Document:
    # a line across the whole table belongs to no column
    across = row.grouped and not row.covered and sum(map(bool, row.cells)) == 1
    cells = sorted((dict(enumerate(row.cells)) | row.covered).items())
    filled = [(names[at] if at < len(names) else f"column {at + 1}", cell) for at, cell in cells if cell]
    own = {name.lower(): cell for name, cell in filled if name.lower() in _OURS}
    if len(own.get("title", "")) > MAX_TITLE:
        del own["title"]
    if not language_code(own.get("language")):
        own.pop("language", None)
    rest = [(name, cell) for name, cell in filled if "text" not in own or name.lower() not in own]
    lines = [f"{name}: {cell}" if names and not across else cell for name, cell in rest]
    text = "\n\n".join(filter(None, [own.get("text"), "\n".join(lines)]))
    return Document(own.get("id", ""), own.get("title") or title, own.get("language", ""), text)


def _width(row: Row) -> int:
    return max((at for at, cell in enumerate(row.cells, start=1) if cell), default=0)


def _distinct(key: str, taken: set[str]) -> str:
    every = chain([key], (f"{key} ({number})" for number in count(2)))
    own = next(name for name in every if name not in taken)
    taken.add(own)
    return own


def _line(cells: Iterable[str]) -> str:
    return ", ".join(filter(None, cells))


_SEP = re.compile(r'"?sep=(.)"?\n', re.IGNORECASE)
_SAMPLE = 1_000_000  # characters in which delimiter and escapes are looked for
_NULL = "\\N"  # what MySQL and PostgreSQL write for no value


def csv_rows(table: str) -> Iterator[Row]:
    """The rows of a table, whose quotation marks are doubled or escaped; raises csv.Error for a line that is too long."""
    named = _SEP.match(table)
    table = table[named.end() :] if named else table
    sample = table[:_SAMPLE]
    delimiter = named[1] if named else _delimiter(sample)
    escaped = "\\" in sample and _misfits(sample, delimiter, True) < _misfits(sample, delimiter, False)
    first = 2 if named else 1
    for number, cells, faults in _records(table, delimiter, escaped):
        stripped = [cell.strip() for cell in cells]
        reports = [f"line {number + first}: {fault}" for fault in faults]
        yield Row(["" if cell == _NULL else cell for cell in stripped], reports=reports, line=number + first)


def _records(table: str, delimiter: str, escaped: bool) -> Iterator[tuple[int, list[str], list[str]]]:
    """(line from 0, cells, faults); after a malformed record the next line is another."""
    if escaped:  # a backslash before any other sign is itself
        escaped_sign = rf"\\([^\\\"\n{re.escape(delimiter)}])|\\."
        table = re.sub(escaped_sign, lambda found: f"\\{found[0]}" if found[1] else found[0], table)
    lines = list(io.StringIO(table))
    escape = "\\" if escaped else None
    begin = 0
    while begin < len(lines):
        base, rest = begin, map(lines.__getitem__, range(begin, len(lines)))
        reader = csv.reader(rest, delimiter=delimiter, escapechar=escape, skipinitialspace=True, strict=True)
        try:
            for cells in reader:
                yield begin, cells, []
                begin = base + reader.line_num
        except csv.Error:
            if len(lines[begin]) > csv.field_size_limit():
                raise
            yield begin, _cells(lines[begin], delimiter), ["a quotation mark inside a cell, or left open"]
            begin += 1


def _cells(line: str, delimiter: str) -> list[str]:
    """The cells of a malformed line: a quotation mark that no delimiter follows closes none."""
    sign = re.escape(delimiter)
    cells = re.finditer(rf'{sign} *(?:"(.*?)" *(?={sign}|$)|([^{sign}]*))', delimiter + line.rstrip("\n"))
    return [cell[2] if cell[1] is None else cell[1].replace('""', '"') for cell in cells]


def _misfits(sample: str, delimiter: str, escaped: bool) -> int:
    """How many rows are malformed, or of another width than most."""
    found = _records(sample, delimiter, escaped)
    records = [(len(cells), len(faults)) for _, cells, faults in found if cells]
    widths = Counter(width for width, _ in records)
    return sum(faults for _, faults in records) + len(records) - max(widths.values(), default=0)


def _delimiter(sample: str) -> str:
    """The delimiter that splits most rows into the same number of columns; one that no table has if none does."""
    best, sign = (0, 0), "\x1f"
    # a single column, whose commas are text
    if sample.partition("\n")[0].strip().strip('"').lower() == "text":
        return sign
    for each in ",;\t|":
        widths = [len(cells) for _, cells, _ in islice(_records(sample, each, False), LOOK) if cells]
        below = widths[next((place for place, width in enumerate(widths) if width > 1), len(widths)) :]
        ((columns, times),) = Counter(width for width in below if width > 1).most_common(1) or [(0, 0)]
        if (times, columns) > best and sum(width > 1 for width in below) * 2 > len(below):
            best, sign = (times, columns), each
    return sign
