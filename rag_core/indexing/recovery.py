"""What a damaged index still holds, and what is lost of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from llama_index.core.schema import Document as LlamaDocument
from llama_index.core.storage.docstore import SimpleDocumentStore

from ..values.errors import IndexDamaged
from .store import Manifest, current_name, generations

Lost = Mapping[str, str] | None  # document id -> root it came from; None when nobody knows what there was


def read_documents(generation: Path) -> dict[str, LlamaDocument]:
    """The documents of a generation, by id.

    Raises:
        IndexDamaged: docstore.json cannot be read.
    """
    try:
        stored = SimpleDocumentStore.from_persist_path(str(generation / "docstore.json")).docs
        return {name: node for name, node in stored.items() if isinstance(node, LlamaDocument)}
    except (OSError, ValueError) as error:
        raise IndexDamaged(
            f"{generation.name}: docstore.json, which holds the documents, cannot be read ({error}).",
            "Delete this corpus's folder under RAG_HOME, then run `rag index PATH --corpus NAME`.",
        ) from error


def recover_documents(folder: Path) -> tuple[dict[str, LlamaDocument], Lost]:
    """The documents of a damaged index that are left, and those that are lost.

    The newest generation says what there was. Where its own documents are gone, those that an older one
    holds unchanged stand in for them.
    """
    kept = generations(folder)
    named = current_name(folder) or ""
    newest = None if not kept or (named[4:].isdigit() and named > kept[-1].name) else kept[-1]
    if newest:
        with suppress(IndexDamaged):
            return read_documents(newest), {}
    older: dict[str, LlamaDocument] = {}
    for generation in kept:
        with suppress(IndexDamaged):
            older = read_documents(generation)
    try:
        listed = Manifest.read(newest).documents if newest else None
    except IndexDamaged:
        listed = None
    if listed is None:
        return older, None
    left = {
        name: node for name, node in older.items() if name in listed and listed[name]["hash"] == node.hash
    }
    return left, {name: str(entry["root"]) for name, entry in listed.items() if name not in left}


def report_lost_documents(
    corpus: str, lost: Lost, read_again: Collection[str] = (), root: str = ""
) -> list[tuple[str, str]]:
    """(root, reason) of each folder whose documents are lost and have not been read again just now."""
    if lost is None:
        return [("other folders", "it is not known which there were; index again what had been added")]
    roots = Counter(origin for name, origin in lost.items() if name not in read_again)
    return [
        (origin, f"{count} of its documents are lost; run `rag index {origin} --corpus {corpus}`")
        for origin, count in sorted(roots.items())
        if origin not in (root, corpus)  # a corpus's own documents are read whenever it is opened
    ]
