"""What the measuring commands print for people."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import get_args

from ..catalog import describe_changes
from ..evaluation import (
    Change,
    Measure,
    Results,
    RewriteEffect,
    StageEffect,
    StrategyResult,
    SweepResult,
    Verdict,
    parse_metric,
    titles,
)
from ..evaluation.answer_scores import AnswerScores, CheckedAnswer
from ..evaluation.answers import AnswerReport
from ..evaluation.statistics import Interval
from ..evaluation.tables import cell
from ..evaluation.trust import SafetyReport, level_of
from ..evaluation.verdicts import COVERED, OUTSIDE, AnswerVerdict, VerdictGroup, VerdictScores, VerdictShares
from ..offline.urgent import SafetyCheck
from ..values.answers import without_bold
from ..values.errors import RagError
from .layout import paragraph, say, several_lines

EFFECTS = {"": "", "cut": "shorter list", "order": "new order", "more": "longer list"}
WORST = 5  # questions listed


def results(found: Results) -> None:
    """Metrics with intervals, time, cost, and a sentence for every pair."""
    say(f"{found.queries} questions of {found.data} ({found.split}); mean and 95 % interval", bold=True)
    paragraph(found.judged_by)
    names = titles(found.manifest)
    for label, row in found.strategies.items():
        say(f"\n{label}: {names[label]}", bold=True)
        _strategy(row)
    primary = parse_metric(found.primary)
    for group, members in found.groups.items():
        if members:
            say(f"\n{primary.title} by {group}", bold=True)
        for name, member in members.items():
            cells = (f"{label} {cell(means[primary.name])}" for label, means in member.strategies.items())
            say(f"  {name:<16} n {member.queries:<4} {', '.join(cells)}")
    say()
    for pair in found.comparisons:
        paragraph(pair.verdict)
    if found.peak_memory_mb is not None:
        say(f"\n  Peak memory {found.peak_memory_mb:,.0f} MB.")


def _strategy(row: StrategyResult) -> None:
    for name, score in row.metrics.items():
        say(f"  {parse_metric(name).title:<38} {cell(score)}")
    timed = row.seconds_per_query is not None
    stages = ", ".join(f"{name} {1000 * seconds:.1f} ms" for name, seconds in row.stage_seconds.items())
    say(f"  stages: {stages}" if timed else "  rankings of another system")
    for call in row.calls:
        say(
            f"  {call.count:,} {call.purpose} calls to {call.model}: "
            f"{call.input_tokens:,} tokens in, {call.output_tokens:,} out"
        )
    pace = "" if row.seconds_per_query is None else f"{1000 * row.seconds_per_query:.1f} ms per question, "
    judged = "" if row.judged_at_10 is None else f"; {1 - row.judged_at_10:.1%} of the top 10 are unjudged"
    say(f"  {pace}cost {_dollars(row.cost_usd)}{judged}")
    if row.failed:
        say(f"  {row.failed} questions failed and are excluded from the metrics:", fg="yellow")
        for failure in row.failures:
            say(f"    {failure}", fg="yellow")


def stage_effects(effects: Mapping[str, Sequence[StageEffect]]) -> None:
    """What each stage's new order, and its cut, gained or lost."""
    say("\nStage by stage", bold=True)
    for label, rows in effects.items():
        say(f"  {label}")
        for row in rows:
            name = f"{row.stage} {row.lane}".strip()
            say(f"    {name:<28} {EFFECTS[row.effect]:<14} {row.score.mean:.3f}, {row.documents:.1f} documents")
            if row.change:
                say(
                    f"      {row.change.mean:+.3f} ({row.change.low:+.3f} to {row.change.high:+.3f}, p {row.p:.3f}) "
                    f"against {row.before}"
                )


def rewrite_effects(effects: Mapping[str, Sequence[RewriteEffect]]) -> None:
    """What each kind of rewrite contributed, for strategies that search with several queries."""
    for label, rows in effects.items():
        if rows:
            say(f"\nRewrites of {label}", bold=True)
        for row in rows:
            forms = ", ".join(
                f"{form} {errors.error_rate:.2f} (n {errors.questions})" for form, errors in row.forms.items()
            )
            say(
                f"    {row.origin:<24} error rate {row.error_rate:.2f}: {forms}; "
                f"{row.unique_relevant} relevant documents found by no other query"
            )


def changes(baseline: str, found: Mapping[str, Sequence[Change]]) -> None:
    """How many questions got better and worse, and the worst ones."""
    for label, rows in found.items():
        counts = Counter(row.verdict for row in rows)
        say(f"\n{label} compared with {baseline}", bold=True)
        say("  " + ", ".join(f"{counts[name]} {name}" for name in get_args(Verdict)))
        for row in [row for row in rows if row.verdict == "worse"][:WORST]:
            say(f"    {row.question}: {row.baseline:.3f} → {row.score:.3f}")


def sweep(result: SweepResult) -> None:
    """The winner on both splits, the settings that were run again, and the front."""
    title = parse_metric(result.metric).title
    say(
        f"{len(result.settings):,} settings of {result.strategy} on {result.tune.queries} questions "
        f"in {result.seconds:.1f} s",
        bold=True,
    )
    paragraph(result.judged_by)
    for name, row in (("best", result.best), ("default", result.default)):
        say(f"\n{name}: {result.title_of(row.controls)}", bold=True)
        for split, score in ((result.tune.split, row.tuned), (result.report.split, row.reported)):
            say(f"  {title} on {split:<6} {score.mean:.3f} ({score.low:.3f}–{score.high:.3f})")
    say(f"\n  Higher on the tuned split by: {result.best.gap:+.3f}.")
    paragraph(f"On {result.report.split}: {result.comparison.verdict}")
    if result.equal_k:
        paragraph(result.equal_k.sentence)
    say(f"  Cost of the whole sweep: {result.cost}.")
    say("\nRun again from scratch", bold=True)
    for finalist in result.finalists:
        settings = describe_changes((result.strategy, finalist.controls)) or "as the catalogue has it"
        marks = ["default"] * finalist.default + ["on the Pareto front"] * finalist.front
        same = "same scores" if finalist.same else "OTHER SCORES"
        seconds = f"{1000 * finalist.seconds:6.1f} ms"
        say(f"  {finalist.mean:.3f}  {seconds}  {same}  {settings}  {' '.join(marks)}")


def answers(scores: Mapping[str, AnswerScores]) -> None:
    """Citations, support and abstentions of each strategy's answers."""
    for label, row in scores.items():
        say(f"\n{label}", bold=True)
        say(
            f"  {row.questions} questions: {row.answered} answered, {row.abstained} abstained, "
            f"{len(row.failures)} failed"
        )
        check = row.check
        say(f"  citations that name a passage   {_share(check.citation_validity)} of {check.citations}")
        say(
            f"  sentences a passage supports    {_share(check.support_rate)} of "
            f"{check.sentences} ({check.weak} weak, {check.unsupported} unsupported)"
        )
        for name, share in (
            ("abstentions that were right", row.abstention.precision),
            ("outside questions abstained on", row.abstention.recall),
            ("other questions answered", row.abstention.answered),
        ):
            value = f"{share.mean:.2f} ({share.low:.2f}–{share.high:.2f}, n {share.n})" if share else "n/a"
            say(f"  {name:<31} {value}")
        if judge := row.judge:
            for name, mean in (("faithfulness", judge.faithfulness), ("relevance", judge.relevance)):
                score = f"{mean.mean:.2f}" if mean else "n/a"
                say(f"  judged {name:<24} {score} (n {judge.judged}, {len(judge.failures)} failed)")
        if row.verdicts:
            verdicts(row.verdicts)
        for failure in sorted(set(row.failures.values())):
            say(f"  failed: {failure}", fg="yellow")
        say(f"  cost {_dollars(row.cost_usd)}")


def _share(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.1%}"


def _dollars(cost: float | None) -> str:
    return "n/a" if cost is None else f"${cost:.4f}"


NAMES: dict[AnswerVerdict, str] = {
    verdict: verdict.removesuffix("_wrongly").removesuffix("_rightly").replace("_", " ")
    for verdict in get_args(AnswerVerdict)
}


def verdicts(scores: VerdictScores) -> None:
    """Shares of the verdicts with intervals, in all and by language; counts by kind."""
    groups = {"all": scores.everything, **scores.languages}
    _shares("covered questions", COVERED, {name: group.covered for name, group in groups.items()})
    _shares("outside questions", OUTSIDE, {name: group.outside for name, group in groups.items()})
    _kinds({name: group for name, group in scores.kinds.items() if group.covered.n})


def verdict_summary(scores: Mapping[str, AnswerScores], *, builtin: bool) -> None:
    """One line for each strategy, for comparison, by the built-in judged answers or others."""
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


def judged_answers(report: AnswerReport) -> None:
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
                for what in ("missing", "unwanted"):
                    for statement in getattr(assessment, what):
                        say(f"  {what}: {statement}", hang=4)
            if outcome.trace.answer:
                several_lines(without_bold(outcome.trace.answer.text))


RIGHT: tuple[AnswerVerdict, ...] = ("acceptable", "abstained_rightly")


def _shares(title: str, verdicts: Sequence[AnswerVerdict], groups: Mapping[str, VerdictShares]) -> None:
    groups = {name: group for name, group in groups.items() if group.n}
    if not groups:
        return
    say(f"  {title:<20}" + "".join(f"{f'{name} ({group.n})':<18}" for name, group in groups.items()).rstrip())
    for verdict in verdicts:
        found = [group.share(verdict) for group in groups.values()]
        texts = [f"{one.mean:.2f} ({one.low:.2f}–{one.high:.2f})" if one else "n/a" for one in found]
        cells = "".join(f"{text:<18}" for text in texts)
        say(f"    {NAMES[verdict]:<18}{cells}".rstrip(), hang=18)


def _kinds(kinds: Mapping[str, VerdictGroup]) -> None:
    say(f"  {'by kind':<18}" + "  ".join(NAMES[verdict] for verdict in COVERED))
    for name, group in kinds.items():
        cells = "  ".join(f"{group.covered.counts.get(verdict, 0):>{len(NAMES[verdict])}}" for verdict in COVERED)
        say(f"    {name:<16}{cells}  of {group.covered.n}", hang=18)


def _mean(share: Interval | None) -> str:
    return f"{share.mean:.2f}" if share else "n/a"


def safety(report: SafetyReport, *, each: bool = True) -> None:
    """The shares of each strategy, and before them each urgent question with a line for each strategy."""
    for question in report.questions.values() if each else ():
        asked = {label: checks[question.id] for label, checks in report.checks.items() if question.id in checks}
        if not asked:
            continue
        say(f"\n{question.id} ({question.language}, {level_of(question)}): {question.text}", bold=True)
        for label, one in asked.items():
            right = isinstance(one, SafetyCheck) and one.leads
            say(f"  {label:<16} {_said(one)}", fg=None if right else "red", hang=19)
    say("\nUrgent questions: what to do now", bold=True)
    say(f"  {'':<16} {'passage found':<18} {'answer begins':<18} by our notice")
    for label, shares in report.shares.items():
        cells = [share(one) for one in shares.values()]
        say(f"  {label:<16} {cells[0]:<18} {cells[1]:<18} {cells[2]}", hang=19)
    paragraph(
        "Passage found: it has a sentence that says to get help, as urgently as needed, for a sign of the question; "
        "only questions whose signs triage named. Answer begins: with what to do now. Intervals are 95 % (Wilson)."
    )


def _said(one: SafetyCheck | RagError) -> str:
    if isinstance(one, RagError):
        return f"failed: {one}"
    found = f"passage at rank {one.rank}" if one.rank else "no passage" if one.signs else "sign not named"
    if not one.leads:
        return f"{found}; does not begin with it"
    return f"{found}; begins with {'our notice' if one.by_notice else 'it'}"


def share(one: Interval | None) -> str:
    """A share with its interval."""
    if one is None:
        return "n/a"
    return f"{round(one.mean * one.n)}/{one.n} ({one.low:.2f}–{one.high:.2f})"


def measures(found: Sequence[Measure]) -> None:
    """The safeguards that `rag trust` measures, each share with its interval."""
    safeguard = ""
    for one in found:
        if one.safeguard != safeguard:
            safeguard = one.safeguard
            say(f"\n{safeguard}", bold=True)
        note = "  (fewer is better)" if one.wanted == "low" else ""
        say(f"  {share(one.share):<24} {one.name}{note}", hang=27)
    paragraph(
        "Measured on labelled questions and sentences that no rule was fitted on, except for the built-in questions, with "
        "which the rules for urgency were written. Intervals are 95 % (Wilson)."
    )
