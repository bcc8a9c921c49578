"""Whether an index was made from a folder's files as they are now: then they need not be read and parsed again."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from ..documents.files import list_files
from ..values.owner_only import private_file
from .store import checksum, current_name

RECORD = "READ"  # a file beside the generations
OUR_CODE = Path(__file__).parents[1]


def state_of(folder: Path) -> str:
    """Hash of the files in a folder, by name and content, and of the code that reads them, by size and time.

    Empty if one cannot be read.
    """
    found = hashlib.sha256()
    try:
        for name, path in list_files(folder).files:
            found.update(f"{name}\0{checksum(path)}\n".encode())
        for code in sorted(OUR_CODE.rglob("*.py")):
            status = code.stat()
            found.update(f"{code} {status.st_size} {status.st_mtime_ns}\n".encode())
    except OSError:
        return ""
    return found.hexdigest()


def was_read(index: Path, state: str) -> bool:
    """Whether the current generation in an index's folder has the documents of the files in this state."""
    with suppress(OSError):
        return bool(state) and (index / RECORD).read_text(encoding="utf-8") == _record(index, state)
    return False


def keep_read(index: Path, state: str) -> None:
    """Keep that it has; where that cannot be written, they are read again."""
    with suppress(OSError):
        private_file(index / RECORD)
        (index / RECORD).write_text(_record(index, state), encoding="utf-8")


def _record(index: Path, state: str) -> str:
    return f"{current_name(index)} {state}"
