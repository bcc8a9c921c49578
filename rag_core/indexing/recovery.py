"""Recovering documents from a damaged index, and reporting the lost ones."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..values.errors import IndexDamaged
from ..values.message import Message
from .backends import damaged
from .manifest import Manifest
from .store import current_name, generations

if TYPE_CHECKING:
    from llama_index.core.schema import Document as LlamaDocument

Entry = Mapping[str, str]  # hash, root and file of a document, as a manifest lists it
Entries = Mapping[str, Entry]  # by document id
Lost = Mapping[str, str] | None  # document id -> root; None when the original documents are unknown


def entry_of(text: str, metadata: Mapping[str, Any]) -> Entry:
    """The entry of a document in a manifest; computed without LlamaIndex, since most starts only compare."""
    content = json.dumps([text, metadata], sort_keys=True).encode()
    return {"hash": hashlib.sha256(content).hexdigest(), "root": metadata["root"], "file": metadata["file"]}


def read_documents(generation: Path) -> dict[str, LlamaDocument]:
    """The documents of a generation, by id; raises IndexDamaged if docstore.json cannot be read."""
    from llama_index.core.schema import Document as LlamaDocument

    return {name: LlamaDocument.from_dict(one) for name, one in stored_documents(generation).items()}


def stored_documents(generation: Path) -> dict[str, dict[str, Any]]:
    """The documents of a generation by id, from what `SimpleDocumentStore` keeps, without it; raises IndexDamaged."""
    try:
        stored = json.loads((generation / "docstore.json").read_bytes())["docstore/data"]
        return {name: one["__data__"] for name, one in stored.items()}
    except (OSError, ValueError, LookupError) as error:
        raise damaged(
            generation,
            Message("docstore.json, with the documents, cannot be read ({reason}).", reason=error),
            Message("Delete this corpus's folder in RAG_HOME, then run `rag index PATH --corpus NAME`."),
        ) from error


def recover_documents(folder: Path) -> tuple[dict[str, LlamaDocument], Lost]:
    """The documents of a damaged index, from unchanged copies in older generations if need be, and the lost ones."""
    kept = generations(folder)
    name = current_name(folder) or ""
    newest = None if not kept or (name[4:].isdigit() and name > kept[-1].name) else kept[-1]
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
        name: node
        for name, node in older.items()
        if name in listed and listed[name]["hash"] == entry_of(node.text, node.metadata)["hash"]
    }
    return left, {name: str(entry["root"]) for name, entry in listed.items() if name not in left}


def report_lost_documents(
    corpus: str, lost: Lost, read_again: Collection[str] = (), root: str = ""
) -> list[tuple[str, str]]:
    """(root, reason) of each folder with lost documents that have not just been read again."""
    if lost is None:
        return [(Message("other folders"), Message("their names are unknown; index again what you had added"))]
    roots = Counter(origin for name, origin in lost.items() if name not in read_again)
    return [
        (
            origin,
            Message(
                "{count} of its documents lost; run `rag index {origin} --corpus {corpus}`",
                count=count,
                origin=origin,
                corpus=corpus,
            ),
        )
        for origin, count in sorted(roots.items())
        if origin not in (root, corpus)  # a corpus's own documents are read each time it is opened
    ]
