"""The corpora of a state folder: their names, and open labs to share."""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..documents.documents import BUILTIN
from ..values.errors import IndexDamaged
from ..values.owner_only import private_file

if TYPE_CHECKING:
    from .lab import Lab

TYPED = "NAME"  # a file beside a corpus's indexes: its name as it was typed, where no folder can have that
MOST_BYTES = 80  # of a typed name in its folder's
MOST_OPEN = 3  # labs beside the built-in one; their passages and vectors are in memory


def corpus_names(home: Path) -> list[str]:
    """The corpora that can be searched: the built-in one, then those that were indexed, by name."""
    found = {pointer.parents[1].name for pointer in (home / "corpora").glob("*/*/CURRENT")}
    return [BUILTIN, *sorted(found - {BUILTIN}, key=str.casefold)]


def folder_name(typed: str) -> str:
    """A name that a folder can have, made from any name; always the same, and another for another name."""
    letters = re.sub(r"[^\w.-]+", "-", typed).strip("._-")
    short = letters.encode()[:MOST_BYTES].decode(errors="ignore") or "documents"
    return f"{short}-{hashlib.sha256(typed.encode(errors='replace')).hexdigest()[:8]}"


def as_typed(name: str) -> str:
    """A typed name with its letters composed and without idle space, so that it is one name however it is typed."""
    return " ".join(unicodedata.normalize("NFC", name).split())


def corpus_title(home: Path, corpus: str) -> str:
    """A corpus's name for people: as it was typed."""
    with suppress(OSError, ValueError):
        return (home / "corpora" / corpus / TYPED).read_text(encoding="utf-8")
    return corpus


def keep_title(home: Path, corpus: str, title: str) -> None:
    """Keep the typed name of a corpus that is indexed; raises OSError if it cannot be written."""
    path = home / "corpora" / corpus / TYPED
    private_file(path)
    path.write_text(title, encoding="utf-8", errors="replace")


@dataclass
class _Opening:
    lock: threading.Lock = field(default_factory=threading.Lock)
    lab: Lab | None = None


class LabPool:
    """The latest `most` open labs by corpus, each opened once; one that leaves goes after its last run. Thread-safe."""

    def __init__(self, open_corpus: Callable[[str], Lab], most: int = MOST_OPEN) -> None:
        self._open_corpus = open_corpus
        self._most = most
        self._kept: OrderedDict[str, _Opening] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, corpus: str) -> Lab:
        """The lab of a corpus, opened again if its index was damaged or removed; raises RagError."""
        with self._lock:
            opening = self._kept.setdefault(corpus, _Opening())
            self._kept.move_to_end(corpus)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        with opening.lock:
            if opening.lab is not None:
                with suppress(IndexDamaged):
                    opening.lab.index  # noqa: B018  # opens a newer generation
                    return opening.lab
                opening.lab = None
            opening.lab = self._open_corpus(corpus)
            return opening.lab

    def find(self, corpus: str) -> Lab | None:
        with self._lock:
            return self._kept[corpus].lab if corpus in self._kept else None

    def drop(self, corpus: str) -> None:
        with self._lock:
            self._kept.pop(corpus, None)
