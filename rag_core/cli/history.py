"""`rag history`: the questions that were asked in the app."""

from __future__ import annotations

from datetime import date
from typing import Annotated

import typer

from ..values.errors import InputError
from .layout import agreed, paragraph, questions, say, say_json

ALL = "all"
Day = Annotated[str | None, typer.Option(metavar="YYYY-MM-DD", show_default=False)]


def history(
    words: Annotated[str, typer.Option(help="Only questions with all these words.", show_default=False)] = "",
    strategy: Annotated[
        str, typer.Option(help="Only questions that this strategy answered.", show_default=False)
    ] = "",
    since: Day = None,
    until: Day = None,
    delete: Annotated[
        str | None, typer.Option(metavar="ID|all", help="Delete one question, or all.", show_default=False)
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List or delete the questions asked in the app, the latest first; those past RAG_HISTORY_DAYS go. Days are in UTC."""
    from ..sessions.history import open_history
    from ..sessions.panel import open_rooms
    from ..values.settings import read_settings

    settings = read_settings()
    kept, rooms = open_history(settings), open_rooms(settings)
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
            paragraph(
                f"{', '.join(one.strategies)} · {one.finished} of {len(one.strategies)} finished · {one.id}"
            )
        if not found:
            say("No question is kept." if kept.count() == 0 else "No question fits.")


def _day(option: str, written: str | None) -> date | None:
    try:
        return date.fromisoformat(written) if written else None
    except ValueError as error:
        raise typer.BadParameter(f"{written!r} is not a day such as 2026-05-04", param_hint=option) from error
