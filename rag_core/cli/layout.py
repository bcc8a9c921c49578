"""The one place that prints, all through `visible` or `as_json`: text that fits the terminal and cannot command it."""

import re
import shutil
import sys
from typing import Any

import typer
from rich.cells import cell_len, chop_cells

from ..values.message import NOTICE
from ..values.visible import as_json, visible

NARROWEST = 80  # columns used at least, and where there is no terminal
_INSIDE = re.compile(r"(?<=[^\n])\n+(?=[^\n])")  # line breaks inside a text


def width() -> int:
    """Columns to use: COLUMNS, otherwise the terminal's, but at least NARROWEST."""
    return max(shutil.get_terminal_size((NARROWEST, 24)).columns, NARROWEST)


def say(text: str = "", *, hang: int = 2, err: bool = False, **style: Any) -> None:
    """Print one line, wrapped to the terminal's width, with empty lines around it where `text` begins or ends so.

    A line break inside is a space: a foreign title or name cannot make a line that looks like ours. Continuation lines
    are indented by `hang` more columns; `style` is of `typer.style`.
    """
    for line in _INSIDE.sub(" ", visible(text)).expandtabs(4).split("\n"):
        for part in wrapped(line, width(), hang):
            typer.secho(part, err=err, **style)


def paragraph(text: str) -> None:
    """Print one line, indented by two columns."""
    say(f"  {text}", hang=0)


def several_lines(text: str) -> None:
    """Print a text with its line breaks; lines after the first are further in than any line of ours about it."""
    first, *others = visible(text).split("\n")
    paragraph(first)
    for line in others:
        say(f"      {line}", hang=0)


def complain(text: str) -> None:
    """Print one line on stderr; wrapped on a terminal, but a single line for scripts."""
    text = " ".join(text.split())
    if sys.stderr.isatty():
        say(text, err=True)
    else:
        typer.echo(visible(text), err=True)


def say_as_written(text: str) -> None:
    """Print a text for other programs: not wrapped."""
    typer.echo(visible(text))


def say_json(value: object) -> None:
    """Print JSON in valid Unicode, without characters that command a terminal; an object begins with our notice."""
    typer.echo(as_json({"notice": NOTICE, **value} if isinstance(value, dict) else value))


def progress(what: str, done: int, total: int) -> None:
    """A progress line that overwrites itself; on a terminal only."""
    if sys.stderr.isatty():
        count = f" {done}/{total}" if total > 1 else ""
        line = "" if what == "ready" else visible(" ".join(f"{what}{count}".split()))[: width() - 1]
        typer.echo(f"\r\x1b[K{line}", err=True, nl=False)


def agreed(question: str) -> bool:
    """Whether the user answers yes."""
    return typer.confirm(" ".join(visible(question).split()), err=True)


def typed(question: str) -> str:
    """What the user types."""
    return str(typer.prompt(" ".join(visible(question).split()), prompt_suffix=" ", err=True)).strip()


def questions(count: int) -> str:
    """A number of questions."""
    return f"{count:,} question{'' if count == 1 else 's'}"


def wrapped(line: str, columns: int, hang: int = 0) -> list[str]:
    """Wrap a line between words, by terminal columns, and split long words; runs of spaces keep columns aligned."""
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
