"""What a generation is searched by: two ports. A store is one small adapter, whose name the manifest keeps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..values.errors import IndexDamaged
from ..values.message import Message
from ..values.types import Vectors
from .bm25 import Bm25Index, Scores
from .mapped import MappedTexts


class OpenVectors(Protocol):
    """The vectors of one generation, open for reading. Thread-safe."""

    def nearest(self, vector: Vectors, count: int) -> Sequence[tuple[str, float]]:
        """The ids of the `count` passages nearest to one (d,) vector, with their cosines, nearest first."""

    def get(self, ids: Sequence[str]) -> Mapping[str, Vectors]:
        """The (d,) vectors of passages, by id; those that are not here are left out."""


class VectorBackend(Protocol):
    """Where vectors are kept. What it writes is searched once CURRENT names the generation."""

    def write(
        self, generation: Path, ids: Sequence[str], vectors: Vectors, bm25: Bm25Index,
        stored: Callable[[int], None],
    ) -> None:  # fmt: skip
        """Keep (n, d) vectors with rows of length 1, by id; `stored` is told how many are.

        Args:
            bm25: of the same passages; its files are in the generation's folder.
        """

    def open(self, generation: Path, ids: MappedTexts, dimensions: int, resources: ExitStack) -> OpenVectors:
        """What `write` kept, until `resources` are closed.

        Raises:
            IndexDamaged: it cannot be opened, or has other passages.
            StorageError: it cannot be opened here or now.
        """

    def lexical(self, bm25: Bm25Index, vectors: Callable[[], OpenVectors]) -> Lexical:
        """What searches a generation by words: what its folder has, unless the store does that too.

        Args:
            bm25: read from the generation's folder.
            vectors: gives what `open` gave, and opens it first if need be.
        """
        return bm25

    def keep_only(self, folder: Path, generations: Collection[str]) -> None:
        """Delete what is kept outside of an index's folder for other generations than these, named as on disk."""
        return


def other_passages(count: int, expected: int) -> IndexDamaged:
    """What is raised of a store that has another number of passages, or others, than the index."""
    return IndexDamaged(
        Message(
            "the vector store has {count} passages, not the {expected} of the index.",
            count=count,
            expected=expected,
        )
    )


class Lexical(Protocol):
    """BM25 over one generation. Thread-safe."""

    def scores(self, query: Sequence[str], k1: float = 1.5, b: float = 0.75) -> Scores:
        """(passages,) the score of each passage."""

    def best(
        self, query: Sequence[str], k: int, k1: float = 1.5, b: float = 0.75
    ) -> tuple[NDArray[np.intp], Scores]:
        """The places of the passages that score at least as the k-th best, in any order, and their scores."""

    def document_frequency(self, query: Sequence[str]) -> int:
        """Number of passages that contain a query term."""
