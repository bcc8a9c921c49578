"""The vectors of a generation, in Chroma."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..values.errors import IndexDamaged, StorageError
from ..values.message import Message
from ..values.types import Passage, Vectors
from .chroma import chroma_reader

COLLECTION = "passages"
PAGE = 10_000  # rows per read; Chroma fails above 32,766
IN_MEMORY = PAGE  # collections up to this size are searched exactly, in memory: 15 MB of MiniLM vectors
CHECKED_NEIGHBOURS = 1000  # passages the health check requests from the vector index


class VectorStore:
    """Opened and checked when first used: BM25 alone never needs it. Thread-safe.

    Args:
        dimensions: of its vectors.
        passages: what it must have a vector of, by id.
        resources: closes it.
    """

    def __init__(
        self, generation: Path, dimensions: int, passages: Mapping[str, Passage], resources: ExitStack
    ) -> None:
        self._generation = generation
        self._dimensions = dimensions
        self._passages = passages
        self._resources = resources
        self._collection: Any = None
        self._held: _Held | None = None
        self._lock = threading.Lock()

    def open(self) -> Any:
        """Chroma's collection.

        Raises:
            IndexDamaged: it cannot be opened, or lacks a passage.
            StorageError: there is no room for a copy that can be opened.
        """
        with self._lock:
            if self._collection is None:
                self._collection = self._open()
            return self._collection

    def nearest(self, vector: Vectors, count: int) -> list[tuple[str, float]]:
        """The ids of the passages nearest to one (d,) vector, with their cosines, nearest first.

        Small collections are searched in memory: exact, and a tenth of the time of Chroma's approximate search.
        """
        collection = self.open()
        if self._held is None:
            found = collection.query(
                query_embeddings=[vector.tolist()], n_results=count, include=["distances"]
            )
            pairs = zip(found["ids"][0], found["distances"][0], strict=True)
            return [(identity, 1.0 - float(distance)) for identity, distance in pairs]
        names, _, vectors = self._held
        count = min(count, len(names))
        leading = np.sort(np.argpartition(vectors @ vector, -count)[-count:])  # equals in the order held
        # unlike a matrix product, the same for equal rows wherever they stand
        cosines = np.einsum("ij,j->i", vectors[leading], vector)
        order = np.argsort(-cosines, kind="stable")
        return [(names[leading[place]], float(cosines[place])) for place in order]

    def get(self, ids: Sequence[str]) -> Mapping[str, Vectors]:
        """The (d,) vectors of passages, by id; those that are not here are left out."""
        collection = self.open()
        if self._held is not None:
            _, rows, vectors = self._held
            return {identity: vectors[rows[identity]] for identity in ids if identity in rows}
        found = collection.get(ids=list(ids), include=["embeddings"])
        return dict(zip(found["ids"], found["embeddings"], strict=True))

    def _open(self) -> Any:
        try:
            client = chroma_reader(self._generation / "chroma", self._resources)
            collection = client.get_collection(COLLECTION, embedding_function=None)
            self._check(collection)
            return collection
        except StorageError:
            raise
        except Exception as error:  # Chroma raises many types for a corrupt store
            what = (
                error.message
                if isinstance(error, IndexDamaged)
                else Message("the vector store cannot be opened ({reason}).", reason=error)
            )
            raise IndexDamaged(Message("{name}: {what}", name=self._generation.name, what=what)) from error

    def _check(self, collection: Any) -> None:
        """Check that it has every passage; hold the vectors of few, check that the vector index finds those of many."""
        if collection.configuration_json["hnsw"]["space"] != "cosine":
            raise IndexDamaged(Message("the vector store does not use cosine distance."))
        if _ids(collection) != self._passages.keys():
            raise IndexDamaged(
                Message(
                    "the vector store has {count} passages, not the {expected} of the index.",
                    count=collection.count(),
                    expected=len(self._passages),
                )
            )
        if len(self._passages) > IN_MEMORY:
            self._check_neighbours(collection)
        elif self._passages:
            self._held = _in_memory(collection)

    def _check_neighbours(self, collection: Any) -> None:
        """Check that the vector index finds passages: it can lose rows without an error.

        Of hundreds of passages with equal text, and so equal vectors, a sound index may miss some.
        """
        expected = min(len(self._passages), CHECKED_NEIGHBOURS)
        probe = np.ones(self._dimensions, np.float32) / np.sqrt(self._dimensions)
        found = collection.query(query_embeddings=[probe.tolist()], n_results=expected, include=[])
        different = len({passage.indexed_text for passage in self._passages.values()})
        repeated = len(self._passages) - different
        if not expected - repeated <= len(set(found["ids"][0])) <= expected:
            raise IndexDamaged(
                Message(
                    "the vector store finds only {found} of {expected} passages.",
                    found=len(set(found["ids"][0])),
                    expected=expected,
                )
            )


class _Held(NamedTuple):
    """The passages of a small collection: their ids, the row of each, and (n, d) vectors."""

    names: Sequence[str]
    rows: Mapping[str, int]
    vectors: Vectors


def _in_memory(collection: Any) -> _Held:
    found = collection.get(limit=PAGE, include=["embeddings"])
    rows = {identity: row for row, identity in enumerate(found["ids"])}
    return _Held(found["ids"], rows, np.ascontiguousarray(found["embeddings"], np.float32))


def _ids(collection: Any) -> Collection[str]:
    offsets = range(0, collection.count(), PAGE)
    return {one for offset in offsets for one in collection.get(limit=PAGE, offset=offset, include=[])["ids"]}
