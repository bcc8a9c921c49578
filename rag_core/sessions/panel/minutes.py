"""The minutes of a room: one HTML page of what was asked, how people voted, and what that says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from ...values.message import Message
from ..html_report import as_text, page
from .ranking import TIE, UNSAFE, Gap, PanelRanking, Standing, ballots, parts, rank_panel
from .room import Round, Vote
from .session import PanelSession

HEADS = (
    Message("Rank"),
    Message("Strategy"),
    Message("Strength by the votes"),
    Message("Preferred, tied, judged"),
    Message("Both unsafe"),
)
FAR = 10_000  # votes that no panel will cast


def ranking_tables(
    found: PanelRanking, names: Mapping[str, str]
) -> list[list[tuple[Standing, tuple[str, ...]]]]:
    """The rows of a ranking under `HEADS`, a table for each group, since votes do not compare groups.

    Args:
        names: label -> what to call the strategy.
    """
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
    rankings = "".join(_ranking(title, found) for title, found in {"Ranking": whole, **by_part}.items())
    versions = ", ".join(f"{name} {version}" for name, version in session.versions.items())
    return page(
        room.title,
        '<p class="soft">Minutes of a panel that voted without seeing names · '
        f"room {as_text(room.code)} · {room.opened:%d %B %Y, %H:%M} UTC</p><h1>{as_text(room.title)}</h1>"
        f"{_summary(whole)}{rankings}{_gaps(whole)}{''.join(_question(one, votes) for one in rounds)}"
        f'<section><h2>What this rests on</h2><p class="soft">{as_text(versions)}</p>'
        f"<p>SHA-256 of the session file's last entry: <code>{as_text(session.sha256)}</code></p></section>",
    )


def _summary(found: PanelRanking) -> str:
    agreed = "not defined" if found.agreement is None else f"{found.agreement:.2f}"
    return (
        f"<p>Questions: {found.questions}. People: {found.people}. Votes: {found.votes}. "
        f"Both answers unsafe: {found.unsafe}, left out of the preference. "
        f"Agreement (Krippendorff's α, nominal: 1 full, 0 by chance): {agreed}.</p>"
    )


def _ranking(title: str, found: PanelRanking) -> str:
    names = {one.label: one.label for one in found.standings}
    apart = (
        "" if found.comparable else '<p class="warning">Not comparable: no votes connect these tables.</p>'
    )
    tables = "".join(_table(HEADS, [row for _, row in group]) for group in ranking_tables(found, names))
    return f"<section><h2>{as_text(title)}</h2>{apart}{tables}</section>"


def _gaps(found: PanelRanking) -> str:
    names = {one.label: one.label for one in found.standings}
    rows = [
        (gap_in_words(one, names), f"{one.difference:.2f} ({one.low:.2f} to {one.high:.2f})")
        for one in found.gaps
    ]
    table = _table(("Strategies", "Difference (95 % intervals that hold together)"), rows)
    return f"<section><h2>Differences</h2>{table}</section>" if rows else ""


def _question(asked: Round, votes: Sequence[Vote]) -> str:
    """How people voted on a question, and what they said of it."""
    counts = Counter((one.pair, one.choice) for one in ballots([asked], votes))
    rows = [
        (" / ".join(pair), *(counts[pair, choice] for choice in (*pair, TIE, UNSAFE)))
        for pair in sorted({pair for pair, _ in counts})
    ]
    own = [one for one in votes if one.round == asked.number]
    reasons = Counter(reason for one in own for reason in one.reasons).most_common()
    given = ", ".join(f"{reason} {count}" for reason, count in reasons)
    urgent = asked.question.triage
    return (
        f"<section><h2>{asked.number}. {as_text(asked.question.text)}</h2>"
        + (f'<p class="warning">{as_text(urgent.action)}</p>' if urgent.urgent else "")
        + _table(("Pair", "First better", "Second better", "Tie", "Both unsafe"), rows)
        + (f"<p>Reasons: {as_text(given)}.</p>" if given else "")
        + "".join(f"<blockquote>{as_text(one.comment)}</blockquote>" for one in own if one.comment)
        + "</section>"
    )


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{as_text(one)}</th>" for one in heads)
    body = "".join(f"<tr>{''.join(f'<td>{as_text(one)}</td>' for one in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
