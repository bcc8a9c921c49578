"""The vectors of a generation in a Chroma collection: where there are too many to search each one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from ..values.errors import IndexDamaged, StorageError
from ..values.message import Message
from ..values.types import Vectors
from .backends import OpenVectors, VectorBackend, other_passages
from .bm25 import Bm25Index
from .chroma import chroma_client, chroma_reader, clear_unused
from .mapped import MappedTexts

FOLDER = "chroma"
COLLECTION = "passages"
PAGE = 10_000  # rows per read; Chroma fails above 32,766
EF_SEARCH = 1000  # HNSW parameter
# Chroma writes the vectors of few passages too; otherwise every reader would write the files anew
SYNC = {"batch_size": 1, "sync_threshold": 1}
HNSW = {"space": "cosine", "ef_construction": 200, "ef_search": EF_SEARCH, **SYNC}
CHECKED_NEIGHBOURS = 1000  # passages the health check requests from the vector index
DIFFERENT = "different"  # how many different vectors a collection has, in its metadata


class ChromaVectors(VectorBackend):
    """A collection in a folder of the generation, with ids and vectors alone."""

    def write(
        self, generation: Path, ids: Sequence[str], vectors: Vectors, bm25: Bm25Index,
        stored: Callable[[int], None],
    ) -> None:  # fmt: skip
        """Keep vectors in batches, as Chroma limits them."""
        with chroma_client(generation / FOLDER) as client:
            collection = client.create_collection(
                COLLECTION,
                configuration={"hnsw": HNSW},
                embedding_function=None,
                metadata={DIFFERENT: len({row.tobytes() for row in vectors})},
            )
            add(collection, client.get_max_batch_size(), ids, vectors, stored)
        clear_unused(generation / FOLDER)

    def open(self, generation: Path, ids: MappedTexts, dimensions: int, resources: ExitStack) -> OpenVectors:
        """Open and check the collection.

        Raises:
            IndexDamaged: it cannot be opened, or lacks a passage.
            StorageError: there is no room for a copy that can be opened.
        """
        try:
            client = chroma_reader(generation / FOLDER, resources)
            collection = client.get_collection(COLLECTION, embedding_function=None)
            check_ids(collection, ids)
            if ids:
                _check_neighbours(collection, len(ids), dimensions)
            return Collected(collection)
        except (IndexDamaged, StorageError):
            raise
        except Exception as error:  # Chroma raises many types for a corrupt store
            raise IndexDamaged(
                Message("the vector store cannot be opened ({reason}).", reason=error)
            ) from error


class Collected:
    """An open collection, searched by Chroma's approximate index."""

    def __init__(self, collection: Any) -> None:
        self._collection = collection

    def nearest(self, vector: Vectors, count: int) -> Sequence[tuple[str, float]]:
        """The ids of the passages nearest to one (d,) vector, with their cosines, nearest first."""
        found = self._collection.query(
            query_embeddings=[vector.tolist()], n_results=count, include=["distances"]
        )
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return [(identity, 1.0 - float(distance)) for identity, distance in pairs]

    def get(self, ids: Sequence[str]) -> Mapping[str, Vectors]:
        """The (d,) vectors of passages, by id; those that are not here are left out."""
        found: dict[str, Vectors] = {}
        for start in range(0, len(ids), PAGE):
            page = self._collection.get(ids=list(ids[start : start + PAGE]), include=["embeddings"])
            found.update(zip(page["ids"], page["embeddings"], strict=True))
        return found


def add(
    collection: Any, batch: int, ids: Sequence[str], vectors: Vectors, stored: Callable[[int], None]
) -> None:
    """Add vectors to a collection, at most `batch` at a time."""
    for start in range(0, len(ids), batch):
        stored(start)
        part = slice(start, start + batch)
        collection.add(ids=list(ids[part]), embeddings=vectors[part])


def check_ids(collection: Any, ids: Sequence[str]) -> None:
    """Check that a collection compares by cosine, and has these ids and no others.

    Raises:
        IndexDamaged: it does not.
    """
    configured = collection.configuration_json
    if (configured.get("hnsw") or configured["spann"])["space"] != "cosine":  # SPANN in a cluster
        raise IndexDamaged(Message("the vector store does not use cosine distance."))
    if _ids(collection) != set(ids):
        raise other_passages(collection.count(), len(ids))


def _check_neighbours(collection: Any, count: int, dimensions: int) -> None:
    """Check that the vector index finds passages: it can lose rows without an error.

    Of hundreds of passages with equal vectors, a sound index may miss some.
    """
    expected = min(count, CHECKED_NEIGHBOURS)
    probe = np.ones(dimensions, np.float32) / np.sqrt(dimensions)
    found = collection.query(query_embeddings=[probe.tolist()], n_results=expected, include=[])
    repeated = count - int(collection.metadata[DIFFERENT])
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
