"""Folders and files of the state folder, which only their owner can open, whatever the umask."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from .errors import unwritable
from .message import Message
from .visible import valid

FOLDER, FILE = 0o700, 0o600
OTHERS = 0o077
# everything a state folder contains
PARTS = {
    "corpora",
    "languages",
    "vectors",
    "runs",
    "sweeps",
    "history",
    "uploads",
    "measured-exams",
    "presets.json",
    "forgotten.json",
    "cookie.key",
}


def private_folder(folder: Path) -> None:
    """Create a folder and its missing parents, or make it private; raises OSError if it cannot be created."""
    for one in reversed([folder, *(parent for parent in folder.parents if not parent.exists())]):
        if one.exists():
            close_to_others(one)
        else:
            one.mkdir(FOLDER, exist_ok=True)
            one.chmod(FOLDER)  # the umask may have taken more


def private_home(home: Path) -> None:
    """Create the state folder; an existing one becomes private unless it has files of others, as ~ or /tmp would."""
    if not home.exists() or {entry.name for entry in home.iterdir()} <= PARTS:
        private_folder(home)


def private_file(path: Path) -> None:
    """Create an empty private file, or make an existing one private; raises OSError if it cannot."""
    if path.exists():
        close_to_others(path)
    else:
        path.touch(FILE)
        path.chmod(FILE)


def secret_of(path: Path) -> bytes:
    """The 32 random bytes in a private file, made by whichever process comes first; raises OSError."""
    if not path.exists():
        private_home(path.parent)
        made = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        try:
            private_file(made)
            made.write_bytes(secrets.token_bytes(32))
            with suppress(FileExistsError):
                os.link(made, path)
        finally:
            made.unlink(missing_ok=True)
    return path.read_bytes()


def close_to_others(path: Path) -> None:
    """Take the permissions of group and others away, unless it is another user's."""
    with suppress(OSError):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode & OTHERS and not path.is_symlink():
            path.chmod(mode & ~OTHERS)


def tighten(folder: Path) -> None:
    """Close a folder and everything in it to others."""
    for place, _, files in os.walk(folder):
        close_to_others(Path(place))
        for name in files:
            close_to_others(Path(place, name))


def write_atomically(path: Path, text: str) -> None:
    """Write a private file, in private folders, completely or not at all, in valid Unicode; raises StorageError."""
    part = path.with_name(path.name + ".part")
    try:
        if not path.parent.exists():
            private_folder(path.parent)
        private_file(part)
        part.write_text(valid(text), encoding="utf-8")
        os.replace(part, path)
    except OSError as error:
        raise unwritable(path, error, Message("Check folder and disk.")) from error
