"""Shortening and reordering a ranking."""

import functools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..language.analysis import detect_language
from ..runtime.context import Context
from ..values.errors import ConfigError
from ..values.translation import translate
from ..values.types import Hit, Outranked, Ranking, State, Term, Vectors, ordered_votes
from .base import Flow, SelectStage

ABSOLUTE = frozenset({"cosine", "judge", "s_final"})  # scales on which a threshold means the same for any list
DECIMALS = 9  # of a cosine that MMR compares
KEPT_COSINES = 100  # picks and questions whose cosines to all rows are kept for the next move


@dataclass(frozen=True)
class Top(SelectStage):
    """The first k hits. k is at least 1.

    >>> from rag_core.testing import ranking_of, sample_context
    >>> [hit.id for hit in Top(2).select(ranking_of({"a": 3, "b": 2, "c": 1}), sample_context())]
    ['a', 'b']
    """

    k: int = 5
    control: str = field(default="k of Top", compare=False, repr=False)

    @property
    def most(self) -> int:
        return self.k

    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return ranking.hits[: self.k]


@dataclass(frozen=True)
class LeaveOut(SelectStage):
    """All hits but those of some passages: what an answer owes to them shows in the answer without them.

    >>> from rag_core.testing import ranking_of, sample_context
    >>> [hit.id for hit in LeaveOut(("a",)).select(ranking_of({"a": 3, "b": 2}), sample_context())]
    ['b']
    """

    ids: tuple[str, ...] = ()

    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return [hit for hit in ranking.hits if hit.id not in self.ids]


@dataclass(frozen=True)
class Threshold(SelectStage):
    """The hits whose score is at least θ. When none is, the state keeps them and says how close the best came.

    RAG-MSR, README, Step 3: Final Filtering (S_final >= θ); θ = 0.5 is the default of its code (scoring.py). θ is on
    the ranking's scale: a cosine, the judge's score or S_final. Other scores order one list, without fixed meaning.

    >>> from rag_core.testing import ranking_of, sample_context
    >>> found = ranking_of({"a": 0.7, "b": 0.5, "c": 0.4})
    >>> [hit.id for hit in Threshold(theta=0.5).select(found, sample_context())]
    ['a', 'b']
    """

    theta: float = 0.5

    def flow(self, before: Flow) -> Flow:
        """Raises ConfigError if the scores' scale has no fixed meaning."""
        if not set(before.scales.values()) <= ABSOLUTE:
            raise ConfigError(
                f"Threshold needs {', '.join(sorted(ABSOLUTE))} scores, but {before.scores}.",
                "Put LlmRerank and Blend before it, or cut by number with Top.",
            )
        return before

    def __call__(self, state: State, ctx: Context) -> State:
        after = super().__call__(state, ctx)
        dropped = tuple(hit for ranking in state.rankings for hit in ranking)
        if not dropped or any(ranking.hits for ranking in after.rankings):
            return after
        best = max(hit.score for hit in dropped)
        shown = math.floor(1000 * best) / 1000  # not rounded up to the threshold that it missed
        shortfall = translate(
            detect_language(state.question.text),
            "The best passage reaches {best:.3f}, which is below the threshold θ = {theta:g}.",
            best=shown,
            theta=self.theta,
        )
        return replace(after, shortfall=shortfall, dropped=dropped)

    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        return [hit for hit in ranking if hit.score >= self.theta]


class Rest(NamedTuple):
    """The rows that `mmr_split` did not pick, in columns: see `Pick`; `nearest` is -1 for none."""

    rows: tuple[int, ...]
    values: tuple[float, ...]
    relevance: tuple[float, ...]
    similarity: tuple[float, ...]
    nearest: tuple[int, ...]


class Pick(NamedTuple):
    """A row of `mmr_split`: its MMR value, cosine to the question, and the picked row it is most like."""

    row: int
    value: float
    relevance: float
    similarity: float  # the cosine to `nearest`; 0 where there is none
    nearest: int | None  # none for the first pick


@dataclass(frozen=True)
class Mmr(SelectStage):
    """Maximal marginal relevance: pick k hits that are relevant and unlike one another.

    Next pick = argmax over the rest of λ · cos(question, d) − (1 − λ) · max over picked s of cos(d, s). Carbonell and
    Goldstein, "The use of MMR", SIGIR 1998; Hybrid RRF module, Retrieval Settings, uses λ = 0.7 and k = 5. The first
    pick, which has nothing to be unlike, is the most relevant hit, at λ = 0 as well.

    The score of a hit is its MMR value when it was picked; its vote shows both terms and the most similar
    passage picked before it. k is at least 1; λ = 1 orders by relevance alone, 0 by novelty alone.

    >>> from rag_core.testing import ranking_of, sample_context
    >>> found = ranking_of({"cats sleep": 0.9, "cats, sleep": 0.9, "cats hunt": 0.5}, query="cats sleep")
    >>> picked = Mmr(k=2, lambda_=0.4).select(found, sample_context())
    >>> [(hit.id, round(hit.score, 2)) for hit in picked]  # 0.4 · 1; then 0.4 · 0.5 − 0.6 · 0.5
    [('cats sleep', 0.4), ('cats hunt', -0.1)]
    """

    k: int = 5
    lambda_: float = 0.7
    control: str = field(default="k of Mmr", compare=False, repr=False)

    @property
    def most(self) -> int:
        return self.k

    def __post_init__(self) -> None:
        if not 0 <= self.lambda_ <= 1:
            raise ConfigError(f"Mmr: lambda_ must be from 0 to 1, not {self.lambda_}.")

    def flow(self, before: Flow) -> Flow:
        return before.rescored("mmr")

    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        hits = sorted(ranking, key=attrgetter("passage.id"))  # argmax takes the first of equals: ties by id
        if not hits:
            ctx.leave_out(Outranked())
            return ()
        question = ctx.embed((ranking.query.text,))[0]
        picks, rest = mmr_split(question, ctx.passage_vectors(hits), self.k, self.lambda_)
        ctx.leave_out(
            Outranked(
                tuple(hits[row].passage.id for row in rest.rows),
                rest.values,
                rest.relevance,
                tuple(hits[row].passage.id if row >= 0 else "" for row in rest.nearest),
                rest.similarity,
            )
        )
        scored = [hits[pick.row].with_score(pick.value, "mmr", terms=self._terms(pick, hits)) for pick in picks]
        return ordered_votes(scored, ranking.query, self.name)

    def _terms(self, pick: Pick, hits: Sequence[Hit]) -> tuple[Term, ...]:
        wanted = Term("cosine", pick.relevance, self.lambda_)
        if pick.nearest is None:
            return (wanted,)
        return (wanted, Term("similarity", pick.similarity, self.lambda_ - 1, hits[pick.nearest].id))


def similarities(question: NDArray[np.float32], vectors: Vectors) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n,) cosines to the question and (n, n) between rows, for MMR; rounded so that equal passages stay equal."""
    exact = vectors.astype(float)
    return _cosines(exact, question.astype(float)), np.round(exact @ exact.T, DECIMALS)


def _cosines(rows: NDArray[np.float64], vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) cosines of n rows to a vector, rounded as in `similarities`."""
    return np.asarray(np.round(rows @ vector, DECIMALS))


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of an array; those of an equal array are equal."""

    vectors: Vectors

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Rows) and np.array_equal(self.vectors, other.vectors)

    def __hash__(self) -> int:
        return hash(self.vectors.shape)


@functools.lru_cache(maxsize=1)
def _compared(rows: _Rows) -> Callable[[bytes], NDArray[np.float64]]:
    """What gives the cosines of these rows to a vector: the moves of a slider mostly compare the same rows."""
    exact = rows.vectors.astype(float)
    return functools.lru_cache(KEPT_COSINES)(lambda vector: _cosines(exact, np.frombuffer(vector)))


def mmr_split(question: NDArray[np.float32], vectors: Vectors, k: int, lambda_: float) -> tuple[list[Pick], Rest]:
    """The first k rows of `vectors` in MMR order, and the rows left, as they stood against the last pick.

    The first pick has nothing to be compared with: it is the most relevant row, and its value λ · relevance. Equal
    values go to the lower row. Rows are compared with the picks alone: k · n products, not n². With 2,000 rows that is
    a hundredth. The rows compared last are kept, with their cosines to picks. `question`, (d,), and the rows of
    `vectors`, (n, d), are L2-normalised.

    >>> question, vectors = np.array([1.0, 0.0]), np.array([[1.0, 0.0], [1.0, 0.0], [0.6, 0.8]])
    >>> picks, _ = mmr_split(question, vectors, k=2, lambda_=0.4)
    >>> [(pick.row, round(pick.value, 2)) for pick in picks]  # 0.4 · 1; then 0.4 · 0.6 − 0.6 · 0.6
    [(0, 0.4), (2, -0.12)]
    """
    cosines = _compared(_Rows(vectors))
    wanted = cosines(question.astype(float).tobytes())
    picks: list[Pick] = []
    taken = np.zeros(len(vectors), np.bool_)
    nearest = np.zeros(len(vectors))  # cosine to the pick that is most like it
    closest = np.full(len(vectors), -1)  # that pick
    values = lambda_ * wanted
    for _ in range(min(k, len(vectors))):
        if picks:
            last = picks[-1].row
            likeness = cosines(vectors[last].astype(float).tobytes())
            nearer = (likeness > nearest) | (closest < 0)
            nearest[nearer], closest[nearer] = likeness[nearer], last
            values = lambda_ * wanted - (1 - lambda_) * nearest
        best = int(np.argmax(np.where(taken, -np.inf, values if picks else wanted)))
        near = int(closest[best]) if picks else None
        picks.append(Pick(best, float(values[best]), float(wanted[best]), float(nearest[best]), near))
        taken[best] = True
    left = np.flatnonzero(~taken)
    columns = (values, wanted, nearest, closest)
    return picks, Rest(tuple(left.tolist()), *(tuple(column[left].tolist()) for column in columns))


@dataclass(frozen=True)
class Spread(SelectStage):
    """Moves passages down that repeat a document.

    The i-th passage of a document counts weight^(i − 1) of its worth; weight is 0 to 1, where 1 makes no difference.

    A passage's worth is its score as a share of the list's range, 0 (lowest) to 1 (highest), because scores of
    different scales are not comparable. Each further passage of a document tends to tell less that is new: the
    discount of α-nDCG (Clarke et al., "Novelty and diversity in information retrieval evaluation", SIGIR 2008)
    with documents in place of nuggets, and weight = 1 − α. Scores stay as they are; only the order changes.

    >>> from rag_core.testing import ranking_of, sample_context  # each of these passages is a document
    >>> [hit.id for hit in Spread(0.9).select(ranking_of({"a": 3, "b": 2, "c": 1}), sample_context())]
    ['a', 'b', 'c']
    """

    weight: float = 0.85

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise ConfigError(f"Spread: weight must be from 0 to 1, not {self.weight}.")

    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        scores = [hit.score for hit in ranking]
        low, reach = min(scores, default=0.0), max(scores, default=0.0) - min(scores, default=0.0)
        seen: Counter[str] = Counter()
        worths: list[float] = []
        for hit in ranking:
            share = (hit.score - low) / reach if reach else 1.0
            worths.append(share * self.weight ** seen[hit.passage.doc_id])
            seen[hit.passage.doc_id] += 1
        order = sorted(range(len(worths)), key=lambda row: -worths[row])
        return ordered_votes([ranking.hits[row] for row in order], ranking.query, self.name)
