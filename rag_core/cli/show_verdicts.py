"""What `rag answers` prints of the verdicts on answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..evaluation.answer_scores import AnswerScores, CheckedAnswer
from ..evaluation.answers import AnswerReport
from ..evaluation.statistics import Interval
from ..evaluation.verdicts import COVERED, OUTSIDE, AnswerVerdict, VerdictGroup, VerdictScores, VerdictShares
from ..values.answers import without_bold
from .layout import paragraph, say, several_lines

NAMES: dict[AnswerVerdict, str] = {
    "acceptable": "acceptable",
    "incomplete": "incomplete",
    "off_topic": "off topic",
    "harmful": "harmful",
    "abstained_wrongly": "abstained",
    "abstained_rightly": "abstained",
}


def table(scores: VerdictScores) -> None:
    """Shares of the verdicts with intervals, in all and by language; counts by kind."""
    groups = {"all": scores.everything, **scores.languages}
    _shares("covered questions", COVERED, {name: group.covered for name, group in groups.items()})
    _shares("outside questions", OUTSIDE, {name: group.outside for name, group in groups.items()})
    _kinds({name: group for name, group in scores.kinds.items() if group.covered.n})


def summary(scores: Mapping[str, AnswerScores], *, builtin: bool) -> None:
    """One line for each strategy, for comparison.

    Args:
        builtin: whether the judged answers are the built-in ones.
    """
    found = {label: row.verdicts.everything for label, row in scores.items() if row.verdicts}
    if not found:
        return
    covered, outside = (
        max(side) for side in zip(*((one.covered.n, one.outside.n) for one in found.values()), strict=True)
    )
    say(f"\nVerdicts on {covered} answers, and on {outside} questions outside the collection", bold=True)
    heads = "".join(f" {NAMES[verdict]}" for verdict in COVERED)
    say(f"  {'':<16}{heads} outside")
    for label, one in found.items():
        _line(label, one)
        for name, verdicts in scores[label].baselines.items():
            _line(f"  {name}", verdicts.everything)
    paragraph("Outside: share of those questions that were abstained on.")
    paragraph(
        "Top section, two sections: what the answer would be if it quoted the first passage, or the first two in the "
        "language of the question."
    )
    authors = "language models, and no clinician has reviewed them" if builtin else "the set's authors"
    paragraph(f"Verdicts compare words with statements written by {authors}.")


def _line(label: str, one: VerdictGroup) -> None:
    cells = "".join(f" {_mean(one.covered.share(verdict)):>{len(NAMES[verdict])}}" for verdict in COVERED)
    say(f"  {label:<16}{cells} {_mean(one.outside.share('abstained_rightly')):>7}", hang=16)


def listing(report: AnswerReport) -> None:
    """Every judged question with its verdict, what is missing or unwanted, and the answer."""
    for label in report.outcomes:
        say(f"\nAnswers of {label}", bold=True)
        for question, outcome in report.assessed(label):
            say(f"\n{question.id} ({question.language}, {question.kind}): {question.text}", bold=True)
            if not isinstance(outcome, CheckedAnswer):
                say(f"  failed: {outcome}", fg="yellow")
                continue
            if assessment := outcome.assessment:
                say(
                    f"  {assessment.verdict.replace('_', ' ')}",
                    fg=None if assessment.verdict in RIGHT else "yellow",
                )
                _statements("missing", assessment.missing)
                _statements("unwanted", assessment.unwanted)
            if outcome.trace.answer:
                several_lines(without_bold(outcome.trace.answer.text))


RIGHT: tuple[AnswerVerdict, ...] = ("acceptable", "abstained_rightly")


def _statements(what: str, statements: Sequence[str]) -> None:
    for statement in statements:
        say(f"  {what}: {statement}", hang=4)


def _shares(title: str, verdicts: Sequence[AnswerVerdict], groups: Mapping[str, VerdictShares]) -> None:
    groups = {name: group for name, group in groups.items() if group.n}
    if not groups:
        return
    say(f"  {title:<20}" + "".join(f"{f'{name} ({group.n})':<18}" for name, group in groups.items()).rstrip())
    for verdict in verdicts:
        cells = "".join(f"{_interval(group.share(verdict)):<18}" for group in groups.values())
        say(f"    {NAMES[verdict]:<18}{cells}".rstrip(), hang=18)


def _kinds(kinds: Mapping[str, VerdictGroup]) -> None:
    say(f"  {'by kind':<18}" + "  ".join(NAMES[verdict] for verdict in COVERED))
    for name, group in kinds.items():
        cells = "  ".join(
            f"{group.covered.counts.get(verdict, 0):>{len(NAMES[verdict])}}" for verdict in COVERED
        )
        say(f"    {name:<16}{cells}  of {group.covered.n}", hang=18)


def _interval(share: Interval | None) -> str:
    return f"{share.mean:.2f} ({share.low:.2f}–{share.high:.2f})" if share else "n/a"


def _mean(share: Interval | None) -> str:
    return f"{share.mean:.2f}" if share else "n/a"
