"""Searching by the questions that passages are known to answer.

A question is compared with questions, which are more like it than text is: doc2query (Nogueira et al. 2019), HyPE and
QuOTE (arXiv 2502.10976) write them with a model; those of the built-in collection people wrote.
"""

from __future__ import annotations

import functools
import hashlib
import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..documents.asked import Asked
from ..runtime.services import Embedder
from ..values.types import Hit, Passage, Vectors

REMEMBERED = 64  # questions whose comparison is kept: a run makes it for each of its queries several times


class _Compared(NamedTuple):
    """(questions,) cosines to one question, and (passages,) the highest of each passage that has questions."""

    cosines: NDArray[np.float32]
    nearest: NDArray[np.float32]


class AskedIndex:
    """The known questions of a corpus's passages. Thread-safe.

    Args:
        asked: grouped by passage.
        vectors: returns the (n, d) vectors of those questions, rows L2-normalised; called once, when first searched.
        embedder: the model that made them.
        passages: the corpus's, by id.
    """

    def __init__(
        self,
        asked: Sequence[Asked],
        vectors: Callable[[], Vectors],
        embedder: Embedder,
        passages: Mapping[str, Passage],
    ) -> None:
        self._asked = asked
        self._vectors = functools.cache(vectors)
        self._embedder = embedder
        self._passages = passages
        owners = [one.passage for one in asked]
        first = [row for row, owner in enumerate(owners) if row == 0 or owners[row - 1] != owner]
        self._starts = np.array(first, np.intp)
        self._ends = np.array([*first[1:], len(asked)], np.intp)
        self._owners = [owners[row] for row in first]
        self._place = {owner: place for place, owner in enumerate(self._owners)}
        self._compare = functools.lru_cache(REMEMBERED)(self._compare_anew)
        self.key = asked_key(asked, embedder.key)

    def search(self, question: str, k: int) -> list[Hit]:
        """The k passages with the questions nearest to one, by cosine; each hit's note is its nearest question."""
        compared = self._compare(question)
        nearest = compared.nearest.tolist()
        order = heapq.nsmallest(k, range(len(nearest)), lambda place: (-nearest[place], self._owners[place]))
        return [
            Hit(
                self._passages[self._owners[place]],
                nearest[place],
                "cosine",
                note=self._nearest(place, compared),
            )
            for place in order
        ]

    def _nearest(self, place: int, compared: _Compared) -> str:
        start = int(self._starts[place])
        return self._asked[start + int(compared.cosines[start : self._ends[place]].argmax())].question

    def likeness(self, question: str, passages: Iterable[str]) -> list[float | None]:
        """The cosine of a question to the nearest of each passage's, by id; None for a passage without any."""
        nearest = self._compare(question).nearest
        places = (self._place.get(identity) for identity in passages)
        return [None if place is None else float(nearest[place]) for place in places]

    def _compare_anew(self, question: str) -> _Compared:
        (vector,), _ = self._embedder.embed([question], "query")
        cosines = self._vectors() @ vector
        return _Compared(cosines, np.maximum.reduceat(cosines, self._starts))


def asked_key(asked: Iterable[Asked], embedder: str) -> str:
    """Eight hexadecimal digits of questions, their passages, and the model they are compared with."""
    return hashlib.sha256(repr((embedder, list(map(tuple, asked)))).encode()).hexdigest()[:8]
