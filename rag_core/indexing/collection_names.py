"""The names of generations' collections on a server or in an engine that others use too."""

from __future__ import annotations

import uuid
from pathlib import Path

from ..values.owner_only import private_file

OWNER = "SERVER"  # file of an index's folder: what the names of its collections begin with


def collection_name(generation: Path) -> str:
    """The name of a generation's collection."""
    return f"{owner(generation.parent)}-{generation.name}"


def has_collections(folder: Path) -> bool:
    """Whether an index's folder has ever had collections."""
    return (folder / OWNER).is_file()


def owner(folder: Path) -> str:
    """What the names of an index's collections begin with: drawn once, so that the state folder can move."""
    file = folder / OWNER
    if not file.is_file():
        draft = folder / f"{OWNER}.new"
        private_file(draft)
        draft.write_text(f"rag-{uuid.uuid4().hex}", encoding="utf-8")
        draft.replace(file)
    return file.read_text(encoding="utf-8").strip()
