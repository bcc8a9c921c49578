"""What a room's votes say: in words and bars, then the ranking, the figures beside it, and where the two disagree."""

import functools
from collections import Counter
from collections.abc import Mapping, Sequence

import streamlit as st
from markupsafe import Markup

import rag_core
from pages.drawing import untrusted
from pages.drawing.fragments import render
from pages.drawing.translate import declared, plural, t, translated, words_for
from pages.shared import shipped, wording
from pages.shared.wording import money
from rag_core.catalog.setup import titles_of
from rag_core.sessions.panel import ranking
from rag_core.sessions.panel.ranking import Ballot, Figures, PanelRanking
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
    explained = {ranking.HEADS[2]: STRENGTH, "nDCG@10": shipped.MEANING}
    others = (t("Acceptable answers"), t("Supported sentences"), t("Cost of an answer"))
    heads = (*ranking.HEADS, "nDCG@10", *others)
    # the words say where tables cannot be compared
    tables = [
        [
            (rank, name, [*map(translated, told), *figures[one.label]], one.unsafe)
            for one, (rank, name, *told) in group
        ]
        for group in ranking.ranking_tables(found, titles)
    ]  # fmt: skip
    result = render(
        "room.result", in_short=_in_short(found, titles, shown, votes), tables=tables, found=found,
        heads=[(translated(head), translated(explained.get(head, ""))) for head in heads], alpha_means=ALPHA,
        pairs=[(ranking.gap_in_words(gap, titles), ranking.compare(gap, scores)) for gap in found.gaps],
    )  # fmt: skip
    untrusted.draw(result)


def in_short(asked: Round, votes: Sequence[Vote]) -> Markup:
    """What the votes on one question say, in words and bars."""
    titles, found = names([asked]), _ranked(tuple(ranking.ballots([asked], votes)))
    return _in_short(found, titles, [asked], votes)


def _in_short(found: PanelRanking, names: Mapping[str, str], rounds: Sequence[Round], votes: Sequence[Vote]) -> Markup:
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
    return render(
        "room.in_short", words=told, standings=found.standings, names=names, split="" if found.comparable else SPLIT,
        reasons=_reasons(rounds, votes, names),
    )  # fmt: skip


def _reasons(rounds: Sequence[Round], votes: Sequence[Vote], names: Mapping[str, str]) -> Mapping[str, str]:
    """Name of a strategy -> the reasons given for preferring it, with their counts."""
    answers = {asked.number: asked.question.answers for asked in rounds}
    given: dict[str, Counter[str]] = {}
    for vote in votes:
        if vote.round in answers and vote.better is not None and vote.reasons:
            label = answers[vote.round][vote.better].label
            given.setdefault(label, Counter()).update(vote.reasons)
    return {
        names[label]: ", ".join(f"{translated(REASONS[reason])} {count}" for reason, count in reasons.most_common())
        for label, reasons in given.items()
    }


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
