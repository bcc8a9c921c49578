"""What a room's votes say: in words and bars, then the ranking, the figures beside it, and where the two disagree."""

import functools
from collections import Counter
from collections.abc import Mapping, Sequence

import streamlit as st

import rag_core
from pages.drawing import untrusted
from pages.drawing.pieces import tip
from pages.drawing.translate import declared, plural, t, translated, words_for
from pages.drawing.untrusted import escape
from pages.shared import shipped, wording
from pages.shared.wording import money
from rag_core.catalog.setup import titles_of
from rag_core.sessions.panel import ranking
from rag_core.sessions.panel.ranking import Ballot, Figures, Gap, Measured, PanelRanking
from rag_core.sessions.panel.room import Round, Vote

ALL = ("", "")  # of the parts of a room: every question
STRENGTH = declared(
    "How often it is preferred, by the model of Bradley and Terry, as a logarithm: 0 is the average of those judged, 1 more "
    "is 2.7 times the odds. In brackets: 95 % interval over questions and people. Strategies that the votes do not tell "
    "apart share a rank."
)
ALPHA = declared("Krippendorff's α: 1 is full agreement, 0 is what chance would give.")
SPLIT = declared(
    "Not comparable: some strategies were never compared, not even by way of others. Ranks hold within a table."
)
REASONS = words_for("reasons")
AGREEMENTS = words_for("agreements")


def draw(rounds: Sequence[Round], votes: Sequence[Vote]) -> None:
    """Draw the result of the questions that were asked, of all or of a language or kind."""
    shown = _chosen(rounds)
    found = _ranked(tuple(ranking.ballots(shown, votes)))
    if not found.votes:
        st.info(t("Nobody has voted."))
        return
    titles, measured, figures = names(rounds), ranking.figures(shown), {}
    scores = {label: shipped.measured(one.traces[0]) for label, one in measured.items()}
    for label, one in measured.items():
        score, supported = scores[label], f"{one.supported:d}/{one.sentences:d}"
        ndcg = f"{score[0]:.2f} ({score[1]:.2f}–{score[2]:.2f})" if score else "–"
        figures[label] = (ndcg, _acceptable(one), supported, money(one.cost_usd))
    pairs = _pairs(found.gaps, titles, scores) if found.gaps else ""
    untrusted.draw(
        f'{_in_short(found, titles)}{_reasons(shown, votes, titles)}<details class="rl-shipped"><summary>{escape(t("Figures"))}'
        f"</summary>{_tables(found, titles, figures)}{_about(found)}{pairs}</details>"
    )


def in_short(asked: Round, votes: Sequence[Vote]) -> str:
    """What the votes on one question say, in words and bars."""
    titles, found = names([asked]), _ranked(tuple(ranking.ballots([asked], votes)))
    return _in_short(found, titles) + _reasons([asked], votes, titles)


def _in_short(found: PanelRanking, names: Mapping[str, str]) -> str:
    """A sentence on the leading strategy, and a bar for each: the share of the votes on it that prefer it."""
    people = plural("{count} person", "{count} people", found.people)
    told = t("Nobody preferred an answer: {people}.", people=people)
    if leading := next((one for one in found.standings if one.preferred), None):
        told = t("Too close to call: {people}.", people=people)
        if found.people == 1:
            told = t("One person has voted.")
        elif {one.apart for one in found.gaps if leading.label in (one.better, one.worse)} == {True}:
            told = t("The room decided: {people}.", people=people)
        told += " " + t(
            "{name} preferred in {count} of {judged}.",
            name=names[leading.label], count=leading.preferred, judged=leading.judged,
        )  # fmt: skip
    if found.unsafe:
        told += " " + t("Both called unsafe in {count} of {judged}.", count=found.unsafe, judged=found.votes)
    rows = "".join(
        f"<li><span>{escape(names[one.label])}</span>"
        f'<span class="rl-bar"><i class="rl-done" style="flex-grow: {one.preferred:d}"></i>'
        f'<i style="flex-grow: {one.judged - one.preferred:d}"></i></span>'
        f"<span>{escape(t('{count} of {judged}', count=one.preferred, judged=one.judged))}</span></li>"
        for one in found.standings
    )
    split = "" if found.comparable else f'<p class="rl-box rl-thin">{escape(translated(SPLIT))}</p>'
    return (
        f'<p class="rl-verdict rl-decided" role="status">{escape(told)}</p><ul class="rl-preferred">{rows}</ul>{split}'
    )


def _reasons(rounds: Sequence[Round], votes: Sequence[Vote], names: Mapping[str, str]) -> str:
    answers = {asked.number: asked.question.answers for asked in rounds}
    given: dict[str, Counter[str]] = {}
    for vote in votes:
        if vote.round in answers and vote.better is not None and vote.reasons:
            label = answers[vote.round][vote.better].label
            given.setdefault(label, Counter()).update(vote.reasons)
    rows = ""
    for label, reasons in given.items():
        counts = (f"{translated(REASONS[reason])} {count:d}" for reason, count in reasons.most_common())
        rows += f"<br>{escape(names[label])}: {escape(', '.join(counts))}"
    return f'<p class="rl-apart"><b>{escape(t("Why"))}</b>{rows}</p>' if rows else ""


def _chosen(rounds: Sequence[Round]) -> Sequence[Round]:
    """The questions to count: all, or those of one language or kind where there are several."""
    if not (found := ranking.parts(rounds)):
        return rounds
    part = st.segmented_control(
        t("Questions"), [ALL, *found], default=ALL, required=True, key="panel.group",
        format_func=lambda part: untrusted.label(wording.kind(part[1]) if part != ALL else t("all questions")),
    )  # fmt: skip
    return rounds if part == ALL else found[part]


@functools.lru_cache(maxsize=32)  # the page is drawn again at every press, and resampling takes a moment
def _ranked(cast: tuple[Ballot, ...]) -> PanelRanking:

    return ranking.rank_panel(cast)


def names(rounds: Sequence[Round]) -> dict[str, str]:
    """Label -> title in the language of the visit; the label itself where titles would not tell two apart."""
    traces = {one.label: one.trace for asked in rounds for one in asked.question.answers}
    titles = {label: translated(titles_of([trace])[0]) for label, trace in traces.items()}
    several = Counter(titles.values())
    return {label: title if several[title] == 1 else label for label, title in titles.items()}


def _tables(found: PanelRanking, names: Mapping[str, str], figures: Mapping[str, Sequence[str]]) -> str:
    """The ranking, with the figures of each strategy beside it; a table for each group that votes connect."""
    explained = {ranking.HEADS[2]: STRENGTH, "nDCG@10": shipped.MEANING}
    others = (t("Acceptable answers"), t("Supported sentences"), t("Cost of an answer"))
    heads = "".join(
        f"<th>{tip(translated(head), translated(explained[head]), 'rl-how') if head in explained else escape(translated(head))}</th>"
        for head in (*ranking.HEADS, "nDCG@10", *others)
    )
    drawn = ""  # the words above say where tables cannot be compared
    for group in ranking.ranking_tables(found, names):
        rows = ""
        for one, (rank, name, *votes) in group:
            shown = [*map(translated, votes), *figures[one.label]]
            css = ' class="rl-missed"' if one.unsafe else ""
            rows += (
                f'<tr{css}><td class="rl-rank">{escape(rank)}</td><th scope="row">{escape(name)}</th>'
                f"{''.join(f'<td>{escape(cell)}</td>' for cell in shown)}</tr>"
            )
        drawn += (
            f'<div class="rl-scroll"><table class="rl-table rl-panel-result"><thead><tr>{heads}</tr></thead>'
            f"<tbody>{rows}</tbody></table></div>"
        )
    return drawn


def _acceptable(measured: Figures) -> str:
    """How many of its answers are acceptable by the judged answers, with the interval of the share."""
    from rag_core import evaluation as ev

    settings = rag_core.read_settings()
    try:
        verdicts = (ev.verdict_of(one, settings) for one in measured.traces)
        shares = ev.VerdictShares(Counter(filter(None, verdicts)))
    except rag_core.RagError:  # the judged answers cannot be read; Evaluate says so
        return "–"
    if not (share := shares.share("acceptable")):
        return "–"
    count = shares.counts.get("acceptable", 0)
    return t(
        "{count} of {judged} ({low:.0%}–{high:.0%})", count=count, judged=shares.n, low=share.low, high=share.high
    )  # fmt: skip


def _about(found: PanelRanking) -> str:
    counts = [
        plural("{count} vote", "{count} votes", found.votes),
        plural("{count} person", "{count} people", found.people),
        plural("{count} question", "{count} questions", found.questions),
        t("both unsafe: {count}", count=found.unsafe),
    ]
    alpha = t("not defined, as nobody judged what another did, or all say the same")
    if found.agreement is not None:
        alpha = f"{found.agreement:.2f}"
    agreed = tip(t("agreement {alpha}", alpha=alpha), translated(ALPHA), "rl-how")
    return f'<p class="rl-apart">{escape(" · ".join(counts))} · {agreed}</p>'


def _pairs(gaps: Sequence[Gap], names: Mapping[str, str], scores: Mapping[str, Measured | None]) -> str:

    rows = ""
    for gap in gaps:
        said = ranking.compare(gap, scores)
        css = ' class="rl-missed"' if said == "opposite" else ""
        rows += f"<tr><td>{escape(translated(ranking.gap_in_words(gap, names)))}</td><td{css}>{escape(translated(AGREEMENTS[said]))}</td></tr>"
    return (
        f"<p>{escape(t('Where do votes and figures disagree?'))}</p>"
        f'<table class="rl-table rl-safety"><thead><tr><th>{escape(t("By the votes"))}</th><th>{escape(t("By nDCG@10"))}</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )
