"""The passages of a generation, in one JSON file beside its vectors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..values.sources import sources_from_json
from ..values.types import Passage

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode


def save_passages(path: Path, nodes: Sequence[BaseNode]) -> None:
    """Write the passages of a pipeline's nodes, in order."""
    rows = [[node.node_id, node.get_content(), node.metadata] for node in nodes]
    path.write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


def load_passages(path: Path) -> Mapping[str, Passage]:
    """What `save_passages` wrote: passage id -> passage, in order."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    return {identity: passage_of(identity, text, metadata) for identity, text, metadata in rows}


def content_hash(passage: Passage) -> str:
    """Hash of title, headings and text, eight hexadecimal digits; the last part of a passage's id.

    The context is left out, so that a passage has the same id in plain and enriched indexes.
    """
    return hashlib.sha256(replace(passage, context="").indexed_text.encode()).hexdigest()[:8]


def passage_in(node: BaseNode) -> Passage:
    """The passage of a pipeline node."""
    return passage_of(node.node_id, node.get_content(), node.metadata)


def passage_of(identity: str, text: str, metadata: Any) -> Passage:
    """The passage of a stored node."""
    return Passage(
        id=identity,
        doc_id=identity.rsplit(":", 2)[0],
        title=metadata["title"],
        text=text,
        heading=metadata["heading"],
        language=metadata["language"],
        source=metadata["source"],
        context=metadata.get("context", ""),
        sources=sources_from_json(metadata.get("sources", "")),
        differs_from=sources_from_json(metadata.get("differs_from", "")),
        patient=metadata.get("patient", ""),
    )
