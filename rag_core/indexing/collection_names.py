"""The collections of generations on a server or in an engine that others use too: their names, and when they go."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path

from ..values.owner_only import private_file
from .stores import Stores

OWNER = "SERVER"  # file of an index's folder: what the names of its collections begin with


def collection_name(generation: Path) -> str:
    """The name of a generation's collection."""
    return f"{_owner(generation.parent)}-{generation.name}"


def has_collections(folder: Path) -> bool:
    """Whether an index's folder has ever had collections."""
    return (folder / OWNER).is_file()


def drop_others(stores: Stores, folder: Path, generations: Iterable[str]) -> None:
    """Drop the collections of an index's other generations from every store.

    Args:
        generations: names of those that stay.

    Raises:
        StorageError: a store does not answer.
    """
    if not has_collections(folder):
        return
    kept = {collection_name(folder / one) for one in generations}
    ours = f"{_owner(folder)}-"
    for store in stores.values():
        store.drop(lambda name: name.startswith(ours) and name not in kept)


def _owner(folder: Path) -> str:
    """What the names of an index's collections begin with: drawn once, so that the state folder can move."""
    file = folder / OWNER
    if not file.is_file():
        draft = folder / f"{OWNER}.new"
        private_file(draft)
        draft.write_text(f"rag-{uuid.uuid4().hex}", encoding="utf-8")
        draft.replace(file)
    return file.read_text(encoding="utf-8").strip()
