"""What the measuring commands print for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from ..catalog import describe, describe_changes
from ..evaluation import Change, RewriteEffect, StageEffect, parse_metric, titles
from ..evaluation.results import Verdict
from ..evaluation.tables import cell
from ..values.types import Cost
from .layout import paragraph, say

EFFECTS = {"": "", "cut": "shorter list", "order": "new order", "more": "longer list"}
WORST = 5  # questions listed


def results(found: Mapping[str, Any]) -> None:
    """Metrics with intervals, time, cost, and a sentence for every pair."""
    say(
        f"{found['queries']} questions of {found['data']} ({found['split']}); mean and 95 % interval",
        bold=True,
    )
    paragraph(found["judged_by"])
    names = titles(found["manifest"])
    for label, row in found["strategies"].items():
        cost = "n/a" if row["cost_usd"] is None else f"${row['cost_usd']:.4f}"
        pace = (
            ""
            if row["seconds_per_query"] is None
            else f"{1000 * row['seconds_per_query']:.1f} ms a question, "
        )
        say(f"\n{label}: {names[label]}", bold=True)
        for name, value in row["metrics"].items():
            say(f"  {parse_metric(name).title:<38} {cell(value)}")
        stages = ", ".join(f"{name} {1000 * took:.1f} ms" for name, took in row["stage_seconds"].items())
        say(f"  stages: {stages}" if pace else "  rankings of another system")
        for call in row["calls"]:
            say(
                f"  {call['count']:,} {call['purpose']} calls of {call['model']}: "
                f"{call['input_tokens']:,} tokens in, {call['output_tokens']:,} out"
            )
        say(f"  {pace}cost {cost}; {row['judged@10'] or 0:.0%} of the first 10 were judged")
        if row["failed"]:
            say(f"  {row['failed']} questions failed and are in no figure:", fg="yellow")
            for failure in row["failures"]:
                say(f"    {failure}", fg="yellow")
    for group, members in found["groups"].items():
        if members:
            say(f"\n{parse_metric(found['primary']).title} by {group}", bold=True)
            for name, row in members.items():
                cells = ", ".join(
                    f"{label} {cell(values[found['primary']])}" for label, values in row["strategies"].items()
                )
                say(f"  {name:<16} n {row['queries']:<4} {cells}")
    say()
    for pair in found["comparisons"]:
        paragraph(pair["verdict"])
    say(f"\n  Peak memory {found['peak_memory_mb']:,.0f} MB.")


def stage_effects(effects: Mapping[str, Sequence[StageEffect]]) -> None:
    """What each stage's order, and its cut, added or lost."""
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
    """What each kind of rewrite brought, for strategies that search with several."""
    for label, rows in effects.items():
        if rows:
            say(f"\nRewrites of {label}", bold=True)
        for row in rows:
            say(
                f"    {row.origin:<24} error rate {row.error_rate:.2f}, "
                f"{row.unique_relevant} relevant documents that no other query found"
            )


def changes(baseline: str, found: Mapping[str, Sequence[Change]]) -> None:
    """How many questions got better and worse, and the worst ones."""
    for label, rows in found.items():
        counts = Counter(row.verdict for row in rows)
        say(f"\n{label} beside {baseline}", bold=True)
        say("  " + ", ".join(f"{counts[name]} {name}" for name in get_args(Verdict)))
        for row in [row for row in rows if row.verdict == "worse"][:WORST]:
            say(f"    {row.question}: {row.baseline:.3f} → {row.score:.3f}")


def sweep(result: Mapping[str, Any]) -> None:
    """The winner on both splits, the settings that were run again, and the front."""
    title = parse_metric(result["metric"]).title
    say(
        f"{len(result['settings']):,} settings of {result['strategy']} on {result['tune']['queries']} questions "
        f"in {result['seconds']:.1f} s",
        bold=True,
    )
    paragraph(result["judged_by"])
    for name in ("best", "default"):
        row = result[name]
        say(f"\n{name}: {describe((result['strategy'], row['controls']))}", bold=True)
        for when, value in (
            (result["tune"]["split"], row["tuned"]),
            (result["report"]["split"], row["reported"]),
        ):
            say(f"  {title} on {when:<6} {value['mean']:.3f} ({value['low']:.3f}–{value['high']:.3f})")
    say(f"\n  Tuned minus reported: {result['best']['gap']:+.3f}.")
    paragraph(f"On {result['report']['split']}: {result['comparison']['verdict']}")
    if result["equal_k"]:
        paragraph(result["equal_k"]["sentence"])
    bill = Cost(result["cost_known_usd"], result["calls_without_price"])
    say(f"  Cost of the whole sweep: {bill}.")
    say("\nRun again from scratch", bold=True)
    for row in result["finalists"]:
        chosen = describe_changes((result["strategy"], row["controls"])) or "as the catalogue has it"
        marks = " ".join(
            word
            for word, said in (("default", row["default"]), ("on the Pareto front", row["front"]))
            if said
        )
        same = "same scores" if row["same"] else "OTHER SCORES"
        say(f"  {row['mean']:.3f}  {1000 * row['seconds']:6.1f} ms  {same}  {chosen}  {marks}")


def answers(report: Mapping[str, Any]) -> None:
    """Citations, support and abstentions of each strategy's answers."""
    for label, row in report["strategies"].items():
        say(f"\n{label}", bold=True)
        say(
            f"  {row['questions']} questions: {row['answered']} answered, {row['abstained']} abstained, "
            f"{row['failed']} failed"
        )
        say(f"  citations that name a passage   {_share(row['citation_validity'])} of {row['citations']}")
        say(
            f"  sentences a passage supports    {_share(row['support_rate'])} of "
            f"{row['sentences'] - row['unchecked']} (by their words; {row['unchecked']} could not be checked)"
        )
        for name, said in (
            ("precision", "abstentions that were right"),
            ("recall", "outside questions abstained on"),
            ("answered", "other questions answered"),
        ):
            found = row["abstention"]
            if found[name] is None:
                say(f"  {said:<31} n/a")
            else:
                span = f"{found[f'{name}_low']:.2f}–{found[f'{name}_high']:.2f}"
                say(f"  {said:<31} {found[name]:.2f} ({span}, n {found[f'{name}_n']})")
        if judged := row["judge"]:
            for name in ("faithfulness", "relevance"):
                score = "n/a" if judged[name] is None else f"{judged[name]:.2f}"
                say(f"  judged {name:<24} {score} (n {judged['n']}, {judged['failed']} failed)")
        for failure in sorted(set(row["failures"].values())):
            say(f"  failed: {failure}", fg="yellow")
        cost = "n/a" if row["cost_usd"] is None else f"${row['cost_usd']:.4f}"
        say(f"  cost {cost}")


def _share(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.1%}"
