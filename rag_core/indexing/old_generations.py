"""Older generations of an index: who still reads one, and when it goes.

A generation with a document that was since removed or changed goes as soon as no process reads it, so that the
text does not stay on disk. Otherwise the one before the current one is kept, to recover documents from.
"""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Collection
from contextlib import ExitStack, suppress
from pathlib import Path

from ..values.errors import IndexDamaged
from .store import Manifest, current_name, generations


def drop_old(folder: Path, also: Collection[Path] = ()) -> None:
    """Delete the generations of an index that are no longer needed and that no process reads.

    Does nothing where the folder cannot be written.

    Args:
        also: generations that were never current, for the process with the write lock.
    """
    current = folder / (current_name(folder) or "")
    documents = _hashes(current)
    if documents is None:
        return  # the others may be needed to repair it
    older = [path for path in generations(folder) if path.name < current.name]
    unneeded = older[:-1]
    unneeded += [path for path in older[-1:] if not (_hashes(path) or {("", "")}) <= documents]
    for path in {*unneeded, *also}:
        _remove_unread(path)


def _hashes(generation: Path) -> set[tuple[str, str]] | None:
    """Id and hash of every document of a generation; None when they cannot be read."""
    with suppress(IndexDamaged, AttributeError, KeyError, TypeError):
        documents = Manifest.read(generation).documents
        return {(name, str(entry["hash"])) for name, entry in documents.items()}
    return None


def _remove_unread(generation: Path) -> None:
    """Delete a generation unless a reader has locked its manifest."""
    with ExitStack() as stack:
        try:
            manifest = stack.enter_context((generation / "manifest.json").open("rb"))
            fcntl.flock(manifest, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            pass  # unfinished
        except OSError:
            return
        shutil.rmtree(generation, ignore_errors=True)
