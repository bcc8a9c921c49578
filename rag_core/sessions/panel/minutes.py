"""The minutes of a room: one HTML page of what was asked, how people voted, and what that says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from ..html_report import as_text, page
from .ranking import TIE, UNSAFE, Ballot, PanelRanking, Standing, ballots, rank_by, rank_panel
from .room import Round, Vote
from .session import PanelSession


def minutes(session: PanelSession) -> str:
    """A room as HTML; the hash at its end is that of the session file."""
    room, rounds, votes = session.room, session.rounds, session.votes
    whole = rank_panel(ballots(rounds, votes))
    versions = ", ".join(f"{name} {version}" for name, version in session.versions.items())
    return page(
        room.title,
        f'<p class="soft">Minutes of a panel that voted without seeing names · room {as_text(room.code)} · '
        f"{room.opened:%d %B %Y, %H:%M} UTC</p><h1>{as_text(room.title)}</h1>{_told(whole)}"
        f"{_ranking('Ranking', whole)}{_gaps(whole)}{_parts('language', rounds, votes)}{_parts('kind', rounds, votes)}"
        f"{''.join(_question(one, votes) for one in rounds)}"
        + _section(
            "What this rests on",
            f'<p class="soft">{as_text(versions)}</p>'
            f"<p>SHA-256 of the session file's last entry: <code>{as_text(session.sha256)}</code></p>",
        ),
    )


def _told(found: PanelRanking) -> str:
    agreed = "not defined" if found.agreement is None else f"{found.agreement:.2f}"
    return (
        f"<p>{_many(found.questions, 'question')}, {_many(found.people, 'person', 'people')}, "
        f"{_many(found.votes, 'vote')}. Both answers unsafe: {found.unsafe}, left out of the preference. "
        f"Agreement (Krippendorff's α, nominal: 1 full, 0 by chance): {agreed}.</p>"
    )


def _ranking(title: str, found: PanelRanking) -> str:
    """One table a group, since nothing compares groups."""
    groups: dict[int, list[Standing]] = {}
    for one in found.standings:
        groups.setdefault(one.group, []).append(one)
    apart = (
        "" if found.comparable else '<p class="warning">Not comparable: no votes connect these tables.</p>'
    )
    return _section(title, apart + "".join(map(_group, groups.values())))


def _group(standings: Sequence[Standing]) -> str:
    shared = Counter(one.rank for one in standings)
    rows = [
        (
            f"{one.rank}{'=' if shared[one.rank] > 1 else ''}", one.label,
            f"{one.strength:+.2f} ({one.low:+.2f} to {one.high:+.2f})", one.preferred, one.tied,
            f"{one.unsafe} of {one.judged}",
        )
        for one in standings
    ]  # fmt: skip
    return _table(("Rank", "Strategy", "Strength (95 % interval)", "Preferred", "Ties", "Both unsafe"), rows)


def _gaps(found: PanelRanking) -> str:
    rows = []
    for one in found.gaps:
        told = "told apart" if one.apart else "not told apart"
        if one.more_votes:
            told += f"; about {_many(one.more_votes, 'more vote')} would"
        between = f"{one.difference:.2f} ({one.low:.2f} to {one.high:.2f})"
        rows.append((f"{one.better} over {one.worse}", between, told))
    return (
        _section("Differences", _table(("Strategies", "Difference (95 %, together)", "Result"), rows))
        if rows
        else ""
    )


def _parts(of: Literal["language", "kind"], rounds: Sequence[Round], votes: Sequence[Vote]) -> str:
    """A ranking for each language or kind, where there are several."""
    found = rank_by(of, rounds, votes)
    if len(found) < 2:
        return ""
    return "".join(_ranking(f"Ranking, {of}: {name or 'not said'}", one) for name, one in found.items())


def _question(asked: Round, votes: Sequence[Vote]) -> str:
    cast = ballots([asked], votes)
    rows = [(" / ".join(pair), *_counted(pair, cast)) for pair in sorted({one.pair for one in cast})]
    said = [one.comment for one in votes if one.round == asked.number and one.comment]
    reasons = Counter(reason for one in votes if one.round == asked.number for reason in one.reasons)
    given = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
    urgent = asked.question.triage
    return _section(
        f"{asked.number}. {asked.question.text}",
        (f'<p class="warning">{as_text(urgent.action)}</p>' if urgent.urgent else "")
        + _table(("Pair", "First better", "Second better", "Tie", "Both unsafe"), rows)
        + (f"<p>Reasons: {as_text(given)}.</p>" if given else "")
        + "".join(f"<blockquote>{as_text(one)}</blockquote>" for one in said),
    )


def _counted(pair: tuple[str, str], cast: Iterable[Ballot]) -> list[int]:
    counts = Counter(one.choice for one in cast if one.pair == pair)
    return [counts[choice] for choice in (*pair, TIE, UNSAFE)]


def _section(title: str, body: str) -> str:
    return f"<section><h2>{as_text(title)}</h2>{body}</section>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{as_text(one)}</th>" for one in heads)
    body = "".join(f"<tr>{''.join(f'<td>{as_text(one)}</td>' for one in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _many(count: int, one: str, several: str = "") -> str:
    return f"{count} {one if count == 1 else several or f'{one}s'}"
