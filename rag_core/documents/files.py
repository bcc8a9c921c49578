"""The files of a folder, and their bytes: regular files inside the folder only."""

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from ..values.message import Message
from ..values.visible import valid
from .limits import READING, LimitExceeded, ReadingLimits, megabytes

_KINDS = {
    stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}  # fmt: skip


@dataclass(slots=True)
class Found:
    """A folder's files, in order of path; and, with the reason, what fails (a folder ends in "/") or is skipped."""

    files: list[tuple[str, Path]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)


def list_files(folder: Path, limits: ReadingLimits = READING) -> Found:
    """Regular files under a folder, each once, without hidden ones and links out; OSError if it cannot be opened."""
    return _Walk(Path(os.path.realpath(folder)), limits).run()


class _Walk:
    """A folder being listed, without recursion: a hostile folder may be thousands of levels deep."""

    def __init__(self, root: Path, limits: ReadingLimits) -> None:
        self.found = Found()
        self._root = root
        self._limits = limits
        self._seen: dict[tuple[int, int], str] = {}  # device and inode -> name
        self._folders: list[tuple[str, Path, int]] = []
        self._links: list[tuple[str, Path, int]] = []

    def run(self) -> Found:
        status = self._root.stat()
        self._seen[status.st_dev, status.st_ino] = ""
        self._list("", self._root, 0)
        while self._folders or self._links:
            if self._folders:
                name, path, depth = self._folders.pop()
                try:
                    self._list(name, path, depth)
                except OSError as error:
                    self._fail(name, error)
            else:  # links last, so that what they point to is listed by its own name
                self._follow(*self._links.pop())
        self.found.files.sort(key=lambda file: file[1])
        self.found.skipped.sort()
        return self.found

    def _list(self, prefix: str, folder: Path, depth: int) -> None:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
        for entry in found:
            name = prefix + entry.name
            if entry.name.startswith("."):
                continue
            if entry.name != valid(entry.name):
                shown = os.fsencode(name).decode("utf-8", "backslashreplace")
                self.found.failed.append((shown, Message("its name is not UTF-8; rename it")))
            elif entry.is_symlink():
                self._links.append((name, folder / entry.name, depth))
            else:
                try:
                    self._add(name, folder / entry.name, depth, entry.stat(follow_symlinks=False))
                except OSError as error:
                    self._fail(name, error)

    def _fail(self, name: str, error: OSError) -> None:
        self.found.failed.append((name, Message("it cannot be opened ({reason})", reason=error.strerror)))

    def _add(self, name: str, path: Path, depth: int, status: os.stat_result) -> None:
        first = self._seen.setdefault((status.st_dev, status.st_ino), name)
        if first != name:
            self.found.skipped.append((name, Message("the same as {first}", first=first)))
        elif stat.S_ISREG(status.st_mode):
            self.found.files.append((name, path))
        elif not stat.S_ISDIR(status.st_mode):
            self.found.skipped.append((name, Message("{kind}, not a file", kind=_kind(status.st_mode))))
        elif depth >= self._limits.depth:
            deep = Message("more than {most} folders deep", most=self._limits.depth)
            self.found.failed.append((f"{name}/", deep))
        else:
            self._folders.append((f"{name}/", path, depth + 1))

    def _follow(self, name: str, link: Path, depth: int) -> None:
        try:
            target = Path(os.path.realpath(link, strict=True))
            status = target.stat()
        except OSError:
            self.found.skipped.append((name, Message("a link to nothing")))
            return
        known = self._seen.get((status.st_dev, status.st_ino))
        if not target.is_relative_to(self._root):
            self.found.skipped.append((name, Message("the link leads outside the folder")))
        elif known == "" or (known and name.startswith(f"{known}/")):
            self.found.skipped.append((name, Message("the link leads back to a folder it is in")))
        elif known is not None:
            self.found.skipped.append((name, Message("a link to {known}", known=known)))
        else:
            self._add(name, target, depth, status)


def read_bytes(path: Path, most: int) -> bytes:
    """The content of a regular file; raises OSError, or LimitExceeded for one of more than `most` bytes or another kind."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise LimitExceeded(Message("it is {kind}, not a file", kind=_kind(status.st_mode)))
        content = file.read(most + 1) if status.st_size <= most else b""
    if status.st_size > most or len(content) > most:
        raise LimitExceeded(Message("it is larger than {size}", size=megabytes(most)))
    return content


def _kind(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), Message("a special file"))
