"""The vectors of a generation in a file that is mapped into memory and searched exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..values.errors import IndexDamaged
from ..values.message import Message
from ..values.types import Vectors
from .backends import OpenVectors, VectorBackend, check_dimensions, other_passages
from .bm25 import Bm25Index
from .mapped import MappedTexts, map_array

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode

FILE = "vectors.npy"


class MappedVectors(VectorBackend):
    """(n, d) float32 in one file; rows are read where a search or a lookup touches them."""

    def write(
        self, generation: Path, nodes: Sequence[BaseNode], vectors: Vectors, bm25: Bm25Index,
        stored: Callable[[int], None],
    ) -> None:  # fmt: skip
        """Keep vectors in the order of their nodes."""
        stored(0)
        np.save(generation / FILE, np.ascontiguousarray(vectors, np.float32))

    def open(self, generation: Path, ids: MappedTexts, dimensions: int, resources: ExitStack) -> OpenVectors:
        """Map the file; it stays so as long as it is used, even if it is deleted.

        Raises:
            IndexDamaged: the file cannot be read, or has other vectors.
        """
        try:
            rows = map_array(generation / FILE)
        except (OSError, ValueError) as error:
            raise IndexDamaged(
                Message("{file} cannot be read ({reason}).", file=FILE, reason=error)
            ) from error
        if rows.ndim != 2 or rows.dtype != np.float32:
            raise IndexDamaged(Message("{file} has no vectors.", file=FILE))
        if len(rows) != len(ids):
            raise other_passages(len(rows), len(ids))
        check_dimensions(rows.shape[1], dimensions)
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
