"""The two ports through which a generation is searched: vectors and words. Its manifest names the store behind them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ..values.errors import IndexDamaged
from ..values.message import Message
from ..values.types import Vectors
from .bm25 import Bm25Index, Scores
from .mapped import MappedTexts

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode


class OpenVectors(Protocol):
    """The vectors of one generation, open for reading. Thread-safe."""

    def nearest(self, vector: Vectors, count: int) -> Sequence[tuple[str, float]]:
        """The ids of the `count` passages nearest to one (d,) vector, with their cosines, nearest first."""

    def get(self, ids: Sequence[str]) -> Mapping[str, Vectors]:
        """The (d,) vectors of passages, by id; those that are not here are left out."""


class VectorBackend(Protocol):
    """A place that keeps vectors. A generation's are searched once CURRENT names it."""

    def write(
        self, generation: Path, nodes: Sequence[BaseNode], vectors: Vectors, bm25: Bm25Index,
        stored: Callable[[int], None],
    ) -> None:  # fmt: skip
        """Keep (n, d) vectors, whose rows have length 1, under the ids of their nodes.

        Args:
            bm25: of the same passages; its files are in the generation's folder.
            stored: called with the number of vectors kept so far.
        """

    def open(self, generation: Path, ids: MappedTexts, dimensions: int, resources: ExitStack) -> OpenVectors:
        """Open what `write` kept, until `resources` is closed.

        Raises:
            IndexDamaged: it cannot be opened, or has other passages, or vectors of another length.
            StorageError: it cannot be opened here or now.
        """

    def lexical(self, bm25: Bm25Index, vectors: Callable[[], OpenVectors]) -> Lexical:
        """The index that searches a generation by words: its folder's, unless the store searches words too.

        Args:
            bm25: read from the generation's folder.
            vectors: returns what `open` returned, opening it first if need be.
        """
        return bm25

    def drop(self, unneeded: Callable[[str], bool]) -> None:
        """Delete the collections whose names satisfy a condition; a store in the generation's folder has none."""
        return


def other_passages(count: int, expected: int) -> IndexDamaged:
    """The error for a store whose passages are not those of the index."""
    return IndexDamaged(
        Message(
            "the vector store has {count} passages, not the {expected} of the index.",
            count=count,
            expected=expected,
        )
    )


def check_dimensions(found: int, expected: int) -> None:
    """Check that a store's vectors have as many numbers as the model's.

    Raises:
        IndexDamaged: they have not.
    """
    if found != expected:
        raise IndexDamaged(
            Message(
                "the vector store has vectors of {found} numbers, not of {expected}.",
                found=found,
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
