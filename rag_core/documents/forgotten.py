"""What was forgotten lately, in the state folder: an app that runs may still hold its text in memory."""

import json
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from ..values.owner_only import write_atomically

FORGOTTEN = "forgotten.json"
TOLD_S = 24 * 3600.0  # longer than an app keeps an answer in memory


class Forgotten(NamedTuple):
    """Documents that were forgotten, all of the corpus if None, and when, in seconds since the epoch."""

    at: float
    corpus: str
    documents: frozenset[str] | None


def forgotten(home: Path) -> list[Forgotten]:
    """What was forgotten lately; nothing if the note cannot be read."""
    with suppress(OSError, ValueError, TypeError):
        rows = json.loads((home / FORGOTTEN).read_text("utf-8"))
        return [Forgotten(at, corpus, None if ids is None else frozenset(ids)) for at, corpus, ids in rows]
    return []


def tell_forgotten(home: Path, corpus: str, documents: Collection[str] | None = None) -> None:
    """Note that documents of a corpus, or all of it, are forgotten now; may raise StorageError."""
    now = time.time()
    recent = [one for one in forgotten(home) if one.at > now - TOLD_S]
    told = Forgotten(now, corpus, None if documents is None else frozenset(documents))
    write_atomically(home / FORGOTTEN, json.dumps([*recent, told], default=sorted))
