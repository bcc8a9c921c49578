"""What became of every passage, as a table or as JSON."""

from __future__ import annotations

from typing import Any

from rich.cells import cell_len

from ..values.trace import Trace
from ..values.visible import visible
from .layout import say, width

MOST = 40  # rows; the line above them counts all, and `--json` has all
FATE = 46  # columns


def show_fates(trace: Trace) -> None:
    """One line for each passage: its fate, and its title; the used ones first, then those that came furthest."""
    from ..explain import fates, summary_of_fates

    found = fates(trace)
    say(f"  {'Found ' if found else ''}{summary_of_fates(found)}.")
    if limits := dict.fromkeys(
        f"{fate.control}={fate.limit:g}" for fate in found if fate.kind == "cut" and fate.limit
    ):
        say(f"  Limits, as `--set` takes them: {', '.join(limits)}.")
    for fate in found[:MOST]:
        text = f"  {fate.text:<{FATE}}  "
        say(f"{text}{_fitting(fate.passage.full_title, width() - len(text))}", hang=FATE)
    if len(found) > MOST:
        say(f"  and {len(found) - MOST:,} more; `--json` lists all.")
    say()


def _fitting(title: str, columns: int) -> str:
    """A title in this many columns, shortened in the middle: its end, the last heading, tells most."""
    title = " ".join(visible(title).split())
    if cell_len(title) <= columns:
        return title
    head = (columns - 1) // 3
    return f"{title[:head].rstrip()}…{title[len(title) - (columns - 1 - head) :].lstrip()}"


def fates_json(trace: Trace) -> dict[str, Any]:
    """See `explain.fates_json`; loaded late, since it takes long."""
    from ..explain import fates_json

    return fates_json(trace)
