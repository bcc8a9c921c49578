"""The rows of a CSV file, whatever program wrote it; those that are malformed are reported with their line."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from .headers import LOOK
from .tables import Row

_SEP = re.compile(r'"?sep=(.)"?\n', re.IGNORECASE)
_SAMPLE = 1_000_000  # characters in which delimiter and escapes are looked for
_NULL = "\\N"  # what MySQL and PostgreSQL write for no value


def csv_rows(table: str) -> Iterator[Row]:
    """The rows of a table; a quotation mark in a cell is doubled or escaped by a backslash, whichever fits better.

    Raises csv.Error if a malformed line is longer than a cell may be.
    """
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
        table = re.sub(
            rf"\\([^\\\"\n{re.escape(delimiter)}])|\\.", lambda b: f"\\{b[0]}" if b[1] else b[0], table
        )
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
