"""Text that fits the terminal."""

from __future__ import annotations

import re
import shutil
import sys
from typing import Any

import typer
from rich.cells import cell_len, chop_cells

NARROWEST = 80  # columns used at least, and where there is no terminal


def width() -> int:
    """Columns to use: COLUMNS, otherwise the terminal's, but at least NARROWEST."""
    return max(shutil.get_terminal_size((NARROWEST, 24)).columns, NARROWEST)


def say(text: str = "", *, hang: int = 2, err: bool = False, **style: Any) -> None:
    """Print lines, wrapped to the terminal's width.

    Args:
        hang: extra indent of continuation lines, in columns.
        style: of `typer.style`, such as `bold=True`.
    """
    for line in text.expandtabs(4).split("\n"):
        for part in wrapped(line, width(), hang):
            typer.secho(part, err=err, **style)


def paragraph(text: str) -> None:
    """Print a text, indented by two columns."""
    for line in text.split("\n"):
        say(f"  {line}", hang=0)


def complain(text: str) -> None:
    """Print one line on stderr; wrapped on a terminal, but a single line for scripts."""
    if sys.stderr.isatty():
        say(text, err=True)
    else:
        typer.echo(text, err=True)


def wrapped(line: str, columns: int, hang: int = 0) -> list[str]:
    """Wrap a line between words, in columns as a terminal counts them; words that are too long are split.

    Runs of spaces are kept, so that table columns stay aligned.
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
        *full, last = chop_cells(piece.lstrip(" "), columns - len(lead))
        parts += [lead + word for word in full]
        current = lead + last
    return [*parts, current]
