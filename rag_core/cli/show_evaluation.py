"""What the measuring commands print for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import get_args

from ..catalog import describe_changes
from ..evaluation import (
    Change,
    Results,
    RewriteEffect,
    StageEffect,
    StrategyResult,
    SweepResult,
    Verdict,
    parse_metric,
    titles,
)
from ..evaluation.answer_scores import AnswerScores
from ..evaluation.tables import cell
from . import show_verdicts
from .layout import paragraph, say

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
            say(
                f"    {name:<28} {EFFECTS[row.effect]:<14} {row.score.mean:.3f}, {row.documents:.1f} documents"
            )
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
    say(f"\n  Tuned minus reported: {result.best.gap:+.3f}.")
    paragraph(f"On {result.report.split}: {result.comparison.verdict}")
    if result.equal_k:
        paragraph(result.equal_k.sentence)
    say(f"  Cost of the whole sweep: {result.cost}.")
    say("\nRun again from scratch", bold=True)
    for finalist in result.finalists:
        settings = describe_changes((result.strategy, finalist.controls)) or "as the catalogue has it"
        marks = [
            mark
            for mark, applies in (("default", finalist.default), ("on the Pareto front", finalist.front))
            if applies
        ]
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
        say(f"  citations that name a passage   {_share(row.citation_validity)} of {row.citations}")
        say(
            f"  sentences a passage supports    {_share(row.support_rate)} of "
            f"{row.sentences} ({row.weak} weak, {row.unsupported} unsupported)"
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
            show_verdicts.table(row.verdicts)
        for failure in sorted(set(row.failures.values())):
            say(f"  failed: {failure}", fg="yellow")
        say(f"  cost {_dollars(row.cost_usd)}")


def _share(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.1%}"


def _dollars(cost: float | None) -> str:
    return "n/a" if cost is None else f"${cost:.4f}"
