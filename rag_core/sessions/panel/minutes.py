"""The minutes of a room: one HTML page of what was asked and answered, how people voted, and what that says."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from ..html_report import page
from .ranking import (
    HEADS,
    NEITHER,
    TIE,
    UNSAFE,
    PanelRanking,
    ballots,
    gap_in_words,
    parts,
    rank_panel,
    ranking_tables,
)
from .room import Round, Vote
from .session import PanelSession


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
