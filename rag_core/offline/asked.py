"""Searching by the questions that passages are known to answer.

A question is compared with questions, which are more like it than text is: doc2query (Nogueira et al. 2019), HyPE and
QuOTE (arXiv 2502.10976) write them with a model; those of the built-in collection people wrote.
"""

from __future__ import annotations

import copy
import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..documents.asked import Asked
from ..language.analysis import language_of, tokens
from ..runtime.services import Embedder
from ..values.types import Hit, Passage, Vectors
from .scorer import bm25_among

SAME = (
    0.95  # cosine from which a known question is the question asked; of the outside questions of dev, none is so near
)
# A search orders the COMPARED nearest passages by cosine + WORDS · BM25 per term of the question. One of grade 2 is
# first for 0.77 of 230 dev questions; by cosines alone for 0.67, with those of four-letter grams for words for 0.76.
COMPARED, WORDS = 50, 0.2
REMEMBERED = 64  # questions whose comparison is kept: a run makes it for each of its queries several times


class AskedIndex:
    """The known questions of a corpus's passages, and of none (`AskedQuestions`), `taught` of them by people. Thread-safe.

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
        self._places = np.flatnonzero(self._owners)  # of the passages that may be found: not "", of questions outside
        self._by_name = np.argsort(np.argsort(self._owners))  # of equally likely ones, the first by id
        self._place = {owner: place for place, owner in enumerate(self._owners)}
        places = np.array([self._place[one.passage] for one in asked], np.intp)
        self._order = np.argsort(places, kind="stable")  # a passage's questions side by side
        self._asked: list[Asked] = [asked[row] for row in self._order.tolist()]
        self._starts = np.searchsorted(places[self._order], np.arange(len(self._owners)))
        self._ends = np.append(self._starts[1:], len(asked))
        self._compare = functools.lru_cache(REMEMBERED)(self._compare_anew)
        self._terms = functools.cache(self._count_terms)
        self.key = asked_key(asked, embedder.key)
        self.taught = sum(1 for one in asked if one.taught)

    def among(self, fits: Callable[[Passage], bool]) -> AskedIndex:
        """The same, whose searches find the best of the passages that fit."""
        asked = copy.copy(self)
        fitting = [place for owner, place in self._place.items() if owner and fits(self._passages[owner])]
        asked._places = np.array(fitting, np.intp)
        return asked

    def unlike(self, questions: Sequence[str]) -> AskedIndex | None:
        """The same without the known questions that are one of these or nearly (`SAME`); None if none is left."""
        vectors, _ = self._embedder.embed(questions, "query")
        known = np.concatenate(self._vectors())[self._order]
        left = (known @ vectors.T).max(axis=1, initial=-1.0) < SAME
        asked = [one for one, other in zip(self._asked, left, strict=True) if other]
        own = known[left]
        return AskedIndex(asked, lambda: [own], self._embedder, self._passages) if asked else None

    def search(self, question: str, k: int) -> list[Hit]:
        cosines, highest = self._compare(question)
        order = np.lexsort((self._by_name[self._places], -highest[self._places]))[: max(k, COMPARED)]
        nearest = self._places[order].tolist()
        words = self.words_among(question, [self._owners[place] for place in nearest])
        scores = highest[nearest] + np.array(words, float)
        return [
            Hit(
                self._passages[self._owners[nearest[i]]],
                float(scores[i]),
                "likeness",
                note=self._nearest(nearest[i], cosines),
            )
            for i in np.argsort(-scores, kind="stable")[:k].tolist()
        ]

    def _nearest(self, place: int, cosines: NDArray[np.float32]) -> str:
        start = int(self._starts[place])
        return self._asked[start + int(cosines[start : self._ends[place]].argmax())].words

    def of(self, passage: str) -> Sequence[Asked]:
        place = self._place.get(passage)
        return [] if place is None else self._asked[self._starts[place] : self._ends[place]]

    def likeness(self, question: str, passages: Iterable[str]) -> list[float | None]:
        _, nearest = self._compare(question)
        places = (self._place.get(identity) for identity in passages)
        return [None if place is None else float(nearest[place]) for place in places]

    def words_among(self, question: str, passages: Sequence[str]) -> list[float | None]:
        """WORDS · BM25 per term of a question, each passage's questions as one text; None for a passage without any.

        With the passages as the entire collection (`bm25_among`): among sections on one subject its own words weigh
        little, and the others tell which of them is meant. To be added to `likeness`.
        """
        places = [self._place.get(identity) for identity in passages]
        terms = dict.fromkeys(tokens(question, language_of(question)), 1.0)
        counted = [Counter[str]() if place is None else self._terms(place) for place in places]
        scores = (WORDS * bm25_among(terms, counted) / max(len(terms), 1)).tolist()
        return [None if place is None else score for place, score in zip(places, scores, strict=True)]

    def contrast(self, question: str) -> float | None:
        outside = self._place.get("")
        if outside is None:
            return None
        _, nearest = self._compare(question)
        return float(np.delete(nearest, outside).max() - nearest[outside])

    def has(self, question: str) -> bool:
        """Whether it is a known question of a passage, or nearly one (`SAME`)."""
        _, nearest = self._compare(question)
        return bool(nearest[self._places].max(initial=-1.0) >= SAME)

    def knows(self, question: str, passages: Iterable[str]) -> bool:
        return any((near or 0) >= SAME for near in self.likeness(question, passages))

    def _count_terms(self, place: int) -> Counter[str]:
        rows = self._asked[self._starts[place] : self._ends[place]]
        return Counter(term for one in rows for term in tokens(one.question, one.language))

    def _compare_anew(self, question: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """(questions,) cosines to the known ones; (passages,) the highest of each passage that has questions."""
        (vector,), _ = self._embedder.embed([question], "query")
        cosines = np.concatenate([part @ vector for part in self._vectors()])[self._order]
        return cosines, np.maximum.reduceat(cosines, self._starts)


def asked_key(asked: Iterable[Asked], embedder: str) -> str:
    """Eight hexadecimal digits of questions, their passages, and the model they are compared with."""
    rows = [one[:3] for one in asked]
    return hashlib.sha256(repr((embedder, rows)).encode()).hexdigest()[:8]
