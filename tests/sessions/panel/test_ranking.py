"""The ranking of a panel: known strengths found again, intervals that hold, and nothing said that votes do not say."""

import math

import pytest
from helpers.panel import APART, EQUAL, Panel, rates

from rag_core.sessions.panel.ranking import NEITHER, TIE, UNSAFE, Ballot, agreement, more_votes, rank_panel


def cast(*votes: str) -> list[Ballot]:
    """Votes as "question person pair choice"."""
    said = {"=": TIE, "-": NEITHER, "!": UNSAFE}
    rows = [vote.split() for vote in votes]
    return [Ballot(q, p, (pair[0], pair[1]), said.get(choice, choice)) for q, p, pair, choice in rows]


def test_strengths_are_bradley_terrys_with_half_a_vote_each_way():
    found = rank_panel(cast(*(f"{n} p{n} ab a" for n in range(6)), "6 p6 ab b", "7 p7 ab ="))
    (gap,) = found.gaps
    assert gap.difference == pytest.approx(math.log((6 + 0.5 + 0.5) / (1 + 0.5 + 0.5)))
    assert [one.strength for one in found.standings] == pytest.approx([gap.difference / 2, -gap.difference / 2])
    assert [(one.preferred, one.tied, one.judged) for one in found.standings] == [(6, 1, 8), (1, 1, 8)]


@pytest.mark.parametrize(("people", "apart"), [(2, False), (12, True)])
def test_a_strategy_that_wins_all_has_a_finite_interval_that_is_not_a_point(people, apart):
    found = rank_panel(cast(*(f"q{q} p{p} ab a" for q in range(3) for p in range(people))))
    first, second = found.standings
    assert first.label == "a"
    assert math.isfinite(first.low + first.high)
    assert first.high - first.low > 0.5
    assert (first.rank, second.rank) == ((1, 2) if apart else (1, 1))


def test_unsafe_votes_are_counted_apart_and_prefer_nobody():
    safe = cast("1 p ab a", "2 p ab a", "1 q ab b")
    found = rank_panel([*safe, *cast("1 r ab !", "2 r ab !")])
    assert found.unsafe == 2
    assert [(one.unsafe, one.judged) for one in found.standings] == [(2, 5), (2, 5)]
    assert found.gaps[0].difference == rank_panel(safe).gaps[0].difference


def test_a_vote_that_neither_is_good_ranks_as_a_tie_and_agrees_with_none():
    tied, neither = (rank_panel(cast("1 p ab a", "2 p ab a", f"1 q ab {sign}")) for sign in "=-")
    assert neither.standings == tied.standings
    assert [one.tied for one in neither.standings] == [1, 1]
    # one unit, values TIE and NEITHER: observed disagreement 1, expected 1
    assert agreement(cast("1 p ab =", "1 q ab -")) == pytest.approx(0)


def test_strategies_that_no_votes_connect_are_not_comparable():
    found = rank_panel(cast("1 p ab a", "1 p bc b", "1 p de =", "1 q fg !"))
    assert not found.comparable
    assert [(one.group, one.label) for one in found.standings if one.group < 2] == [
        (0, "a"), (0, "b"), (0, "c"), (1, "d"), (1, "e"),
    ]  # fmt: skip
    assert {one.group for one in found.standings if one.label in "fg"} == {2, 3}
    assert {(one.better, one.worse) for one in found.gaps} == {("a", "b"), ("a", "c"), ("b", "c"), ("d", "e")}
    assert rank_panel(cast("1 p ab a", "1 p bc b")).comparable
    assert rank_panel([]).standings == ()


def test_how_many_more_votes_would_tell_two_apart():
    assert more_votes(100, difference=0.5, width=1.0) == 301  # (1 / 0.5)² · 100 = 400, and one to be past it
    assert more_votes(100, difference=1.1, width=1.0) == 0
    assert more_votes(100, difference=0.0, width=1.0) is None


def test_agreement_is_krippendorffs_alpha():
    # Units aa, ab, bb: coincidences a-a 2, b-b 2, a-b 1, b-a 1; observed disagreement 2/6, expected 2·3·3/(6·5) = 0.6
    votes = cast("1 p ab a", "1 q ab a", "2 p ab a", "2 q ab b", "3 p ab b", "3 q ab b", "4 p ab =")
    assert agreement(votes) == pytest.approx(1 - (2 / 6) / 0.6)
    assert agreement(cast("1 p ab a", "1 q ab a")) is None
    assert agreement(cast("1 p ab a", "2 q ab b")) is None


def test_panels_of_known_strength_are_ordered_and_covered_and_equal_ones_share_a_rank():
    """A small part of tests/benchmarks/panel.py, which says what to expect of 500."""
    known = rates(Panel(APART, 10, 30), repeats=4, seed=1)
    assert known.ordered >= 0.75
    assert known.covered >= 0.8
    assert known.wrongly_apart == 0
    assert rates(Panel(EQUAL, 6, 12), repeats=4, seed=2).wrongly_apart == 0
