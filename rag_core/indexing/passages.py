"""The passages of a generation, a line of JSON each, and arrays and texts on disk: read only when looked up."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import weakref
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence, ValuesView
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from ..values.errors import IndexDamaged
from ..values.message import Message
from ..values.sources import sources_from_json
from ..values.types import Passage

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode


def save_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write each array to a .npy file of its name."""
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def map_array(path: Path) -> NDArray[Any]:
    """A .npy file's array, read where it is touched. The file must not change while it is used, but may be deleted."""
    return np.asarray(np.load(path, mmap_mode="r"))


class MappedTexts(Sequence[str]):
    """Different texts in order, each found by its place, and a place by its text.

    `letters`: their UTF-8; `starts`, (n + 1,): where each begins, and the end; `order`, (n,): places in the bytes' order.
    """

    def __init__(self, letters: NDArray[np.uint8], starts: NDArray[np.int64], order: NDArray[np.int32]) -> None:
        # views of them, whose parts are Python's bytes and numbers: several times faster, one by one
        self._letters, self._starts, self._order = letters.data, starts.data, order.data

    @staticmethod
    def save(folder: Path, name: str, texts: Sequence[str]) -> None:
        """Write the texts to three files whose names begin with `name`."""
        written = [text.encode() for text in texts]
        places = np.array(sorted(range(len(written)), key=written.__getitem__), np.int32)
        starts = np.cumsum([0, *map(len, written)], dtype=np.int64)
        letters = np.frombuffer(b"".join(written), np.uint8)
        save_arrays(folder, {name: letters, f"{name}-starts": starts, f"{name}-order": places})

    @classmethod
    def load(cls, folder: Path, name: str) -> MappedTexts:
        return cls(*(map_array(folder / f"{name}{part}.npy") for part in ("", "-starts", "-order")))

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [self[one] for one in range(len(self))[place]]
        return self._bytes(range(len(self))[place]).decode()

    def __iter__(self) -> Iterator[str]:
        letters, ends = self._letters.tobytes(), self._starts.tolist()
        for start, end in pairwise(ends):
            yield letters[start:end].decode()

    def get(self, text: object, otherwise: int | None = None) -> int | None:
        """The place of a text; `otherwise` for one that is not here."""
        if not isinstance(text, str):
            return otherwise
        sought = text.encode()
        found = bisect_left(self._order, sought, key=self._bytes)
        if found == len(self._order) or self._bytes(self._order[found]) != sought:
            return otherwise
        return int(self._order[found])

    def _bytes(self, place: int) -> bytes:
        return self._letters[self._starts[place] : self._starts[place + 1]].tobytes()


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
    """What `save_passages` wrote, by id; `at`: by place in `ids`. Thread-safe; raises IndexDamaged if unreadable."""

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
    _mapping: Passages

    def __iter__(self) -> Iterator[Passage]:
        return (self._mapping.at(place) for place in range(len(self._mapping)))  # keeps their file open


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
    """Hash of title, headings and text, eight hexadecimal digits: the same in plain and enriched indexes."""
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
        metadata=tuple((name, value) for name, value in json.loads(metadata.get("metadata", "[]"))),
    )
