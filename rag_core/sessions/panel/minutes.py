"""The minutes of a room: one HTML page of what was asked and answered, how people voted, and what that says."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from ...values.message import Message
from ..html_report import page
from .ranking import NEITHER, TIE, UNSAFE, Gap, PanelRanking, Standing, ballots, parts, rank_panel
from .room import Round, Vote
from .session import PanelSession

HEADS = (
    Message("Rank"),
    Message("Strategy"),
    Message("Strength by the votes (log odds, 0 is average; 95 % interval)"),
    Message("Preferred, tied, judged"),
    Message("Both unsafe"),
)
FAR = 10_000  # votes that no panel will cast


def ranking_tables(
    found: PanelRanking, names: Mapping[str, str]
) -> list[list[tuple[Standing, tuple[str, ...]]]]:
    """The rows of a ranking under `HEADS`, names by label: a table for each group, since votes do not compare groups."""
    shared = Counter((one.group, one.rank) for one in found.standings)

    def row(one: Standing) -> tuple[str, ...]:
        strength = Message(
            "{mean:+.2f} ({low:+.2f} to {high:+.2f})", mean=one.strength, low=one.low, high=one.high
        )
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


def minutes(session: PanelSession) -> str:
    """A room as HTML; the hash at its end is that of the session file."""
    room, rounds, votes = session.room, session.rounds, session.votes
    whole = rank_panel(ballots(rounds, votes))
    by_part = {
        f"Ranking, {of}: {name}": rank_panel(cast)
        for (of, name), part in parts(rounds).items()
        if (cast := ballots(part, votes))
    }
    return page(
        "minutes.html",
        room.title,
        room=room,
        whole=whole,
        heads=HEADS,
        rankings=[
            (name, found, [[row for _, row in group] for group in ranking_tables(found, _labels(found))])
            for name, found in {"Ranking": whole, **by_part}.items()
        ],
        gaps=[
            (gap_in_words(one, _labels(whole)), f"{one.difference:.2f} ({one.low:.2f} to {one.high:.2f})")
            for one in whole.gaps
        ],
        questions=[_question(asked, votes) for asked in rounds],
        versions=", ".join(f"{name} {version}" for name, version in session.versions.items()),
        sha256=session.sha256,
    )


def _labels(found: PanelRanking) -> dict[str, str]:
    return {one.label: one.label for one in found.standings}


def _question(asked: Round, votes: Sequence[Vote]) -> dict[str, Any]:
    counts = Counter((one.pair, one.choice) for one in ballots([asked], votes))
    own = [one for one in votes if one.round == asked.number]
    reasons = Counter(reason for one in own for reason in one.reasons).most_common()
    return {
        "number": asked.number,
        "text": asked.question.text,
        "triage": asked.question.triage,
        "answers": [(one.label, one.trace.answer, one.trace.ranking) for one in asked.question.answers],
        "rows": [
            (" / ".join(pair), *(counts[pair, choice] for choice in (*pair, TIE, NEITHER, UNSAFE)))
            for pair in sorted({pair for pair, _ in counts})
        ],
        "reasons": ", ".join(f"{reason} {count}" for reason, count in reasons),
        "comments": [one.comment for one in own if one.comment],
    }
