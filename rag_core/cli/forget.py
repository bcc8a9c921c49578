"""The command `rag forget`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ..values.errors import RagError
from .interrupt import at_a_prompt, interruptible
from .layout import agreed, questions, say

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

    Questions and rooms whose results have their text are deleted; with RAG_HISTORY=off the history stays as it is. Vectors
    stay, under a hash of their text, and so do evaluation runs, which keep document ids and rewritten questions.
    """
    from .. import indexing
    from ..lab.engines import load_engines
    from ..sessions.history import open_history
    from ..sessions.panel import open_rooms
    from ..values.settings import read_settings

    settings = read_settings()
    kept, rooms = open_history(settings), open_rooms(settings)
    shown: set[str] = set()
    codes: set[str] = set()
    found = indexing.find_forgettable(settings.home, target)
    for one in found:
        stay = f"{one.others} stay" if one.others else "the corpus goes with them"
        say(f"{one.corpus}: {len(one.documents)} documents to forget; {stay}.")
        documents = one.documents if one.others else None
        shown.update(kept.showing(one.corpus, documents) if kept else ())
        codes.update(rooms.showing(one.corpus, documents) if rooms else ())
    if shown:
        say(f"history: {questions(len(shown))} with their text to delete.")
    if codes:
        say(f"rooms with their text to delete: {len(codes)}.")
    if not yes:
        if not sys.stdin.isatty():
            raise RagError("Nothing was removed.", "Add --yes to remove them.")
        with at_a_prompt():
            yes = agreed("Remove them?")
        if not yes:
            raise RagError("Nothing was removed.")
    # First: once the documents are forgotten, nothing tells which questions have their text
    if kept and shown:
        say(f"history: {questions(kept.forget(sorted(shown)))} deleted.")
    if rooms and codes:
        say(f"rooms deleted: {rooms.forget(sorted(codes))}.")
    with interruptible() as stop:
        for one in found:
            if one.others:
                engines = load_engines(settings, lambda what: stop.progress(what, 0, 1))
                notes = indexing.forget_documents(
                    settings.home,
                    one,
                    engines.embedder,
                    engines.enricher,
                    stop.progress,
                    indexing.stores_of(settings),
                )
            else:
                indexing.forget_corpus(settings.home, one.corpus, indexing.stores_of(settings))
                notes = []
            for note in [f"{one.corpus}: forgotten.", *notes]:
                say(note)
