"""The order of strategies by a panel's votes, with intervals that know how few people and questions there were."""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, groupby
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...values.message import Message
from ...values.trace import Trace
from .room import Round, Vote

Floats = NDArray[np.float64]

LEVEL = 0.95
REPEATS = 200  # resamples of each of the three kinds
SEED = 37  # any number would do
PRIOR = 0.5  # of a vote each way between every two strategies of a group
FLOOR = 1 / 4  # of the variance of independent votes: below it, theirs is taken
MOST_FREEDOM = 200  # degrees; with more, the quantile is within 1 % of the normal one
TIE, NEITHER, UNSAFE = "tie", "neither is good", "both unsafe"
UNDECIDED = {"tie": TIE, "neither": NEITHER, "both_unsafe": UNSAFE}  # choice of a vote -> of its ballot

HEADS = (
    Message("Rank"),
    Message("Strategy"),
    Message("Strength by the votes (log odds, 0 is average; 95 % interval)"),
    Message("Preferred, tied, judged"),
    Message("Both unsafe"),
)
FAR = 10_000  # votes that no panel will cast


@dataclass(frozen=True, slots=True, order=True)
class Ballot:
    """One vote on a question and two labels in alphabetical order: a label, TIE, NEITHER or UNSAFE."""

    question: str
    person: str
    pair: tuple[str, str]
    choice: str


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a strategy stands.

    Args:
        strength: natural logarithm of its Bradley-Terry strength, less the mean of its group; 95 % interval `low` to `high`.
        rank: from 1; strategies that were not told apart share one.
        group: from 0; strategies of different groups were never compared, not even by way of others.
        preferred, tied, judged: votes for it, ties (also those that call neither good), and all votes on a pair with it.
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

    `low` to `high` holds the `difference` of their strengths, not negative, and those of all other pairs of the group,
    in 95 % of panels. So many `more_votes` in the group would tell them apart; 0 if they are, None if no number would.
    """

    better: str
    worse: str
    difference: float
    low: float
    high: float
    more_votes: int | None

    @property
    def apart(self) -> bool:
        return self.low > 0


@dataclass(frozen=True, slots=True)
class PanelRanking:
    """What a panel says; `unsafe` of the votes preferred nothing because both answers were unsafe.

    `agreement`: Krippendorff's alpha; None if nobody judged what another did, or all votes say the same.
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
    labels = {asked.number: [one.label for one in asked.question.answers] for asked in rounds}
    found = []
    for vote in votes:
        if names := labels.get(vote.round):
            first, second = sorted((names[vote.pair.left], names[vote.pair.right]))
            choice = UNDECIDED[vote.choice] if vote.better is None else names[vote.better]
            found.append(Ballot(str(vote.round), vote.person, (first, second), choice))
    return found


def parts(rounds: Collection[Round]) -> dict[tuple[str, str], list[Round]]:
    """("language" or "kind", its name) -> its questions; nothing for what all questions have in common."""
    found: dict[tuple[str, str], list[Round]] = {}
    for of in ("language", "kind"):
        names = [getattr(one.question, of) for one in rounds]
        for name in sorted({*names} - {""} if len({*names}) > 1 else ()):
            found[of, name] = [one for one, its in zip(rounds, names, strict=True) if its == name]
    return found


def rank_panel(votes: Iterable[Ballot]) -> PanelRanking:
    """The order of the strategies that were judged.

    Strengths follow Bradley and Terry's model, computed by the iteration of Newman, "Efficient computation of rankings
    from pairwise comparisons", JMLR 24, 2023. A tie, and "neither is good", count as half a vote for each. Half a vote
    each way is added to every two strategies of a group, so that a strategy that wins every vote has a finite strength.

    Votes of one person resemble each other, and so do votes on one question. The variance is therefore the bootstrap's
    over questions, plus that over people, less that over cells (one person's votes on one question), which both contain
    (Cameron, Gelbach and Miller, "Robust inference with multiway clustering", JBES 29(2), 2011). Where it comes out far
    below the variance of independent votes, as where no vote goes against a strategy, the latter is taken. The quantile
    is Student's, with Satterthwaite's degrees of freedom (1946). With a single question or person, the interval holds
    for it alone.

    Two strategies differ if the interval of their difference excludes 0. The intervals of a group are simultaneous
    (Tukey-Kramer): all of them hold at once with the stated probability. A new rank begins where every strategy above
    differs from every strategy below. `tests/benchmarks/panel.py` measures how often this is right.
    """
    cast = sorted(votes)  # the order that they came in changes nothing
    preferred = [one for one in cast if one.choice != UNSAFE]
    labels = sorted({label for one in cast for label in one.pair})
    standings: list[Standing] = []
    gaps: list[Gap] = []
    for number, members in enumerate(_groups(labels, preferred)):
        group = _Group(members, [one for one in preferred if one.pair[0] in members])
        gaps += (found := group.gaps())
        standings += group.standings(number, found, cast)
    return PanelRanking(
        tuple(standings), tuple(gaps), len(cast), len(cast) - len(preferred),
        len({one.question for one in cast}), len({one.person for one in cast}), agreement(cast),
    )  # fmt: skip


def agreement(cast: Collection[Ballot]) -> float | None:
    """Krippendorff's alpha, nominal: 1 for full agreement, 0 for chance; None if it is not defined.

    A unit is a pair of answers to a question, a value the label that was preferred, a tie, neither good, or both unsafe.
    """
    values = sorted({one.choice for one in cast})
    said: dict[object, dict[str, int]] = defaultdict(dict)
    for one in cast:
        said[one.question, one.pair][one.person] = values.index(one.choice)
    return krippendorff(said.values(), "nominal")


def krippendorff(said: Iterable[Mapping[str, int]], distance: Literal["nominal", "ordinal"]) -> float | None:
    """Krippendorff's alpha over units, each person -> value; None if it is not defined."""
    twice = {place: each for place, each in enumerate(said) if len(each) > 1}
    if len({value for each in twice.values() for value in each.values()}) < 2:
        return None
    from evalica import alpha
    from pandas import DataFrame

    return float(alpha(DataFrame(twice), distance=distance).alpha)


def _groups(labels: Sequence[str], cast: Collection[Ballot]) -> list[tuple[str, ...]]:
    group = {label: {label} for label in labels}
    for first, second in {one.pair for one in cast}:
        joined = group[first] | group[second]
        group.update(dict.fromkeys(joined, joined))
    found = {tuple(sorted(members)) for members in group.values()}
    return sorted(found, key=lambda members: (-len(members), members))


class _Group:
    """The strengths of strategies that votes connect, and the variance of every contrast between them."""

    def __init__(self, labels: Sequence[str], cast: Sequence[Ballot]) -> None:
        self.labels, self.votes = labels, len(cast)
        self.pairs = list(combinations(range(len(labels)), 2))
        if not self.pairs:
            self.strengths, self.contrasts = np.zeros(1), np.zeros((0, 1))
            return
        numbers = {(labels[one], labels[other]): number for number, (one, other) in enumerate(self.pairs)}
        columns = [
            3 * numbers[one.pair] + (2 if one.choice in (TIE, NEITHER) else one.pair.index(one.choice)) for one in cast
        ]
        counts = np.eye(3 * len(self.pairs))[columns]  # of each pair: its first is better, its second, a tie
        self.contrasts = np.array([np.eye(len(labels))[one] - np.eye(len(labels))[other] for one, other in self.pairs])
        self.strengths = self._strengths(counts.sum(axis=0, keepdims=True))[0]
        self.independent = self._independent(counts.sum(axis=0).reshape(-1, 3))
        random = np.random.default_rng(SEED)
        questions, people = [one.question for one in cast], [one.person for one in cast]
        units = (questions, people, list(zip(questions, people, strict=True)))
        self.sizes = [len({*unit}) for unit in units]
        self.drawn = [self._drawn_again(counts, unit, random) for unit in units]

    def standings(self, number: int, gaps: Sequence[Gap], cast: Sequence[Ballot]) -> list[Standing]:
        apart = {(one.better, one.worse) for one in gaps if one.apart}
        order = sorted(range(len(self.labels)), key=lambda place: (-self.strengths[place], self.labels[place]))
        ordered = [self.labels[place] for place in order]
        rank, found = 1, []
        for above, (place, label) in enumerate(zip(order, ordered, strict=True)):
            if all((one, other) in apart for one in ordered[:above] for other in ordered[above:]):
                rank = above + 1
            strength = float(self.strengths[place])
            contrast = np.eye(len(order))[place] - 1 / len(order)
            width = self._width(contrast, together=2) if self.pairs else 0.0
            said = [one.choice for one in cast if label in one.pair]
            tied = said.count(TIE) + said.count(NEITHER)
            counts = said.count(label), tied, len(said), said.count(UNSAFE)
            found.append(Standing(label, strength, strength - width, strength + width, rank, number, *counts))
        return found

    def gaps(self) -> list[Gap]:
        found = []
        for pair, contrast in zip(self.pairs, self.contrasts, strict=True):
            signed = float(contrast @ self.strengths)
            better, worse = (self.labels[place] for place in (pair if signed >= 0 else pair[::-1]))
            difference, width = abs(signed), self._width(contrast, together=len(self.labels))
            more = more_votes(self.votes, difference, width)
            found.append(Gap(better, worse, difference, difference - width, difference + width, more))
        return found

    def _width(self, contrast: Floats, together: int) -> float:
        """Half the interval of a contrast, in which the differences of so many strategies lie together."""
        *clusters, cells = (float(np.var(drawn @ contrast, ddof=1)) for drawn in self.drawn)
        sizes = [size for size in self.sizes if size > 1]
        between = [spread * size / (size - 1) for spread, size in zip(clusters, self.sizes, strict=False) if size > 1]
        total = sum(between) - cells * (len(between) - 1)
        own = float(contrast @ self.independent @ contrast)
        if total < own * FLOOR:
            total = own
        uncertain = sum(part**2 / (size - 1) for part, size in zip([*between, cells], sizes, strict=False))
        freedom = max(total**2 / uncertain if uncertain else MOST_FREEDOM, min(sizes, default=2) - 1)
        return _quantile(together, int(min(freedom, MOST_FREEDOM))) * math.sqrt(total)

    def _drawn_again(self, counts: Floats, units: Sequence[object], random: np.random.Generator) -> Floats:
        """(REPEATS, strategies) strengths when the votes of these units are drawn again, with replacement."""
        rows = {unit: row for row, unit in enumerate(dict.fromkeys(units))}
        member = np.eye(len(rows))[[rows[unit] for unit in units]]  # (votes, units)
        drawn = random.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), size=REPEATS)
        return self._strengths(drawn @ member.T @ counts)

    def _strengths(self, counts: Floats) -> Floats:
        """(n, strategies) from (n, outcomes) votes, each row with mean 0."""
        from evalica import Winner, bradley_terry

        first, second = (np.repeat(side, 3).tolist() for side in zip(*self.pairs, strict=True))
        outcomes = [Winner.X, Winner.Y, Winner.Draw] * len(self.pairs)
        prior = np.tile([PRIOR, PRIOR, 0.0], len(self.pairs))
        found = [
            bradley_terry(first, second, outcomes, weights=row + prior, tolerance=1e-8, limit=1000) for row in counts
        ]
        logs = np.log([one.scores.sort_index().to_numpy() for one in found])
        return np.asarray(logs - logs.mean(axis=1, keepdims=True))

    def _independent(self, counts: Floats) -> Floats:
        """Covariance of the strengths if all votes were independent: the inverse of Fisher's information."""
        chance = 1 / (1 + np.exp(-self.contrasts @ self.strengths))
        weight = (counts.sum(axis=1) + 2 * PRIOR) * chance * (1 - chance)
        # a tie has no variance of its own; one vote more keeps some where all are ties
        ties = counts[:, 2].sum() / (counts.sum() + 1)
        return np.asarray((1 - ties) * np.linalg.pinv(self.contrasts.T * weight @ self.contrasts))


def more_votes(votes: int, difference: float, width: float) -> int | None:
    """How many more votes would tell two apart by a difference that stays as it is; None if it is 0.

    The half interval of n votes, w, becomes w · √(n / (n + m)) with m more, as a standard error does where people and
    questions grow with the votes. It is as small as the difference d at m = n · ((w / d)² − 1).
    """
    if difference > width:
        return 0
    return math.floor(votes * ((width / difference) ** 2 - 1)) + 1 if difference else None


@lru_cache(maxsize=1024)
def _quantile(together: int, freedom: int) -> float:
    """Of the largest difference among so many, in standard errors of one difference: Student's for two."""
    from scipy.stats import studentized_range

    return float(studentized_range.ppf(LEVEL, together, freedom) / math.sqrt(2))


def ranking_tables(found: PanelRanking, names: Mapping[str, str]) -> list[list[tuple[Standing, tuple[str, ...]]]]:
    """The rows of a ranking under `HEADS`, names by label: a table for each group, since votes do not compare groups."""
    shared = Counter((one.group, one.rank) for one in found.standings)

    def row(one: Standing) -> tuple[str, ...]:
        strength = Message("{mean:+.2f} ({low:+.2f} to {high:+.2f})", mean=one.strength, low=one.low, high=one.high)
        counts = f"{one.preferred}, {one.tied}, {one.judged}"
        equal = "=" if shared[one.group, one.rank] > 1 else ""
        return f"{one.rank}{equal}", names[one.label], strength, counts, f"{one.unsafe}"

    groups = groupby(found.standings, key=lambda one: one.group)
    return [[(one, row(one)) for one in group] for _, group in groups]


def gap_in_words(gap: Gap, names: Mapping[str, str]) -> Message:
    """What the votes say of two strategies, in a sentence."""
    both = {"better": names[gap.better], "worse": names[gap.worse]}
    if gap.apart:
        return Message("{better} is preferred to {worse}", **both)
    if gap.more_votes is None or gap.more_votes > FAR:
        return Message(
            "{better} is not told apart from {worse}, and {most:,} more votes like these would not do it",
            **both,
            most=FAR,
        )
    return Message(
        "{better} is not told apart from {worse}; more votes needed: about {count:,}",
        **both,
        count=gap.more_votes,
    )


Measured: TypeAlias = tuple[float, float, float]  # a mean and its interval, from low to high
Agreement: TypeAlias = Literal["same", "opposite", "votes", "figure", "neither", "unknown"]


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one strategy's answers in a room: sentences, those supported, mean US dollars (None for an unknown price)."""

    traces: tuple[Trace, ...]
    supported: int
    sentences: int
    cost_usd: float | None


def figures(rounds: Collection[Round]) -> dict[str, Figures]:
    """Label -> what is measured of its answers to these questions."""
    traces: dict[str, list[Trace]] = {}
    for asked in rounds:
        for one in asked.question.answers:
            traces.setdefault(one.label, []).append(one.trace)
    return {label: _figures(found) for label, found in traces.items()}


def _figures(traces: Collection[Trace]) -> Figures:
    sentences = [one for trace in traces if trace.answer for one in trace.answer.sentences]
    costs = [trace.cost_usd for trace in traces]
    known = [cost for cost in costs if cost is not None]
    return Figures(
        tuple(traces),
        sum(one.support == "supported" for one in sentences),
        len(sentences),
        sum(known) / len(known) if len(known) == len(costs) else None,
    )


def compare(gap: Gap, measured: Mapping[str, Measured | None]) -> Agreement:
    """Whether a figure, the higher the better, orders two strategies as the votes do.

    Votes tell them apart as the ranking says; a figure does where its intervals do not meet. "votes" and "figure": only
    that one tells them apart; "unknown": one of them was not measured.
    """
    better, worse = measured.get(gap.better), measured.get(gap.worse)
    if better is None or worse is None:
        return "unknown"
    if better[1] <= worse[2] and worse[1] <= better[2]:
        return "votes" if gap.apart else "neither"
    if not gap.apart:
        return "figure"
    return "same" if better[0] > worse[0] else "opposite"
