"""A table's header and columns: a guess, from how many cells rows fill and how the first differ from others."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

LOOK = 50  # rows at the beginning of a table that are searched for its header
_YEAR = re.compile(r"(?:19|20)\d\d")
_VALUE = re.compile(
    r"(?P<date>\d{4}-\d\d-\d\d.*|\d{1,2}([./])\d{1,2}\2\d{2,4})|(?P<clock>\d{1,2}[:.]\d\d.*)|(?P<figure>\d[\d.,]*|.*\d.*[^\W\d_].*)"
    r"|(?P<contact>[+(\d][\d() /-]{5,}\d|\S+@\S+|\w+://\S+)",
    re.DOTALL,
)
_SENTENCE = re.compile(r".*\S\s.*[.!]", re.DOTALL)

Cells = Sequence[str]


class Header(NamedTuple):
    """The rows above a table's header, its columns' names, all different, or none, and the first row below."""

    above: int
    names: list[str]
    below: int


def find_header(rows: Sequence[Cells], *, grouped: bool = False) -> Header:
    """The header of the table that begins with these rows; `grouped` if a cell in it spans several columns."""
    start = _start(rows)
    first, *rest = rows[start:] or [[]]
    below = [row for row in rest if any(row)]
    if not any(first) or (not below and _filled(first) == 1):
        return Header(start, [], start)
    numbers = [str(number) for number in range(1, len(below) + 1)]
    if len(below) > 1 and [row[0] for row in below if len(row) == len(first) + 1] == numbers:
        first = ["", *first]  # as R writes a table: the numbers of its rows have no name
    if len(below) > 1 and below[0] is rest[0] and _has_second_level(first, below, grouped=grouped):
        return Header(start, _numbered(_joined(first, below[0])), start + 2)
    if _is_data(first, below):
        return Header(start, [], start)
    return Header(start, _numbered(first), start + 1)


def find_next(names: Cells, known: Sequence[Cells], block: Sequence[Cells]) -> Header | None:
    """The header of rows (`block`, to the next blank one) below a blank one, or that begin with their column's name.

    None if they go on as `known` above, whose columns have these names; without names if they may.
    """
    above = next((place for place, row in enumerate(block) if _filled(row) > 1), len(block))
    first, *below = block[above:] or [[]]
    named = {name.lower() for name in names} & {cell.lower() for cell in first if cell}
    if named and below and not any(map(_kind, first)):
        return Header(above, _numbered(first), above + 1)
    figured, own = _figured(known), _figured(below)
    values = {(place, cell) for row in known for place, cell in enumerate(row) if cell}
    goes_on = any(_kind(_at(first, place)) for place in figured) or values & {*enumerate(first)}
    # one row is no table; or figures stand where they stood, or a value that stood there
    if not below or goes_on:
        return None
    contrast = own and not any(_kind(_at(first, place)) for place in own)
    if (contrast and (above or own - figured)) or len(first) > len(names):
        found = find_header([first, *below])
        return found._replace(above=above, below=above + found.below) if names or found.names else None
    return Header(above, [], above) if names else None


def find_gap(rows: Sequence[Cells]) -> int:
    """The empty column between two tables side by side, from 0; 0 if they may be one table."""
    for gap in range(2, max(map(len, rows), default=0) - 2):
        sides = [(row[:gap], row[gap + 1 :]) for row in rows if any(row)]
        widths = [max(map(_filled, side)) for side in zip(*sides, strict=True)]
        if any(_at(row, gap) for row in rows) or min(widths) < 2:
            continue
        filled = [(any(left), any(right)) for left, right in sides]
        first = filled.index((True, True)) if (True, True) in filled else len(filled)
        last = next((place for place in range(first, len(filled)) if not all(filled[place])), len(filled))
        shared = first < last and {*filter(None, sides[first][0])} & {*filter(None, sides[first][1])}
        titled = last - first > 1 and all(side[0] and _filled(side) == 1 for side in sides[first])
        titled = titled and all(_filled(side) > 1 for side in sides[first + 1])
        if shared or titled or (last - first > 1 and len(set(filled[last:])) == 1):
            return gap
    return 0


def find_card(rows: Sequence[Cells]) -> list[str]:
    """The lines "name: value" of a table that has these in two columns; empty if it has another form."""
    places = sorted({place for row in rows for place, cell in enumerate(row) if cell})
    if len(places) != 2:
        return []
    pairs = [(_at(row, places[0]), _at(row, places[1])) for row in rows if any(row)]
    values = [value for _, value in pairs if value]
    colons = sum(name.endswith(":") for name, value in pairs if value)
    kinds = {found.lastgroup if (found := _VALUE.fullmatch(value)) else "" for value in values}
    if colons * 2 <= len(pairs) and len(kinds) < 3:
        return []
    return [f"{name.rstrip(': ')}: {value}" if name and value else name or value for name, value in pairs]


def _figured(rows: Sequence[Cells]) -> set[int]:
    counts: Counter[int] = Counter()
    for row in rows:
        counts.update({place: 1 if _kind(cell) else -1 for place, cell in enumerate(row) if cell})
    return {place for place, count in counts.items() if count > 0}


def _filled(row: Cells) -> int:
    return sum(map(bool, row))


def _start(rows: Sequence[Cells]) -> int:
    """The first row below titles and remarks: rows with one filled cell, or a narrower block above a blank line."""
    widths = [_filled(row) for row in rows]
    widest = max(widths, default=0)
    start = next((place for place, width in enumerate(widths) if width > (widest > 1)), 0)
    blank = next((place for place in range(start, len(rows)) if not widths[place]), 0)
    after = next((place for place in range(blank, len(rows)) if widths[place] > 1), 0) if blank else 0
    block = widths[start:blank]
    is_table = len(block) > 1 and min(block) > 2  # names and values, as of a date, are two
    return after if after and max(block, default=0) < widths[after] and not is_table else start


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
