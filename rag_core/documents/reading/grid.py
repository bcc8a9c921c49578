"""The rows of tables in pages and Word files, one line each."""

from __future__ import annotations

from typing import NamedTuple

LINES = 4  # of a cell; one with more, or with a heading, is a part of the page's layout
SEPARATOR = " | "


class Cell(NamedTuple):
    """A cell: its text, and how many columns and rows it covers."""

    text: str
    columns: int
    rows: int


class Grid:
    """One table, read from top to bottom."""

    def __init__(self) -> None:
        self._row: list[Cell] = []
        self._reaching: dict[
            int, tuple[int, str]
        ] = {}  # column -> rows below that a cell still covers, its text

    def take(self, text: str, columns: str, rows: str) -> str:
        """Take the next cell of the row; nothing is left in its place."""
        self._row.append(Cell(text.strip(), _span(columns), _span(rows)))
        return ""

    def end_row(self) -> str:
        """The row as a line, with what reaches into it from above; or its cells one after the other, where they are layout.

        A row without cells is empty.
        """
        cells, self._row = self._row, []
        if not cells:
            return ""
        if any("#" in one.text[:1] or "\n#" in one.text or one.text.count("\n") >= LINES for one in cells):
            self._reaching.clear()
            return "\n\n".join(one.text for one in cells)
        shown: dict[int, str] = {}
        reaching: dict[int, tuple[int, str]] = {}
        for column, (rows, text) in self._reaching.items():
            shown[column] = text
            if rows > 1:
                reaching[column] = rows - 1, text
        column = 0
        for one in cells:
            while column in shown:
                column += 1
            lines = one.text.splitlines() if SEPARATOR in one.text else [one.text]  # rows, of a table in it
            shown[column] = "\n".join(" ".join(line.split()) for line in lines)
            if one.rows > 1:
                reaching[column] = one.rows - 1, shown[column]
            column += one.columns
        self._reaching = reaching
        return SEPARATOR.join(shown[at] for at in sorted(shown)).strip(SEPARATOR)


def _span(number: str) -> int:
    """How far a cell reaches; 0 and what is no number mean 1 here, and 1,000 is the most that browsers take."""
    return min(max(int(number), 1), 1_000) if number.isdecimal() and len(number) < 6 else 1
