"""What a room's votes say: the ranking, the figures beside it, and where the two disagree."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.tips import tip
from pages.drawing.translate import declared, language, plural, t, translated
from pages.drawing.untrusted import escape
from pages.shared import kinds, shipped
from pages.shared.amounts import money
from rag_core.catalog.setup import titles_of
from rag_core.values.sources import listed

if TYPE_CHECKING:
    from rag_core.sessions.panel import (
        Agreement,
        Ballot,
        Figures,
        Gap,
        Measured,
        PanelRanking,
        Round,
        Standing,
        Vote,
    )

STRENGTH = declared(
    "How often it is preferred, by the model of Bradley and Terry, as a logarithm: 0 is the average of those judged, 1 more "
    "is 2.7 times the odds. In brackets: 95 % interval over questions and people. Strategies that the votes do not tell "
    "apart share a rank."
)
FAR = 10_000  # votes that no panel will cast
ALPHA = declared("Krippendorff's α: 1 is full agreement, 0 is what chance would give.")
AGREEMENTS: dict[Agreement, str] = {
    "same": declared("the same"),
    "opposite": declared("the opposite"),
    "votes": declared("not told apart"),
    "figure": declared("told apart by nDCG@10 alone"),
    "neither": declared("not told apart"),
    "unknown": declared("not measured as run here"),
}


def draw(rounds: Sequence[Round], votes: Sequence[Vote]) -> None:
    """Draw the result of the questions that were asked, of all or of a language or kind."""
    from rag_core.sessions import panel

    shown = _chosen(rounds)
    found = _ranked(tuple(panel.ballots(shown, votes)))
    if not found.votes:
        st.info(t("Nobody has voted."))
        return
    titles, measured = names(rounds), panel.figures(shown)
    scores = {label: shipped.measured(one.traces[0]) for label, one in measured.items()}
    untrusted.draw(_table(found, titles, measured, scores))
    untrusted.draw(_about(found))
    if found.gaps:
        untrusted.draw(_pairs(found.gaps, titles, scores))


def _chosen(rounds: Sequence[Round]) -> list[Round]:
    """The questions to count: all, or those of one language or kind where there are several."""
    groups = [
        name
        for names in ([one.question.language for one in rounds], [one.question.kind for one in rounds])
        if len(set(names)) > 1
        for name in dict.fromkeys(filter(None, names))
    ]
    if not groups:
        return list(rounds)
    group = st.segmented_control(
        t("Questions"), ["", *groups], default="", required=True, key="panel.group",
        format_func=lambda name: untrusted.label(kinds.title(name) if name else t("all questions")),
    )  # fmt: skip
    return [one for one in rounds if group in ("", None, one.question.language, one.question.kind)]


@functools.lru_cache(maxsize=32)  # the page is drawn again at every press, and resampling takes a moment
def _ranked(cast: tuple[Ballot, ...]) -> PanelRanking:
    from rag_core.sessions.panel import rank_panel

    return rank_panel(cast)


def warm_up() -> None:
    """Load what ranks, while people vote: the first result must not wait for libraries."""
    from rag_core.sessions.panel import Ballot

    _ranked(tuple(Ballot("", person, ("a", "b"), choice) for person, choice in (("1", "a"), ("2", "b"))))


def names(rounds: Sequence[Round]) -> dict[str, str]:
    """Label -> title in the language of the visit; the label itself where titles would not tell two apart."""
    traces = {one.label: one.trace for asked in rounds for one in asked.question.answers}
    titles = {label: translated(titles_of([trace])[0]) for label, trace in traces.items()}
    several = Counter(titles.values())
    return {label: title if several[title] == 1 else label for label, title in titles.items()}


def _table(
    found: PanelRanking,
    names: Mapping[str, str],
    measured: Mapping[str, Figures],
    scores: Mapping[str, Measured | None],
) -> str:
    rows = "".join(
        _row(one, names[one.label], measured[one.label], scores[one.label]) for one in found.standings
    )
    heads = (
        f"<th>{escape(t('Rank'))}</th><th>{escape(t('Strategy'))}</th>"
        f"<th>{tip(t('Strength by the votes'), translated(STRENGTH), 'rl-how')}</th>"
        f"<th>{escape(t('Preferred, tied, judged'))}</th><th>{escape(t('Both unsafe'))}</th>"
        f"<th>{tip(t('nDCG@10'), translated(shipped.MEANING), 'rl-how')}</th>"
        f"<th>{escape(t('Acceptable answers'))}</th><th>{escape(t('Supported sentences'))}</th>"
        f"<th>{escape(t('Cost of an answer'))}</th>"
    )
    return (
        f'<div class="rl-scroll"><table class="rl-table rl-panel-result"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _row(one: Standing, name: str, measured: Figures, score: Measured | None) -> str:
    strength = t("{mean:+.2f} ({low:+.2f} to {high:+.2f})", mean=one.strength, low=one.low, high=one.high)
    counts = t("{preferred}, {tied}, {judged}", preferred=one.preferred, tied=one.tied, judged=one.judged)
    cells = (
        strength,
        counts,
        f"{one.unsafe:d}",
        f"{score[0]:.2f} ({score[1]:.2f}–{score[2]:.2f})" if score else "–",
        _acceptable(measured),
        f"{measured.supported:d}/{measured.sentences:d}",
        money(measured.cost_usd),
    )
    css = ' class="rl-missed"' if one.unsafe else ""
    return (
        f'<tr{css}><td class="rl-rank">{one.rank:d}</td><th scope="row">{escape(name)}</th>'
        f"{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"
    )


def _acceptable(measured: Figures) -> str:
    """How many of its answers are acceptable by the judged answers, with the interval of the share."""
    from rag_core import evaluation as ev

    settings = rag_core.read_settings()
    try:
        verdicts = [ev.verdict_of(trace, settings) for trace in measured.traces]
    except rag_core.RagError:  # the judged answers cannot be read; Evaluate says so
        return "–"
    shares = ev.VerdictShares(Counter(one for one in verdicts if one))
    if not (share := shares.share("acceptable")):
        return "–"
    return t(
        "{count} of {judged} ({low:.0%}–{high:.0%})",
        count=shares.counts.get("acceptable", 0),
        judged=shares.n,
        low=share.low,
        high=share.high,
    )


def _about(found: PanelRanking) -> str:
    """How much was judged and how far people agreed; where strategies cannot be compared, that they cannot."""
    counts = [
        plural("{count} vote", "{count} votes", found.votes),
        plural("{count} person", "{count} people", found.people),
        plural("{count} question", "{count} questions", found.questions),
        t("both unsafe: {count}", count=found.unsafe),
    ]
    alpha = (
        t("not defined, as nobody judged what another did, or all say the same")
        if found.agreement is None
        else f"{found.agreement:.2f}"
    )
    split = (
        ""
        if found.comparable
        else f'<p class="rl-box rl-thin">{escape(t("Not comparable: some strategies were never compared, not even by way of others. Ranks hold within a group."))}</p>'
    )
    return (
        f'{split}<p class="rl-apart">{escape(" · ".join(counts))} · '
        f"{tip(t('agreement {alpha}', alpha=alpha), translated(ALPHA), 'rl-how')}</p>"
    )


def _pairs(gaps: Sequence[Gap], names: Mapping[str, str], scores: Mapping[str, Measured | None]) -> str:
    """Every two strategies: what the votes say, and whether nDCG says the same."""
    from rag_core.sessions.panel import compare

    rows = ""
    for gap in gaps:
        said = compare(gap, scores)
        css = ' class="rl-missed"' if said == "opposite" else ""
        rows += f"<tr><td>{escape(_by_votes(gap, names))}</td><td{css}>{escape(translated(AGREEMENTS[said]))}</td></tr>"
    return (
        f'<details class="rl-shipped" open><summary>{escape(t("Where do votes and figures disagree?"))}</summary>'
        f'<table class="rl-table rl-safety"><thead><tr><th>{escape(t("By the votes"))}</th><th>{escape(t("By nDCG@10"))}</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></details>"
    )


def _by_votes(gap: Gap, names: Mapping[str, str]) -> str:
    better, worse = names[gap.better], names[gap.worse]
    if gap.apart:
        return t("{better} is preferred to {worse}", better=better, worse=worse)
    both = listed([better, worse], language())
    if gap.more_votes is None or gap.more_votes > FAR:
        return t(
            "{both} are not told apart, and {most:,} more votes like these would not do it",
            both=both,
            most=FAR,
        )
    return plural(
        "{both} are not told apart: about {count:,} more vote like these would",
        "{both} are not told apart: about {count:,} more votes like these would",
        gap.more_votes,
        both=both,
    )
