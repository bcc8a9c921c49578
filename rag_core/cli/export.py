"""`rag export`: a saved session as HTML, CSV or TREC runs."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from .layout import say_as_written
from .options import a_path

_UNUSUAL = re.compile(r"[^\w.@-]")  # in the name of a file


def export(
    file: Annotated[
        Path,
        typer.Argument(help="Saved output of `rag query --json` or `rag compare --json`.", parser=a_path),
    ],
    as_html: Annotated[bool, typer.Option("--html", help="A report that opens without a network.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Passages, one row each.")] = False,
    as_trec: Annotated[
        bool, typer.Option("--trec", help="TREC runs of the passages, one file per strategy.")
    ] = False,
    into: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the files.", show_default="that of FILE", parser=a_path),
    ] = None,
) -> None:
    """Write a saved session as an HTML report, a CSV of passages, or TREC runs."""
    from ..sessions import passages_csv, read_session, report, trec_runs
    from ..values.owner_only import write_atomically

    if not (as_html or as_csv or as_trec):
        raise typer.BadParameter("give --html, --csv or --trec")
    traces = read_session(file)
    written: dict[str, str] = {}
    if as_html:
        written[f"{file.stem}.html"] = report(traces, datetime.now(UTC))
    if as_csv:
        written[f"{file.stem}.csv"] = passages_csv(traces)
    if as_trec:
        runs = trec_runs(traces).items()
        written |= {f"{file.stem}.{_UNUSUAL.sub('_', name)}.trec": run for name, run in runs}
    folder = into or file.parent
    for name, text in written.items():
        write_atomically(folder / name, text)
        say_as_written(str(folder / name))
