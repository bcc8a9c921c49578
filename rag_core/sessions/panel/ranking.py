"""The order of strategies by a panel's votes, with intervals that know how few people and questions there were."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .room import Round, Vote

Floats = NDArray[np.float64]

LEVEL = 0.95
REPEATS = 200  # resamples of each of the three kinds
SEED = 37  # any number would do
PRIOR = 0.5  # of a vote each way between every two strategies of a group
MOST_FREEDOM = 200  # degrees; with more, the quantile is within 1 % of the normal one
TIE, UNSAFE = "tie", "both unsafe"
PREFERENCES = 3  # outcomes of a pair: its first, its second, a tie


@dataclass(frozen=True, slots=True, order=True)
class Ballot:
    """One vote, with names.

    Args:
        question, person: what tells them apart.
        pair: two labels in alphabetical order.
        choice: one of the two, TIE or UNSAFE.
    """

    question: str
    person: str
    pair: tuple[str, str]
    choice: str


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a strategy stands.

    Args:
        strength: natural logarithm of its Bradley-Terry strength, less the mean of its group; its 95 % interval is
            `low` to `high`.
        rank: from 1; strategies that were not told apart share one.
        group: from 0; strategies of different groups were never compared, not even by way of others. In a
            group of one, the strength and its interval are 0.
        preferred, tied, judged: votes for it, ties, and all votes on a pair with it.
        unsafe: those of `judged` that called both answers unsafe.
    """

    label: str
    strength: float
    low: float
    high: float
    rank: int
    group: int
    preferred: int
    tied: int
    judged: int
    unsafe: int


@dataclass(frozen=True, slots=True)
class Gap:
    """How two strategies of a group differ.

    Args:
        difference: of their strengths, not negative; `low` to `high` holds it, and those of all other pairs of the
            group, in 95 % of panels.
        more_votes: how many more votes in the group would tell them apart; 0 if they are, None if no number would.
    """

    better: str
    worse: str
    difference: float
    low: float
    high: float
    more_votes: int | None

    @property
    def apart(self) -> bool:
        """Whether the votes tell them apart."""
        return self.low > 0


@dataclass(frozen=True, slots=True)
class PanelRanking:
    """What a panel says.

    Args:
        standings: by group, best first.
        gaps: of every two strategies of the same group.
        votes, unsafe: all votes, and those that preferred nothing because both answers were unsafe.
        questions, people: that have a vote.
        agreement: Krippendorff's alpha; None if it is not defined: nobody judged what another did, or all votes say
            the same.
    """

    standings: tuple[Standing, ...]
    gaps: tuple[Gap, ...]
    votes: int
    unsafe: int
    questions: int
    people: int
    agreement: float | None

    @property
    def comparable(self) -> bool:
        """Whether every strategy was compared with every other, at least by way of others."""
        return len({one.group for one in self.standings}) == 1


def ballots(rounds: Collection[Round], votes: Collection[Vote]) -> list[Ballot]:
    """The votes on these rounds, with the names of what was judged."""
    asked = {one.number: one.question for one in rounds}
    found = []
    for vote in votes:
        if question := asked.get(vote.round):
            labels = [one.label for one in question.answers]
            first, second = sorted((labels[vote.pair.left], labels[vote.pair.right]))
            other = TIE if vote.choice == "tie" else UNSAFE
            choice = other if vote.better is None else labels[vote.better]
            found.append(Ballot(str(vote.round), vote.person, (first, second), choice))
    return found


def rank_by(
    of: Literal["language", "kind"], rounds: Collection[Round], votes: Collection[Vote]
) -> dict[str, PanelRanking]:
    """A ranking for the questions of each language or kind that has a vote, in alphabetical order."""
    parts: dict[str, list[Round]] = defaultdict(list)
    for one in rounds:
        parts[getattr(one.question, of)].append(one)
    cast = {name: ballots(part, votes) for name, part in sorted(parts.items())}
    return {name: rank_panel(part) for name, part in cast.items() if part}


def rank_panel(votes: Iterable[Ballot]) -> PanelRanking:
    """The order of the strategies that were judged.

    Bradley and Terry's model, where a tie is half a vote for each (`evalica`, by the iteration of Newman, "Efficient
    computation of rankings from pairwise comparisons", JMLR 24, 2023), with PRIOR of a vote each way added to every
    two strategies of a group, so that one that wins all has a finite strength.

    Votes of a person resemble each other, and so do those on a question. The variance is therefore that of resampled
    questions, plus that of resampled people, less that of what one person said of one question, which both contain (Cameron, Gelbach and
    Miller, "Robust inference with multiway clustering", JBES 29(2), 2011). Resampling both at once (Owen, "The
    pigeonhole bootstrap", 2007) counts that up to three times. The quantile is Student's, with
    Satterthwaite's degrees of freedom (1946). Where that comes out below half the variance of
    independent votes, as where no vote goes against a strategy, theirs is used. With a single question, or person, the interval is for that one.

    In 500 simulated panels of each kind, of 8 to 60 people and 5 to 20 questions (`tests/benchmarks/panel.py`), 95 to 97 %
    of the 95 % intervals held the true strength, all differences of a panel lay in theirs in 91 to 99 %, and no rank was
    wrong.

    Two strategies are told apart if the interval of their difference leaves out 0; all such intervals of a group hold
    together (Tukey and Kramer's range). A new rank begins where every strategy above is told apart from every one
    below.
    """
    cast = sorted(votes)  # the order that they came in changes nothing
    preferred = [one for one in cast if one.choice != UNSAFE]
    labels = sorted({label for one in cast for label in one.pair})
    standings: list[Standing] = []
    gaps: list[Gap] = []
    for group, members in enumerate(_groups(labels, preferred)):
        fitted = _Fitted(members, [one for one in preferred if one.pair[0] in members])
        gaps += (found := fitted.gaps())
        standings += fitted.standings(group, found, cast)
    return PanelRanking(
        tuple(standings),
        tuple(gaps),
        len(cast),
        len(cast) - len(preferred),
        len({one.question for one in cast}),
        len({one.person for one in cast}),
        agreement(cast),
    )


def agreement(cast: Collection[Ballot]) -> float | None:
    """Krippendorff's alpha, nominal: 1 for full agreement, 0 for chance; None if it is not defined.

    A unit is a pair of answers to a question, a value the label that was preferred, a tie, or both unsafe.
    """
    judged = Counter((one.question, one.pair) for one in cast)
    twice = [one for one in cast if judged[one.question, one.pair] > 1]
    values = sorted({one.choice for one in twice})
    if len(values) < 2:
        return None
    from evalica import alpha
    from pandas import DataFrame  # type: ignore[import-untyped]

    said: dict[str, dict[str, int]] = defaultdict(dict)  # unit -> person -> value
    for one in twice:
        said[f"{one.question} {one.pair}"][one.person] = values.index(one.choice)
    return float(alpha(DataFrame(said)).alpha)


def _groups(labels: Sequence[str], cast: Collection[Ballot]) -> list[list[str]]:
    """Labels that votes connect, the largest group first."""
    group = {label: {label} for label in labels}
    for first, second in {one.pair for one in cast}:
        if group[first] is not group[second]:
            group[first] |= group[second]
            for label in group[second]:
                group[label] = group[first]
    found = {id(members): sorted(members) for members in group.values()}
    return sorted(found.values(), key=lambda members: (-len(members), members))


class _Fitted:
    """The strengths of one group, and the variance of every contrast between them."""

    def __init__(self, labels: Sequence[str], cast: Sequence[Ballot]) -> None:
        self.labels = labels
        self.cast = cast
        self.pairs = list(combinations(labels, 2))
        self.places = np.array([[labels.index(one) for one in pair] for pair in self.pairs]).reshape(-1, 2)
        number = {pair: place for place, pair in enumerate(self.pairs)}
        outcome = [
            PREFERENCES * number[one.pair] + (2 if one.choice == TIE else one.pair.index(one.choice))
            for one in cast
        ]
        self.outcomes = np.array(outcome, dtype=np.intp)
        random = np.random.default_rng(SEED)
        self.strengths = self._strengths(self._counts([0] * len(cast)))[0]
        units: list[list[Any]] = [
            [one.question for one in cast],
            [one.person for one in cast],
            [(one.question, one.person) for one in cast],
        ]
        self.sizes = [len(set(unit)) for unit in units]
        self.spreads = [self._spread(unit, random) for unit in units]
        self.model = self._model_spread()

    def standings(self, group: int, gaps: Sequence[Gap], cast: Sequence[Ballot]) -> list[Standing]:
        order = sorted(
            range(len(self.labels)), key=lambda place: (-self.strengths[place], self.labels[place])
        )
        apart = {(one.better, one.worse) for one in gaps if one.apart}
        ordered = [self.labels[place] for place in order]
        rank, found = 1, []
        for above, place in enumerate(order):
            if all((one, other) in apart for one in ordered[:above] for other in ordered[above:]):
                rank = above + 1
            label, strength = self.labels[place], float(self.strengths[place])
            width = self._width(np.eye(len(order))[place] - 1 / len(order), together=2)
            own = [one for one in cast if label in one.pair]
            said = [one.choice for one in own]
            found.append(
                Standing(
                    label, strength, strength - width, strength + width, rank, group,
                    said.count(label), said.count(TIE), len(own), said.count(UNSAFE),
                )
            )  # fmt: skip
        return found

    def gaps(self) -> list[Gap]:
        found = []
        for one, other in self.places:
            better, worse = (one, other) if self.strengths[one] >= self.strengths[other] else (other, one)
            difference = float(self.strengths[better] - self.strengths[worse])
            contrast = np.eye(len(self.labels))[better] - np.eye(len(self.labels))[worse]
            width = self._width(contrast, together=len(self.labels))
            found.append(
                Gap(
                    self.labels[better], self.labels[worse], difference, difference - width, difference + width,
                    more_votes(len(self.cast), difference, width),
                )
            )  # fmt: skip
        return found

    def _width(self, contrast: Floats, together: int) -> float:
        """Half the interval of a contrast, in which the differences of so many strategies lie together."""
        *clusters, cells = (float(contrast @ spread @ contrast) for spread in self.spreads)
        sizes = [size for size in self.sizes if size > 1]
        between = [
            spread * size / (size - 1) for spread, size in zip(clusters, self.sizes, strict=False) if size > 1
        ]
        total = sum(between) - cells * (len(between) - 1)
        own = float(contrast @ self.model @ contrast)
        if total < own / 2:
            total = own
        uncertain = sum(part**2 / (size - 1) for part, size in zip([*between, cells], sizes, strict=False))
        freedom = max(total**2 / uncertain if uncertain else MOST_FREEDOM, min(sizes, default=2) - 1)
        return _quantile(together, int(min(freedom, MOST_FREEDOM))) * math.sqrt(total)

    def _counts(self, units: Sequence[Any]) -> Floats:
        """(units, outcomes) votes."""
        rows = {unit: row for row, unit in enumerate(dict.fromkeys(units))}
        counts = np.zeros((max(len(rows), 1), PREFERENCES * len(self.pairs)))
        np.add.at(counts, (np.array([rows[unit] for unit in units], dtype=np.intp), self.outcomes), 1.0)
        return counts

    def _spread(self, units: Sequence[Any], random: np.random.Generator) -> Floats:
        """Covariance of the strengths, (strategies, strategies), when these units are drawn again."""
        counts = self._counts(units)
        drawn = random.multinomial(len(counts), np.full(len(counts), 1 / len(counts)), size=REPEATS)
        return np.atleast_2d(np.cov(self._strengths(drawn @ counts), rowvar=False))

    def _strengths(self, counts: Floats) -> Floats:
        """(n, strategies) from (n, outcomes) votes, each row with mean 0."""
        if not self.pairs:
            return np.zeros((len(counts), 1))
        from evalica import Winner, bradley_terry

        first, second = (np.repeat(side, PREFERENCES).tolist() for side in self.places.T)
        outcomes = [Winner.X, Winner.Y, Winner.Draw] * len(self.pairs)
        prior = np.tile([PRIOR, PRIOR, 0.0], len(self.pairs))
        found = [
            bradley_terry(first, second, outcomes, weights=row + prior, tolerance=1e-8, limit=1000)
            for row in counts
        ]
        logs = np.log([one.scores.sort_index().to_numpy() for one in found])
        return np.asarray(logs - logs.mean(axis=1, keepdims=True))

    def _model_spread(self) -> Floats:
        """Covariance of the strengths if all votes were independent: the inverse of Fisher's information."""
        size = len(self.labels)
        information = np.zeros((size, size))
        counts = self._counts([0] * len(self.cast)).reshape(-1, PREFERENCES)
        for (one, other), row in zip(self.places, counts, strict=True):
            chance = 1 / (1 + math.exp(self.strengths[other] - self.strengths[one]))
            contrast = np.eye(size)[one] - np.eye(size)[other]
            information += (row.sum() + 2 * PRIOR) * chance * (1 - chance) * np.outer(contrast, contrast)
        # a tie has no variance of its own; one vote more keeps some where all are ties
        ties = counts[:, 2].sum() / (counts.sum() + 1)
        return np.asarray((1 - ties) * np.linalg.pinv(information))


def more_votes(votes: int, difference: float, width: float) -> int | None:
    """How many more votes would make a difference as large as its half interval; None if it is 0.

    With n votes the half interval is w; where people and questions grow with the votes, it is w · √(n / (n + m)) with m
    more (the standard error of a mean, Cochran, "Sampling Techniques", 1977, section 2.6), and the difference d stays:
    d = w · √(n / (n + m)), so m = n · ((w / d)² − 1).
    """
    if difference > width:
        return 0
    return math.floor(votes * ((width / difference) ** 2 - 1)) + 1 if difference else None


@lru_cache(maxsize=1024)
def _quantile(together: int, freedom: int) -> float:
    """Of the largest difference among so many, in standard errors of one difference: Student's for two."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(LEVEL, together, freedom) / math.sqrt(2))
