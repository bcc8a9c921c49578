"""A panel of known strengths, voting by chance, and how often its ranking is right."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rag_core.sessions.panel.ranking import TIE, Ballot, rank_panel

LABELS = "abcd"


@dataclass(frozen=True)
class Panel:
    """Strengths, questions and people, and how much both differ.

    Args:
        of_questions, of_people: standard deviations of what each adds to a strategy's strength.
        ties: share of ties between equals.
        each: pairs that a person judges of a question.
    """

    strengths: Sequence[float]
    questions: int
    people: int
    of_questions: float = 0.5
    of_people: float = 0.3
    ties: float = 0.25
    each: int = 3

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(combinations(range(len(self.strengths)), 2))

    def votes(self, seed: int) -> list[Ballot]:
        chance = np.random.default_rng(seed)
        size = len(self.strengths)
        questions = chance.normal(0, self.of_questions, (self.questions, size))
        people = chance.normal(0, self.of_people, (self.people, size))
        cast = []
        for question, person in np.ndindex(self.questions, self.people):
            felt = self.strengths + questions[question] + people[person]
            for place in chance.permutation(len(self.pairs))[: self.each]:
                one, other = self.pairs[place]
                first, tie = self._chances(felt[one] - felt[other])
                choice = chance.choice([TIE, LABELS[one], LABELS[other]], p=[tie, first, 1 - tie - first])
                pair = (LABELS[one], LABELS[other])
                cast.append(Ballot(str(question), str(person), pair, str(choice)))
        return cast

    def _chances(self, difference):
        first = 1 / (1 + np.exp(-difference))
        tie = self.ties * 4 * first * (1 - first)
        return (1 - tie) * first, tie

    def truth(self) -> dict[str, float]:
        """The strengths that endlessly many questions and people would give: those whose expected scores are theirs.

        By Newton's method on the score equations, independent of the library that the ranking uses.
        """
        size = len(self.strengths)
        spread = np.sqrt(2 * (self.of_questions**2 + self.of_people**2))
        nodes, weights = np.polynomial.hermite_e.hermegauss(60)
        weights = weights / weights.sum()
        score = np.zeros((size, size))
        for one, other in self.pairs:
            first, tie = self._chances(self.strengths[one] - self.strengths[other] + spread * nodes)
            score[one, other] = weights @ (first + tie / 2)
            score[other, one] = 1 - score[one, other]
        found = np.zeros(size)
        for _ in range(50):
            chance = 1 / (1 + np.exp(found[np.newaxis, :] - found[:, np.newaxis]))
            np.fill_diagonal(chance, 0)
            slope = chance * (1 - chance)
            information = np.diag(slope.sum(axis=1)) - slope
            found += np.linalg.pinv(information) @ (score - chance).sum(axis=1)
        return dict(zip(LABELS, found - found.mean(), strict=False))


@dataclass(frozen=True)
class Rates:
    """Shares of panels, or of intervals for `covered`, in which each holds."""

    ordered: float
    covered: float
    covered_together: float
    wrongly_apart: float
    apart: float


def rates(panel: Panel, repeats: int, seed: int) -> Rates:
    """How often the ranking of a panel is right."""
    truth = panel.truth()
    known = dict(zip(LABELS, panel.strengths, strict=False))
    rows = []
    for repeat in range(repeats):
        found = rank_panel(panel.votes(seed + repeat))
        places = {one.label: one for one in found.standings}
        strengths = [known[one.label] for one in found.standings]
        rows.append(
            (
                strengths == sorted(strengths, reverse=True),
                np.mean([one.low <= truth[one.label] <= one.high for one in found.standings]),
                all(one.low <= truth[one.better] - truth[one.worse] <= one.high for one in found.gaps),
                any(places[a].rank < places[b].rank and known[a] <= known[b] for a in known for b in known),
                np.mean([one.apart for one in found.gaps]),
            )
        )
    return Rates(*map(float, np.mean(rows, axis=0)))


APART = (0.9, 0.3, -0.3, -0.9)
EQUAL = (0.0, 0.0, 0.0, 0.0)
