"""BM25 on posting lists: the scores of `rank_bm25.BM25Okapi`, about a hundred times faster."""

from __future__ import annotations

import functools
import json
import math
import operator
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..language.analysis import without_tilde
from .passages import MappedTexts, map_array, save_arrays

Scores = NDArray[np.float64]

FOLDER = "lexical"
K1, B = 1.5, 0.75  # the defaults of rank_bm25
NEGATIVE_IDF = 0.25  # share of the mean idf that replaces a negative one; rank_bm25's epsilon
CACHED_TERMS = 1024  # whose rows are kept: those of the questions just asked
SPARSE = 8  # passages per posting of a question from which on only passages with a term get a score


class Statistics(NamedTuple):
    """What BM25 counts; the postings of a term's row r are [starts[r]:starts[r + 1]] of columns and kinds.

    Args:
        idf: (terms,) inverse document frequency.
        starts: (terms + 1,) where the postings of each term begin.
        columns: (postings,) places of the passages that contain the term, in order.
        kinds: (postings,) how often each of them does, and how long it is, by the place of that pair.
        frequencies: (pairs,) how often, with every number that occurs.
        lengths: (pairs,) number of terms of the passage, with every number that occurs.
    """

    idf: Scores
    starts: NDArray[np.int64]
    columns: NDArray[np.int32]
    kinds: NDArray[np.integer[Any]]
    frequencies: NDArray[np.int64]
    lengths: NDArray[np.int64]


NAMES = (
    *(f"{name}.npy" for name in (*Statistics._fields, "terms", "terms-starts", "terms-order")),
    "more.json",
)  # in the folder of an index


class Bm25Index:
    """BM25 term statistics, kept so that k1 and b can change at query time.

    score(d) = Σ over query terms t (repeats count) of
        idf(t) · tf(t, d) · (k1 + 1) / (tf(t, d) + k1 · (1 − b + b · |d| / avgdl))

    Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009; idf as in rank_bm25
    0.2.2 (negative idf is replaced by 0.25 × the mean idf), so scores are equal to the last bit.

    `without_tilde`: a word without ñ -> the row of the only term that is it with ñ.
    """

    def __init__(
        self,
        vocabulary: Mapping[str, int] | MappedTexts,
        without_tilde: Mapping[str, int],
        statistics: Statistics,
        passages: int,
        average_length: float,
    ) -> None:
        self._place = functools.lru_cache(maxsize=CACHED_TERMS)(vocabulary.get)
        self._vocabulary = vocabulary
        self._without_tilde = without_tilde
        self._statistics = statistics
        self._passages = passages
        self._average_length = average_length
        saturations = functools.partial(_saturations, statistics.frequencies, statistics.lengths, average_length)
        self._saturations = functools.lru_cache(maxsize=8)(saturations)

    @classmethod
    def fit(cls, documents: Iterable[Sequence[str]]) -> Bm25Index:
        """Fit on analysed passages. A collection without terms matches nothing."""
        vocabulary: dict[str, int] = {}
        numbers = array("i"), array("i"), array("i"), array("i")  # the terms themselves would take gigabytes
        rows, counts, different, lengths = numbers
        for document in documents:
            counted = Counter(document)
            rows.extend([vocabulary.setdefault(term, len(vocabulary)) for term in counted])
            counts.extend(counted.values())
            different.append(len(counted))
            lengths.append(len(document))
        by_posting, tf, per_passage, sizes = (np.array(one, np.int32) for one in numbers)
        order = np.argsort(by_posting, kind="stable")
        columns = np.repeat(np.arange(len(sizes), dtype=np.int32), per_passage)[order]
        containing = np.bincount(by_posting)
        often, sort_of_tf = np.unique(tf, return_inverse=True)
        long, sort_of_length = np.unique(sizes, return_inverse=True)
        kinds = sort_of_tf[order] * len(long) + sort_of_length[columns]
        statistics = Statistics(
            idf=_idf(containing.tolist(), len(sizes)),
            starts=np.cumsum([0, *containing], dtype=np.int64),
            columns=columns,
            kinds=kinds.astype(np.min_scalar_type(len(often) * len(long))),  # two bytes, as a rule
            frequencies=np.repeat(often, len(long)).astype(np.int64),
            lengths=np.tile(long, len(often)).astype(np.int64),
        )
        average = int(sizes.sum(dtype=np.int64)) / len(sizes) if len(sizes) else 0.0
        return cls(vocabulary, _without_tilde(vocabulary), statistics, len(sizes), average)

    def scores(self, query: Sequence[str], k1: float = K1, b: float = B) -> Scores:
        """(passages,) BM25 scores. A matching passage can score 0 or less (idf 0, tiny collections)."""
        rows = self._rows(query)
        return self._scores(rows, [self._columns(row) for row in rows], k1, b)

    def matches(self, query: Sequence[str]) -> NDArray[np.intp]:
        return self._matches([self._columns(row) for row in self._rows(query)])

    def best(self, query: Sequence[str], k: int, k1: float = K1, b: float = B) -> tuple[NDArray[np.intp], Scores]:
        """Places, in order, and scores of passages with a query term that reach the k-th best score; ties are kept."""
        rows = self._rows(query)
        columns = [self._columns(row) for row in rows]
        if SPARSE * sum(map(len, columns)) < self._passages:
            places = self._matches(columns)
            scores = self._scores(rows, [np.searchsorted(places, one) for one in columns], k1, b, len(places))
        else:
            everywhere = self._scores(rows, columns, k1, b)
            least = _reached(everywhere, columns, k)
            # passages without a query term score 0
            places = np.flatnonzero(everywhere >= least) if least > 0 else self._matches(columns)
            scores = everywhere[places]
        leading = _leading(scores, k)
        return places[leading], scores[leading]

    def by_passage(self) -> Iterator[tuple[NDArray[np.intp], Scores]]:
        """The rows of each passage's terms, and what each adds, at K1 and B, to the score of a query that has it once."""
        idf, starts, columns, kinds, *_ = self._statistics
        order = np.argsort(columns, kind="stable")
        rows = np.repeat(np.arange(len(idf)), np.diff(starts))[order]
        impacts = idf[rows] * self._saturations(K1, B)[kinds[order]]
        ends = np.cumsum(np.bincount(columns, minlength=self._passages))[:-1]
        parts = zip(np.split(rows, ends), np.split(impacts, ends), strict=True)
        return islice(parts, self._passages)  # none has one part

    def weights(self, query: Sequence[str]) -> Counter[int]:
        """How often a query has the term of each row, if all of them raise a score; else nothing."""
        counted = Counter(self._rows(query))
        return counted if all(self._statistics.idf[row] > 0 for row in counted) else Counter()

    def best_of(self, places: NDArray[np.intp], query: Sequence[str], k: int) -> tuple[NDArray[np.intp], Scores]:
        """`best` at K1 and B among passages whose places, in order, are given: only their postings are read."""
        _, starts, columns, *_ = self._statistics
        scores = np.zeros(len(places))
        for row in self._rows(query):
            held = columns[starts[row] : starts[row + 1]]
            found = np.searchsorted(held, places.astype(held.dtype))
            has = np.flatnonzero(held[np.minimum(found, len(held) - 1)] == places)
            scores[has] += self._impacts(row, K1, B, found[has])
        leading = _leading(scores, k)
        return places[leading], scores[leading]

    def document_frequency(self, query: Sequence[str]) -> int:
        return len(self.matches(query))

    def _scores(
        self,
        rows: Sequence[int],
        columns: Sequence[NDArray[np.intp]],
        k1: float,
        b: float,
        passages: int | None = None,
    ) -> Scores:
        """The scores of passages of which each row's term is in those of its columns; all, if not told how many."""
        scores = np.zeros(self._passages if passages is None else passages)
        for row, places in zip(rows, columns, strict=True):
            np.add.at(scores, places, self._impacts(row, k1, b))  # twice as fast as `scores[places] +=`
        return scores

    def _matches(self, columns: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
        if SPARSE * sum(map(len, columns)) < self._passages:
            found = np.sort(np.concatenate([np.zeros(0, np.intp), *columns]))
            return found[np.flatnonzero(np.diff(found, prepend=-1))]  # `np.unique` imports numpy.ma first
        marked = np.zeros(self._passages, np.bool_)
        for places in columns:
            marked[places] = True
        return np.flatnonzero(marked)

    def _rows(self, query: Sequence[str]) -> list[int]:
        found = (self._place(term, self._without_tilde.get(term)) for term in query)
        return [row for row in found if row is not None]

    def _columns(self, row: int) -> NDArray[np.intp]:
        starts = self._statistics.starts
        return self._statistics.columns[starts[row] : starts[row + 1]].astype(np.intp)

    def _impacts(self, row: int, k1: float, b: float, among: slice | NDArray[np.intp] = slice(None)) -> Scores:
        """What a row's term adds to the score of each of its passages, or of those at some of its postings."""
        idf, starts, _, all_kinds, *_ = self._statistics
        kinds, saturations = all_kinds[starts[row] : starts[row + 1]][among], self._saturations(k1, b)
        if len(kinds) < len(saturations):
            return np.asarray(idf[row] * saturations.take(kinds), np.float64)
        return np.asarray((idf[row] * saturations).take(kinds), np.float64)

    def save(self, generation: Path) -> None:
        folder = generation / FOLDER
        folder.mkdir()
        save_arrays(folder, self._statistics._asdict())
        MappedTexts.save(folder, "terms", list(self._vocabulary))
        more = {
            "passages": self._passages,
            "average_length": self._average_length,
            "without_tilde": dict(self._without_tilde),
        }
        (folder / "more.json").write_text(json.dumps(more), encoding="utf-8")

    @classmethod
    def load(cls, generation: Path) -> Bm25Index:
        folder = generation / FOLDER
        more = json.loads((folder / "more.json").read_text(encoding="utf-8"))
        statistics = Statistics(*(map_array(folder / f"{name}.npy") for name in Statistics._fields))
        terms = MappedTexts.load(folder, "terms")
        return cls(terms, more["without_tilde"], statistics, more["passages"], more["average_length"])


def _saturations(tf: NDArray[np.int64], lengths: NDArray[np.int64], average: float, k1: float, b: float) -> Scores:
    """The share tf · (k1 + 1) / (tf + k1 · (1 − b + b · |d| / avgdl)) of each pair of a frequency and a length."""
    # Operand order as in BM25Okapi.get_scores: it decides the last bit.
    norms = k1 * (1 - b + b * lengths / (average or 1.0))
    return np.asarray(tf * (k1 + 1) / (tf + norms), np.float64)


def _without_tilde(vocabulary: Mapping[str, int]) -> dict[str, int]:
    """The words without ñ that exactly one term is with it, and its row."""
    changed = [(without_tilde(term), row) for term, row in vocabulary.items() if without_tilde(term) != term]
    counted = Counter(word for word, _ in changed)
    return {word: row for word, row in changed if counted[word] == 1}


def _reached(scores: Scores, columns: Sequence[NDArray[np.intp]], k: int) -> float:
    """A score that k passages reach: the k-th best of those with the rarest term that has as many; 0 if none has."""
    places = min((one for one in columns if len(one) >= k > 0), key=len, default=None)
    return 0.0 if places is None else float(np.partition(scores[places], -k)[-k])


def _leading(scores: Scores, k: int) -> NDArray[np.intp]:
    """The places of the k highest scores, and of all that equal the lowest of these."""
    if k >= len(scores):
        return np.arange(len(scores))
    return np.flatnonzero(scores >= np.partition(scores, -k)[-k])


def _idf(containing: Sequence[int], passages: int) -> Scores:
    """ln((N − n + 0.5) / (n + 0.5)) for terms in n of N passages; negative values become 0.25 × the mean."""
    values = [math.log(passages - n + 0.5) - math.log(n + 0.5) for n in containing]
    if not values:
        return np.zeros(0)
    total = functools.reduce(operator.add, values)  # not sum(), which rounds differently from rank_bm25
    floor = NEGATIVE_IDF * (total / len(values))
    return np.array([value if value >= 0 else floor for value in values])
