"""Text that fits the terminal."""

from __future__ import annotations

import re
import shutil
import sys
from typing import Any

import typer
from rich.cells import cell_len, chop_cells

NARROWEST = 80  # columns that are filled on any terminal, and where there is none


def width() -> int:
    """Columns to fill: COLUMNS, else the terminal's, and at least NARROWEST."""
    return max(shutil.get_terminal_size((NARROWEST, 24)).columns, NARROWEST)


def say(text: str = "", *, hang: int = 2, err: bool = False, **style: Any) -> None:
    """Print lines, each wrapped at the terminal's width.

    Args:
        hang: columns that the continuation of a line stands further in than its beginning.
        style: of `typer.style`, such as `bold=True`.
    """
    for line in text.expandtabs(4).split("\n"):
        for part in wrapped(line, width(), hang):
            typer.secho(part, err=err, **style)


def paragraph(text: str) -> None:
    """Print a text, two columns in."""
    for line in text.split("\n"):
        say(f"  {line}", hang=0)


def complain(text: str) -> None:
    """Print one line on stderr; on a terminal it is wrapped, elsewhere it stays one line for scripts."""
    if sys.stderr.isatty():
        say(text, err=True)
    else:
        typer.echo(text, err=True)


def wrapped(line: str, columns: int, hang: int = 0) -> list[str]:
    """A line cut between words, in columns as a terminal counts them; too long a word is cut inside.

    Runs of spaces inside a line are kept, so that columns of a table stay where they are.
    """
    indent = " " * (len(line) - len(line.lstrip(" ")))
    parts, current = [], ""
    for piece in re.findall(r" *[^ ]+", line):
        if cell_len(current + piece) <= columns:
            current += piece
            continue
        if current.strip():
            parts.append(current)
        lead = indent + " " * hang if parts else indent
        *whole, last = chop_cells(piece.lstrip(" "), columns - len(lead))
        parts += [lead + word for word in whole]
        current = lead + last
    return [*parts, current]
