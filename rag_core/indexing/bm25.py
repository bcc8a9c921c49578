"""BM25 on posting lists: the scores of `rank_bm25.BM25Okapi`, about a hundred times faster."""

from __future__ import annotations

import functools
import json
import math
import operator
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..language.analysis import without_tilde

Scores = NDArray[np.float64]

CACHED_TERMS = 256  # impacts kept: those of the questions just asked
NEGATIVE_IDF = 0.25  # share of the mean idf that replaces a negative one; rank_bm25's epsilon


class Postings(NamedTuple):
    """The passages of each term: those of row r are columns[starts[r]:starts[r + 1]], each with a term frequency."""

    values: NDArray[np.integer[Any]] | Scores
    columns: NDArray[np.int32]
    starts: NDArray[np.int64]


class Bm25Index:
    """BM25 term statistics, kept so that k1 and b can change at query time.

    score(d) = Σ over query terms t (repeats count) of
        idf(t) · tf(t, d) · (k1 + 1) / (tf(t, d) + k1 · (1 − b + b · |d| / avgdl))

    Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009; idf as in rank_bm25
    0.2.2 (negative idf is replaced by 0.25 × the mean idf), so scores are equal to the last bit.

    Args:
        vocabulary: term -> row.
        idf: (terms,) inverse document frequency.
        frequencies: term frequencies, one row per term.
        lengths: (passages,) number of terms of each passage.
        average_length: mean of `lengths`.
    """

    def __init__(
        self,
        vocabulary: dict[str, int],
        idf: Scores,
        frequencies: Postings,
        lengths: NDArray[np.int64],
        average_length: float,
    ) -> None:
        self._vocabulary = vocabulary
        self._without_tilde: dict[str, list[int]] = {}
        for term, row in vocabulary.items():
            if without_tilde(term) != term:
                self._without_tilde.setdefault(without_tilde(term), []).append(row)
        self._idf = idf
        self._frequencies = frequencies
        self._lengths = lengths
        self._average_length = average_length
        self._impacts = functools.lru_cache(maxsize=CACHED_TERMS)(self._compute_impacts)
        self._norms = functools.lru_cache(maxsize=8)(self._compute_norms)

    @classmethod
    def fit(cls, documents: Sequence[Sequence[str]]) -> Bm25Index:
        """Fit on analysed passages. A collection without terms matches nothing."""
        if not any(documents):
            empty = Postings(np.zeros(0), np.zeros(0, np.int32), np.zeros(1, np.int64))
            return cls({}, np.zeros(0), empty, np.zeros(len(documents), np.int64), 0.0)
        frequencies = [Counter(document) for document in documents]
        containing = Counter(term for counts in frequencies for term in counts)
        vocabulary = {term: row for row, term in enumerate(containing)}
        rows = np.array([vocabulary[term] for counts in frequencies for term in counts])
        columns = np.repeat(
            np.arange(len(documents), dtype=np.int32), [len(counts) for counts in frequencies]
        )
        values = np.array([count for counts in frequencies for count in counts.values()])
        order = np.argsort(rows, kind="stable")
        starts = np.cumsum([0, *containing.values()])
        small = values[order].astype(np.min_scalar_type(values.max()))  # one byte each, as a rule
        postings = Postings(small, columns[order], starts)
        lengths = np.array([len(document) for document in documents])
        idf = _idf(list(containing.values()), len(documents))
        return cls(vocabulary, idf, postings, lengths, int(lengths.sum()) / len(documents))

    def scores(self, query: Sequence[str], k1: float = 1.5, b: float = 0.75) -> Scores:
        """(passages,) BM25 scores. A matching passage can score 0 or less (idf 0, tiny collections)."""
        scores = np.zeros(len(self._lengths))
        for term in query:
            row = self._row(term)
            if row is not None:  # `add.at` is several times faster than `scores[...] +=`
                np.add.at(scores, self._passages(row), self._impacts(row, k1, b))
        return scores

    def matches(self, query: Sequence[str]) -> NDArray[np.intp]:
        """The places of the passages that contain a query term, in order."""
        rows = {row for term in query if (row := self._row(term)) is not None}
        found = np.zeros(len(self._lengths), np.bool_)
        for row in rows:
            found[self._passages(row)] = True
        return np.flatnonzero(found)

    def best(
        self, query: Sequence[str], k: int, k1: float = 1.5, b: float = 0.75
    ) -> tuple[NDArray[np.intp], Scores]:
        """The places of the passages that score at least as the k-th best of those that contain a query term.

        Returns:
            Places in any order, k or more where others tie with the k-th, and their scores.
        """
        scores = self.scores(query, k1, b)
        places = _leading(scores, k)
        if not len(places) or scores[places].min() <= 0:  # passages without a query term score 0
            matching = self.matches(query)
            places = matching[_leading(scores[matching], k)]
        return places, scores[places]

    def document_frequency(self, query: Sequence[str]) -> int:
        """Number of passages that contain a query term."""
        return len(self.matches(query))

    def _row(self, term: str) -> int | None:
        """A term's row; an unknown term can match one with ñ for n, if only one does."""
        row = self._vocabulary.get(term)
        if row is not None:
            return row
        rows = self._without_tilde.get(term, ())
        return rows[0] if len(rows) == 1 else None

    def _passages(self, row: int) -> NDArray[np.int32]:
        """The places of the passages that contain a row's term."""
        _, columns, starts = self._frequencies
        return columns[starts[row] : starts[row + 1]]

    def _compute_impacts(self, row: int, k1: float, b: float) -> Scores:
        """What a row's term adds to the score of each of its passages."""
        values, _, starts = self._frequencies
        tf, norms = values[starts[row] : starts[row + 1]], self._norms(k1, b)
        # Operand order as in BM25Okapi.get_scores: it decides the last bit.
        impacts = self._idf[row] * (tf * (k1 + 1) / (tf + norms[self._passages(row)]))
        return np.asarray(impacts, np.float64)

    def _compute_norms(self, k1: float, b: float) -> Scores:
        """k1 · (1 − b + b · |d| / avgdl) of every passage."""
        return np.asarray(k1 * (1 - b + b * self._lengths / self._average_length), np.float64)

    def save(self, path: Path) -> None:
        """Write to one .npz file."""
        np.savez(
            path,
            vocabulary=np.frombuffer(json.dumps(list(self._vocabulary)).encode(), np.uint8),
            idf=self._idf,
            **self._frequencies._asdict(),
            lengths=self._lengths,
            average_length=self._average_length,
        )

    @classmethod
    def load(cls, path: Path) -> Bm25Index:
        """Read what `save` wrote."""
        with np.load(path) as arrays:
            terms: list[str] = json.loads(arrays["vocabulary"].tobytes().decode())
            postings = Postings(*(arrays[name] for name in Postings._fields))
            vocabulary = {term: row for row, term in enumerate(terms)}
            return cls(
                vocabulary, arrays["idf"], postings, arrays["lengths"], float(arrays["average_length"])
            )


def _leading(scores: Scores, k: int) -> NDArray[np.intp]:
    """The places of the k highest scores, and of all that equal the lowest of these."""
    if k >= len(scores):
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, -k)[-k])


def _idf(containing: Sequence[int], passages: int) -> Scores:
    """ln((N − n + 0.5) / (n + 0.5)) for terms in n of N passages; negative values become 0.25 × the mean."""
    values = [math.log(passages - n + 0.5) - math.log(n + 0.5) for n in containing]
    total = functools.reduce(operator.add, values)  # not sum(), which rounds differently from rank_bm25
    floor = NEGATIVE_IDF * (total / len(values))
    return np.array([value if value >= 0 else floor for value in values])
