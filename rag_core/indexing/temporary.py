"""Temporary folders that do not outlive their process, even when it is killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path


def temporary_folder(place: Path, resources: ExitStack, prefix: str) -> Path:
    """A private folder that is removed when `resources` is closed, or by the next process if this one is killed.

    Its lock ends with this process, whichever way that ends.

    Raises:
        OSError: it cannot be made.
    """
    made = tempfile.TemporaryDirectory(prefix=prefix, dir=place)
    resources.callback(made.cleanup)
    lock = os.open(made.name, os.O_RDONLY)
    resources.callback(os.close, lock)
    with suppress(OSError):  # a file system without locks; then nothing is cleared there either
        fcntl.flock(lock, fcntl.LOCK_EX)
    return Path(made.name)


def clear_leftovers(place: Path, prefix: str) -> None:
    """Remove our folders whose process is gone."""
    with suppress(OSError):
        for folder in place.glob(f"{prefix}*"):
            with suppress(OSError):
                _remove_if_left(folder)


def _remove_if_left(folder: Path) -> None:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(lock).st_uid != os.geteuid() or not os.listdir(lock):
            return  # somebody else's, or only just made and not yet locked
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
