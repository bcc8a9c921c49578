"""Packed data of libraries, unpacked once in the state folder, where processes map it to memory."""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..values.owner_only import private_folder, private_home, tighten

KINDS = ("detector", "en", "es")

_home: Path | None = None


def unpack_in(home: Path) -> None:
    """Unpack into a state folder what is used from now on. To be called before any detection."""
    global _home
    _home = home


def unpacked(kind: str, packed: Path, unpack: Callable[[Path], None]) -> Path:
    """The folder of what `unpack` makes of a packed file, by the first process; raises OSError where there is none."""
    if _home is None:
        raise FileNotFoundError("no state folder")
    with packed.open("rb") as file:
        folder = _home / "languages" / f"{kind}-{hashlib.file_digest(file, 'sha256').hexdigest()[:16]}"
    if not folder.is_dir():
        private_home(_home)
        private_folder(folder.parent)
        for old in folder.parent.iterdir():  # of another version, or half written
            if old.name.partition("-")[0] not in {*KINDS} - {kind}:
                shutil.rmtree(old, ignore_errors=True)
        draft = Path(tempfile.mkdtemp(prefix=f"{kind}-", dir=folder.parent))
        try:
            unpack(draft)
            tighten(draft)
            with suppress(OSError):  # another process was faster
                draft.rename(folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return folder
