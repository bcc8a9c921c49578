"""`rag history`, `rag forget` and `rag export`: what is kept of questions and documents, listed, deleted and exported."""

import re
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated

import typer

from ..values.errors import InputError, RagError
from .interrupt import at_a_prompt, interruptible
from .layout import agreed, paragraph, questions, say, say_as_written, say_json
from .options import AsJson, a_path

ALL = "all"
_UNUSUAL = re.compile(r"[^\w.@-]")  # in the name of a file
Day = Annotated[str | None, typer.Option(metavar="YYYY-MM-DD", show_default=False)]


def history(
    words: Annotated[str, typer.Option(help="Only questions with all these words.", show_default=False)] = "",
    strategy: Annotated[str, typer.Option(help="Only questions that this strategy answered.", show_default=False)] = "",
    since: Day = None,
    until: Day = None,
    delete: Annotated[
        str | None, typer.Option(metavar="ID|all", help="Delete one question, or all.", show_default=False)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    as_json: AsJson = False,
) -> None:
    """List or delete the questions asked in the app, the latest first; those past RAG_HISTORY_DAYS go. Days are in UTC."""
    from ..sessions.history.store import History
    from ..sessions.panel.store import Rooms
    from ..values.settings import read_settings

    settings = read_settings()
    kept, rooms = History.opened(settings), Rooms.opened(settings)
    if kept is None or rooms is None:
        raise InputError("No history is kept: RAG_HISTORY is off.", "Set RAG_HISTORY=on.")
    if expired := kept.expire():
        say(f"{questions(expired)} older than RAG_HISTORY_DAYS deleted.", err=True)
    if expired := rooms.expire():
        say(f"Rooms older than RAG_HISTORY_DAYS deleted: {expired}.", err=True)
    if delete == ALL:
        count = kept.count()
        if not yes and not agreed(f"Delete {questions(count)} from {kept.where}?"):
            raise typer.Exit(1)
        say(f"{questions(kept.delete_all())} deleted.")
    elif delete is not None:
        if not kept.delete(delete):
            raise InputError(f"No question has the id {delete!r}.", "`rag history` lists them.")
        say(f"{questions(1)} deleted.")
    else:
        found = kept.search(words, strategy, _day("--since", since), _day("--until", until))
        if as_json:
            say_json({"questions": [one.as_json() for one in found]})
            return
        for one in found:
            say(f"{one.asked:%Y-%m-%d %H:%M} {one.question}")
            paragraph(f"{', '.join(one.strategies)} · {one.finished} of {len(one.strategies)} finished · {one.id}")
        if not found:
            say("No question is kept." if kept.count() == 0 else "No question fits.")


def _day(option: str, written: str | None) -> date | None:
    try:
        return date.fromisoformat(written) if written else None
    except ValueError as error:
        raise typer.BadParameter(f"{written!r} is not a day such as 2026-05-04", param_hint=option) from error


Target = Annotated[
    str,
    typer.Argument(
        metavar="CORPUS|PATH",
        help="A corpus, or a file or folder that was indexed; it need no longer exist.",
        show_default=False,
    ),
]


def forget(
    target: Target, yes: Annotated[bool, typer.Option("--yes", help="Do not ask before removing.")] = False
) -> None:
    """Remove documents and their text from every index, the history and panels. The files themselves are not touched.

    Questions and rooms whose results have their text are deleted; with RAG_HISTORY=off the history stays as it is. Vectors of
    passages stay, under a hash of their text, and so do evaluation runs, which keep document ids and rewritten questions.
    """
    from .. import indexing
    from ..sessions.forgetting import Removal
    from ..values.settings import read_settings

    settings = read_settings()
    removal = Removal.of(indexing.find_forgettable(settings.home, target), settings)
    for one in removal.found:
        stay = f"{one.others} stay" if one.others else "the corpus goes with them"
        say(f"{one.corpus}: {len(one.documents)} documents to forget; {stay}.")
    if removal.questions:
        say(f"history: {questions(len(removal.questions))} with their text to delete.")
    if removal.rooms:
        say(f"rooms with their text to delete: {len(removal.rooms)}.")
    if not yes:
        if not sys.stdin.isatty():
            raise RagError("Nothing was removed.", "Add --yes to remove them.")
        with at_a_prompt():
            yes = agreed("Remove them?")
        if not yes:
            raise RagError("Nothing was removed.")
    with interruptible() as stop:
        for note in removal.carry_out(stop.progress):
            say(note)


def export(
    file: Annotated[
        Path,
        typer.Argument(help="Saved output of `rag query --json` or `rag compare --json`.", parser=a_path),
    ],
    as_html: Annotated[bool, typer.Option("--html", help="A report that opens without a network.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Passages, one row each.")] = False,
    as_trec: Annotated[bool, typer.Option("--trec", help="TREC runs of the passages, one file per strategy.")] = False,
    into: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the files.", show_default="that of FILE", parser=a_path),
    ] = None,
) -> None:
    """Write a saved session as an HTML report, a CSV of passages, or TREC runs."""
    from ..sessions.html_report import report
    from ..sessions.saved import passages_csv, read_session, trec_runs
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
