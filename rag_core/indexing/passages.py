"""The passages of a generation: a line of JSON each, found by place or id, and read when looked up."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import weakref
from collections.abc import Iterator, Mapping, Sequence, ValuesView
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..values.errors import IndexDamaged
from ..values.message import Message
from ..values.sources import sources_from_json
from ..values.types import Passage
from .mapped import MappedTexts, map_array, save_arrays

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode

FOLDER = "passages"
LINES = "lines.jsonl"
NAMES = (LINES, "offsets.npy", "ids.npy", "ids-starts.npy", "ids-order.npy")  # in that folder
HELD = 8192  # passages read last that stay in memory: 20 MB of 2 KB each


def save_passages(generation: Path, nodes: Sequence[BaseNode]) -> None:
    """Write the passages of a pipeline's nodes, in order."""
    folder = generation / FOLDER
    folder.mkdir()
    offsets = [0]
    with (folder / LINES).open("wb") as file:
        for node in nodes:
            row = [node.node_id, node.get_content(), node.metadata]
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
            offsets.append(file.tell())
    save_arrays(folder, {"offsets": np.array(offsets)})
    MappedTexts.save(folder, "ids", [node.node_id for node in nodes])


class Passages(Mapping[str, Passage]):
    """What `save_passages` wrote: passage id -> passage, in order. Thread-safe.

    Attributes:
        ids: of the passages, in order.
        at: the passage at a place in that order.

    Raises:
        IndexDamaged: when a passage is looked up that can no longer be read.
    """

    def __init__(self, generation: Path) -> None:
        folder = generation / FOLDER
        self.ids = MappedTexts.load(folder, "ids")
        offsets = map_array(folder / "offsets.npy")
        file = os.open(folder / LINES, os.O_RDONLY)
        weakref.finalize(self, os.close, file).atexit = False  # threads may read until the process ends
        self._place = functools.lru_cache(HELD)(self.ids.get)
        self.at = functools.lru_cache(HELD)(functools.partial(_read, file, offsets, generation.name))

    def __getitem__(self, identity: str) -> Passage:
        place = self._place(identity)
        if place is None:
            raise KeyError(identity)
        return self.at(place)

    def __contains__(self, identity: object) -> bool:
        return self._place(identity) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def values(self) -> ValuesView[Passage]:
        """The passages in order, without a search for each one's place."""
        return _InOrder(self)


class _InOrder(ValuesView[Passage]):
    def __init__(self, passages: Passages) -> None:
        super().__init__(passages)
        self._passages = passages

    def __iter__(self) -> Iterator[Passage]:
        return map(self._passages.at, range(len(self._passages)))


def _read(file: int, offsets: NDArray[np.int64], name: str, place: int) -> Passage:
    start, end = int(offsets[place]), int(offsets[place + 1])
    try:
        return passage_of(*json.loads(os.pread(file, end - start, start)))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise IndexDamaged(
            Message("{name}: a passage cannot be read ({reason}).", name=name, reason=error),
            Message("Open the corpus again, for example with `rag doctor`, to rebuild its index."),
        ) from error


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
