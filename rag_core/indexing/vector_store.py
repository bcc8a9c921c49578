"""The vectors of a generation, in Chroma."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from ..values.errors import IndexDamaged, StorageError
from ..values.message import Message
from ..values.types import Passage, Vectors
from .chroma import chroma_reader

COLLECTION = "passages"
PAGE = 10_000  # rows per read; Chroma fails above 32,766
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
        """The ids of the passages nearest to one (d,) vector, with their cosines, nearest first."""
        found = self.open().query(query_embeddings=[vector.tolist()], n_results=count, include=["distances"])
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return [(identity, 1.0 - float(distance)) for identity, distance in pairs]

    def get(self, ids: Sequence[str]) -> Mapping[str, Vectors]:
        """The (d,) vectors of passages, by id."""
        found = self.open().get(ids=list(ids), include=["embeddings"])
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
        """Check that it has every passage, and that its vector index returns them: that can lose rows without an error.

        Of hundreds of passages with equal text, and so equal vectors, a sound index may miss some.
        """
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
        expected = min(len(self._passages), CHECKED_NEIGHBOURS)
        if not expected:
            return
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


def _ids(collection: Any) -> Collection[str]:
    offsets = range(0, collection.count(), PAGE)
    return {one for offset in offsets for one in collection.get(limit=PAGE, offset=offset, include=[])["ids"]}
