"""The two ports through which a generation is searched, vectors and words, and the vectors mapped into memory."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ..values.errors import IndexDamaged, MissingResource
from ..values.message import Message
from ..values.owner_only import private_file
from ..values.types import Vectors
from .bm25 import K1, B, Bm25Index, Scores
from .passages import MappedTexts, map_array

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode

Stored = Callable[[int], None]  # called with the number of vectors kept so far


class OpenVectors(Protocol):
    """The vectors of one generation, open for reading. Thread-safe."""

    def nearest(self, vector: Vectors, count: int) -> Sequence[tuple[str, float]]:
        """The ids of the `count` passages nearest to one (d,) vector, with their cosines, nearest first."""

    def get(self, ids: Sequence[str]) -> Mapping[str, Vectors]:
        """The (d,) vectors of passages, by id; those that are not here are left out."""


class VectorBackend(Protocol):
    """A place that keeps vectors. A generation's are searched once CURRENT names it."""

    def write(
        self, generation: Path, nodes: Sequence[BaseNode], vectors: Vectors, bm25: Bm25Index, stored: Stored
    ) -> None:
        """Keep (n, d) vectors of length 1 under their nodes' ids; BM25's files are in the folder."""

    def open(self, generation: Path, ids: MappedTexts, dimensions: int, resources: ExitStack) -> OpenVectors:
        """Open what `write` kept, until `resources` is closed.

        Raises IndexDamaged if it is damaged or has other passages or dimensions, StorageError if it cannot be opened.
        """

    def lexical(self, bm25: Bm25Index, vectors: Callable[[], OpenVectors]) -> Lexical:
        """The index that searches a generation by words: its folder's, or the store's, for which `vectors` opens it."""
        return bm25

    def drop(self, unneeded: Callable[[str], bool]) -> None:
        """Delete the collections whose names satisfy a condition; a store in the generation's folder has none."""
        return


def damaged(generation: Path, what: str, step: str = "", kind: type[IndexDamaged] = IndexDamaged) -> IndexDamaged:
    """The error for a generation that cannot be used; `what` is wrong with it."""
    return kind(Message("{name}: {what}", name=generation.name, what=what), step)


def other_passages(count: int, expected: int) -> IndexDamaged:
    """The error for a store whose passages are not those of the index."""
    return IndexDamaged(
        Message(
            "the vector store has {count} passages, not the {expected} of the index.",
            count=count,
            expected=expected,
        )
    )


def check_kept(passages: int, ids: MappedTexts, found: int, expected: int) -> None:
    """Raise IndexDamaged unless a store has a vector for each passage, of as many numbers as the model's."""
    if passages != len(ids):
        raise other_passages(passages, len(ids))
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

    def scores(self, query: Sequence[str], k1: float = K1, b: float = B) -> Scores:
        """(passages,) the score of each passage."""

    def best(self, query: Sequence[str], k: int, k1: float = K1, b: float = B) -> tuple[NDArray[np.intp], Scores]:
        """The places of the passages that score at least as the k-th best, in any order, and their scores."""

    def document_frequency(self, query: Sequence[str]) -> int:
        """Number of passages that contain a query term."""


OWNER = "SERVER"  # file of an index's folder: what the names of its collections begin with


def collection_name(generation: Path) -> str:
    """The name of a generation's collection."""
    return f"{owner(generation.parent)}-{generation.name}"


def has_collections(folder: Path) -> bool:
    """Whether an index's folder has ever had collections."""
    return (folder / OWNER).is_file()


def owner(folder: Path) -> str:
    """What the names of an index's collections begin with: drawn once, so that the state folder can move."""
    file = folder / OWNER
    if not file.is_file():
        draft = folder / f"{OWNER}.new"
        private_file(draft)
        draft.write_text(f"rag-{uuid.uuid4().hex}", encoding="utf-8")
        draft.replace(file)
    return file.read_text(encoding="utf-8").strip()


class NoVectors(VectorBackend):
    """For a generation that is searched by words alone: nothing is embedded."""

    def write(
        self, generation: Path, nodes: Sequence[BaseNode], vectors: Vectors, bm25: Bm25Index, stored: Stored
    ) -> None:
        return

    def open(self, generation: Path, ids: MappedTexts, dimensions: int, resources: ExitStack) -> OpenVectors:
        corpus = generation.parents[1].name
        raise MissingResource(
            Message(
                "Corpus {corpus!r} was indexed by words alone, without the vectors that this needs.", corpus=corpus
            ),
            Message(
                "Run `rag index PATH --corpus {corpus}`, without --only, to make them; bm25 needs none.", corpus=corpus
            ),
        )


MAPPED_FILE = "vectors.npy"


class MappedVectors(VectorBackend):
    """(n, d) float32 in one file; rows are read where a search or a lookup touches them."""

    def write(
        self, generation: Path, nodes: Sequence[BaseNode], vectors: Vectors, bm25: Bm25Index, stored: Stored
    ) -> None:
        stored(0)
        np.save(generation / MAPPED_FILE, np.ascontiguousarray(vectors, np.float32))

    def open(self, generation: Path, ids: MappedTexts, dimensions: int, resources: ExitStack) -> OpenVectors:
        try:
            rows = map_array(generation / MAPPED_FILE)
        except (OSError, ValueError) as error:
            raise IndexDamaged(Message("{file} cannot be read ({reason}).", file=MAPPED_FILE, reason=error)) from error
        if rows.ndim != 2 or rows.dtype != np.float32:
            raise IndexDamaged(Message("{file} has no vectors.", file=MAPPED_FILE))
        check_kept(len(rows), ids, rows.shape[1], dimensions)
        return _Rows(ids, rows)


class _Rows:
    def __init__(self, ids: MappedTexts, rows: Vectors) -> None:
        self._ids = ids
        self._rows = rows

    def nearest(self, vector: Vectors, count: int) -> Sequence[tuple[str, float]]:
        count = min(count, len(self._rows))
        leading = np.sort(np.argpartition(self._rows @ vector, -count)[-count:])  # equals in the order held
        # unlike a matrix product, the same for equal rows wherever they stand
        cosines = np.einsum("ij,j->i", self._rows[leading], vector)
        order = np.argsort(-cosines, kind="stable")
        return [(self._ids[leading[place]], float(cosines[place])) for place in order]

    def get(self, ids: Sequence[str]) -> Mapping[str, Vectors]:
        places = ((identity, self._ids.get(identity)) for identity in ids)
        return {identity: self._rows[place] for identity, place in places if place is not None}
