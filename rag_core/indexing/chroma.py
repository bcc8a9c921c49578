"""Opening the Chroma folder of a generation."""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import struct
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..values.errors import StorageError
from ..values.message import Message
from ..values.owner_only import FOLDER
from .temporary import clear_leftovers, places, temporary_folder

HEADER = struct.Struct(
    "=i6Q"
)  # of a vector file: version, offset, capacity, elements, bytes per element, two offsets

LENGTH = 4  # bytes of a vector's norm in length.bin

_opened = itertools.count(1)


def chroma_client(folder: Path) -> Any:
    """Open Chroma, independently of every client opened before.

    Chroma shares the open files of a path, as it is spelled, between clients, even after the folder was
    replaced. Extra "/" and "/." at the end give each client a spelling of its own.
    """
    import chromadb

    spelling = "".join("/." if bit == "1" else "/" for bit in f"{next(_opened):b}")
    return chromadb.PersistentClient(f"{folder}{spelling}", settings=_settings().model_copy())


@functools.cache
def _settings() -> Any:
    """Chroma's settings, to be copied: it writes the path into them, and reading them takes as long as to open it."""
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)


def chroma_reader(folder: Path, resources: ExitStack) -> Any:
    """Open Chroma for reading until `resources` is closed, even from a folder that cannot be written.

    Opening Chroma writes a row to its database. Where that fails, a temporary copy is opened.

    Raises:
        StorageError: there is no room for the copy.
    """
    clear_leftovers(places())
    try:
        client = chroma_client(folder)
    except Exception as error:  # Chroma raises many types
        copy = _copy(folder, resources)
        if copy is None:
            raise StorageError(
                Message(
                    "The index in {folder} cannot be opened: {reason}.", folder=folder.parent, reason=error
                ),
                Message("Free disk space, or set TMPDIR to a folder with room for a copy of it."),
            ) from error
        client = chroma_client(copy)
    resources.callback(client.close)
    return client


def clear_unused(folder: Path) -> None:
    """Overwrite the unused part of the vector files with zeros.

    It is memory that Chroma reserved but never wrote: it can contain any text this process has read.
    """
    for header in folder.glob("*/header.bin"):
        _, _, _, elements, size, *_ = HEADER.unpack_from(header.read_bytes())
        for name, used in (("data_level0.bin", elements * size), ("length.bin", elements * LENGTH)):
            with header.with_name(name).open("r+b") as file:
                unused = file.seek(0, os.SEEK_END) - used
                file.seek(used)
                file.write(bytes(max(unused, 0)))


def _copy(folder: Path, resources: ExitStack) -> Path | None:
    """A private temporary copy of a folder; None where nothing has room for it."""
    for place in places():
        with ExitStack() as attempt:
            try:
                copy = temporary_folder(place, attempt) / folder.name
                shutil.copytree(folder, copy, copy_function=shutil.copyfile)
            except OSError:
                continue
            for inner, *_ in os.walk(copy):
                os.chmod(inner, FOLDER)  # the original's mode may forbid writing
            resources.push(attempt.pop_all())
            return copy
    return None
