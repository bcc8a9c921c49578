"""Searching by the questions that passages are known to answer.

A question is compared with questions, which are more like it than text is: doc2query (Nogueira et al. 2019), HyPE and
QuOTE (arXiv 2502.10976) write them with a model; those of the built-in collection people wrote.
"""

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
    """The known questions of a corpus's passages; `taught` counts those that people taught. Thread-safe.

    Args:
        vectors: returns the questions' in parts, (n, d) with L2-normalised rows; called at the first search.
        embedder: the model that made them.
    """

    def __init__(
        self,
        asked: Sequence[Asked],
        vectors: Callable[[], Sequence[Vectors]],
        embedder: Embedder,
        passages: Mapping[str, Passage],
    ) -> None:
        self._vectors = functools.cache(vectors)
        self._embedder = embedder
        self._passages = passages
        self._owners = list(dict.fromkeys(one.passage for one in asked))
        self._place = {owner: place for place, owner in enumerate(self._owners)}
        places = np.array([self._place[one.passage] for one in asked], np.intp)
        self._order = np.argsort(places, kind="stable")  # a passage's questions side by side
        self._asked: list[Asked] = [asked[row] for row in self._order.tolist()]
        self._starts = np.searchsorted(places[self._order], np.arange(len(self._owners)))
        self._ends = np.append(self._starts[1:], len(asked))
        self._compare = functools.lru_cache(REMEMBERED)(self._compare_anew)
        self.key = asked_key(asked, embedder.key)
        self.taught = sum(1 for one in asked if one.taught)

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
        return self._asked[start + int(compared.cosines[start : self._ends[place]].argmax())].words

    def of(self, passage: str) -> Sequence[Asked]:
        """The questions of a passage, by its id."""
        place = self._place.get(passage)
        return [] if place is None else self._asked[self._starts[place] : self._ends[place]]

    def likeness(self, question: str, passages: Iterable[str]) -> list[float | None]:
        """The cosine of a question to the nearest of each passage's, by id; None for a passage without any."""
        nearest = self._compare(question).nearest
        places = (self._place.get(identity) for identity in passages)
        return [None if place is None else float(nearest[place]) for place in places]

    def _compare_anew(self, question: str) -> _Compared:
        (vector,), _ = self._embedder.embed([question], "query")
        cosines = np.concatenate([part @ vector for part in self._vectors()])[self._order]
        return _Compared(cosines, np.maximum.reduceat(cosines, self._starts))


def asked_key(asked: Iterable[Asked], embedder: str) -> str:
    """Eight hexadecimal digits of questions, their passages, and the model they are compared with."""
    rows = [one[:3] for one in asked]
    return hashlib.sha256(repr((embedder, rows)).encode()).hexdigest()[:8]
