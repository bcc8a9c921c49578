"""Where a table's header is, and what its columns are called.

This is a guess, from how many cells the first rows fill and how they differ from the rows below.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

LOOK = 50  # rows at the beginning of a table that are searched for its header
_YEAR = re.compile(r"(?:19|20)\d\d")
_SENTENCE = re.compile(r".*\S\s.*[.!]", re.DOTALL)

Cells = Sequence[str]


class Header(NamedTuple):
    """The header of a table.

    Args:
        above: the number of rows above it.
        names: of the columns, all different; empty if the table has no header.
        below: the number of the first row below it.
    """

    above: int
    names: list[str]
    below: int


def find_header(rows: Sequence[Cells], *, grouped: bool = False) -> Header:
    """The header of the table that begins with these rows.

    Args:
        grouped: whether a cell of the first row with several filled cells spans several columns.
    """
    start = _start(rows)
    first, *rest = rows[start:] or [[]]
    below = [row for row in rest if any(row)]
    if not any(first) or (not below and _filled(first) == 1):
        return Header(start, [], start)
    if len(below) > 1 and below[0] is rest[0] and _has_second_level(first, below, grouped=grouped):
        return Header(start, _numbered(_joined(first, below[0])), start + 2)
    if _is_data(first, below):
        return Header(start, [], start)
    return Header(start, _numbered(first), start + 1)


def _filled(row: Cells) -> int:
    return sum(map(bool, row))


def _start(rows: Sequence[Cells]) -> int:
    """The first row below titles and remarks: rows with one filled cell, or a narrower block above a blank line."""
    widths = [_filled(row) for row in rows]
    widest = max(widths, default=0)
    start = next((place for place, width in enumerate(widths) if width > (widest > 1)), 0)
    blank = next((place for place in range(start, len(rows)) if not widths[place]), 0)
    after = next((place for place in range(blank, len(rows)) if widths[place] > 1), 0) if blank else 0
    return after if after and max(widths[start:blank], default=0) < widths[after] else start


def _has_second_level(first: Cells, below: Sequence[Cells], *, grouped: bool) -> bool:
    """Whether the second row belongs to the header: names below a name that spans several columns."""
    second, third = below[:2]
    named = [place for place, cell in enumerate(first) if cell]
    open_ = [place for place in range(len(second)) if second[place] and not _at(first, place)]
    if not named or not any(place > named[0] for place in open_) or any(map(_kind, second)):
        return False
    corner = not first[0] and bool(second[0])  # the name of the first column is on the second line
    # or that name spans both lines
    tall = bool(first[0]) and not second[0] and _filled(third) > _filled(second)
    return grouped or corner or tall


def _joined(first: Cells, second: Cells) -> list[str]:
    names, over = [], ""
    for place in range(max(len(first), len(second))):
        below = _at(second, place)
        over = _at(first, place) or (over if below else "")
        names.append(f"{over} {below}".strip())
    return names


def _numbered(names: Cells) -> list[str]:
    """The names, with a number for those that are empty or repeated."""
    plain = [name.strip() for name in names]
    taken: set[str] = set()
    given = {name.lower() for name in plain}
    made = []
    for place, name in enumerate(plain, start=1):
        own = base = name or f"column {place}"
        number = 1
        while own.lower() in taken or (own != name and own.lower() in given):
            number += 1
            own = f"{base} {number}"
        taken.add(own.lower())
        made.append(own)
    return made


def _is_data(first: Cells, below: Sequence[Cells]) -> bool:
    """Whether the first row is data: its cells look like those below them in some columns, and differ in none."""
    numbers = [int(cell) for cell in first if cell.isdecimal() and len(cell) < 9]
    # the header counts days or weeks
    if len(numbers) > 2 and numbers == [*range(numbers[0], numbers[0] + len(numbers))]:
        return False
    like = unlike = 0
    for place, cell in enumerate(first):
        kinds = Counter(_kind(row[place]) for row in below if _at(row, place))
        if cell and kinds:
            kind, count = kinds.most_common(1)[0]
            same = kinds[_kind(cell)] * 2 >= kinds.total()
            like += bool(_kind(cell)) and same
            unlike += not same and bool(kind or _kind(cell)) and count * 2 > kinds.total()
    return like > 0 and not unlike


def _kind(cell: str) -> str:
    """What a cell looks like: a year, a question, a sentence, or a figure ("3 mg" as "0 mg"); empty for a name."""
    if _YEAR.fullmatch(cell):
        return "year"
    if cell.endswith("?"):
        return "question"
    if _SENTENCE.fullmatch(cell):
        return "sentence"
    return re.sub(r"\d+(?:[.,:/-]\d+)*", "0", cell) if re.search(r"\d", cell) else ""


def _at(row: Cells, place: int) -> str:
    return row[place] if place < len(row) else ""
