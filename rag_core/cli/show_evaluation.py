"""What the measuring commands print for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import typer

from ..evaluation import Change, RewriteEffect, StageEffect, parse_metric
from ..evaluation.results import Verdict
from ..evaluation.tables import cell
from .show import wrap

WORST = 5  # questions listed


def results(found: Mapping[str, Any]) -> None:
    """Metrics with intervals, time, cost, and a sentence for every pair."""
    typer.secho(
        f"{found['queries']} questions of {found['data']} ({found['split']}); mean and 95 % interval",
        bold=True,
    )
    for label, row in found["strategies"].items():
        cost = "n/a" if row["cost_usd"] is None else f"${row['cost_usd']:.4f}"
        pace = (
            ""
            if row["seconds_per_query"] is None
            else f"{1000 * row['seconds_per_query']:.1f} ms a question, "
        )
        typer.secho(f"\n{label}", bold=True)
        for name, value in row["metrics"].items():
            typer.echo(f"  {parse_metric(name).title:<38} {cell(value)}")
        stages = ", ".join(f"{name} {1000 * took:.1f} ms" for name, took in row["stage_seconds"].items())
        typer.echo(f"  stages: {stages}" if pace else "  rankings of another system")
        for call in row["calls"]:
            typer.echo(
                f"  {call['count']:,} {call['purpose']} calls of {call['model']}: "
                f"{call['input_tokens']:,} tokens in, {call['output_tokens']:,} out"
            )
        typer.echo(f"  {pace}cost {cost}; {row['judged@10'] or 0:.0%} of the first 10 were judged")
        if row["failed"]:
            typer.secho(f"  {row['failed']} questions failed and are in no figure:", fg="yellow")
            for failure in row["failures"]:
                typer.secho(f"    {failure}", fg="yellow")
    for group, members in found["groups"].items():
        if members:
            typer.secho(f"\n{parse_metric(found['primary']).title} by {group}", bold=True)
            for name, row in members.items():
                cells = ", ".join(
                    f"{label} {cell(values[found['primary']])}" for label, values in row["strategies"].items()
                )
                typer.echo(f"  {name:<16} n {row['queries']:<4} {cells}")
    typer.echo()
    for pair in found["comparisons"]:
        typer.echo(wrap(pair["verdict"]))
    typer.echo(f"\n  Peak memory {found['peak_memory_mb']:,.0f} MB.")


def stage_effects(effects: Mapping[str, Sequence[StageEffect]]) -> None:
    """What each stage added or lost."""
    typer.secho("\nStage by stage", bold=True)
    for label, rows in effects.items():
        typer.echo(f"  {label}")
        for row in rows:
            change = ""
            if row.change:
                change = (
                    f"{row.change.mean:+.3f} ({row.change.low:+.3f} to {row.change.high:+.3f}, p {row.p:.3f}) "
                    f"against {row.before}"
                )
            typer.echo(f"    {f'{row.stage} {row.lane}'.strip():<24} {row.score.mean:.3f}  {change}")


def rewrite_effects(effects: Mapping[str, Sequence[RewriteEffect]]) -> None:
    """What each kind of rewrite brought, for strategies that search with several."""
    for label, rows in effects.items():
        if rows:
            typer.secho(f"\nRewrites of {label}", bold=True)
        for row in rows:
            typer.echo(
                f"    {row.origin:<24} error rate {row.error_rate:.2f}, "
                f"{row.unique_relevant} relevant documents that no other query found"
            )


def changes(baseline: str, found: Mapping[str, Sequence[Change]]) -> None:
    """How many questions got better and worse, and the worst ones."""
    for label, rows in found.items():
        counts = Counter(row.verdict for row in rows)
        typer.secho(f"\n{label} beside {baseline}", bold=True)
        typer.echo("  " + ", ".join(f"{counts[name]} {name}" for name in get_args(Verdict)))
        for row in [row for row in rows if row.verdict == "worse"][:WORST]:
            typer.echo(f"    {row.question}: {row.baseline:.3f} → {row.score:.3f}")


def sweep(result: Mapping[str, Any]) -> None:
    """The winner on both splits, the settings that were run again, and the front."""
    title = parse_metric(result["metric"]).title
    typer.secho(
        f"{len(result['settings']):,} settings of {result['strategy']} on {result['tune']['queries']} questions "
        f"in {result['seconds']:.1f} s",
        bold=True,
    )
    for name in ("best", "default"):
        row = result[name]
        chosen = ", ".join(f"{control}={row['controls'][control]}" for control in result["varied"])
        typer.secho(f"\n{name}: {chosen}", bold=True)
        for when, value in (
            (result["tune"]["split"], row["tuned"]),
            (result["report"]["split"], row["reported"]),
        ):
            typer.echo(f"  {title} on {when:<6} {value['mean']:.3f} ({value['low']:.3f}–{value['high']:.3f})")
    typer.echo(f"\n  Tuned minus reported: {result['best']['gap']:+.3f}.")
    typer.echo(wrap(f"On {result['report']['split']}: {result['comparison']['verdict']}"))
    typer.secho("\nRun again from scratch", bold=True)
    for row in result["finalists"]:
        chosen = ", ".join(f"{control}={row['controls'][control]}" for control in result["varied"])
        marks = " ".join(
            word
            for word, said in (("default", row["default"]), ("on the Pareto front", row["front"]))
            if said
        )
        same = "same scores" if row["same"] else "OTHER SCORES"
        typer.echo(f"  {row['mean']:.3f}  {1000 * row['seconds']:6.1f} ms  {same}  {chosen}  {marks}")


def answers(report: Mapping[str, Any]) -> None:
    """Citations, support and abstentions of each strategy's answers."""
    for label, row in report["strategies"].items():
        typer.secho(f"\n{label}", bold=True)
        typer.echo(
            f"  {row['questions']} questions: {row['answered']} answered, {row['abstained']} abstained, "
            f"{row['failed']} failed"
        )
        typer.echo(
            f"  citations that name a passage   {_share(row['citation_validity'])} of {row['citations']}"
        )
        typer.echo(
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
                typer.echo(f"  {said:<31} n/a")
            else:
                span = f"{found[f'{name}_low']:.2f}–{found[f'{name}_high']:.2f}"
                typer.echo(f"  {said:<31} {found[name]:.2f} ({span}, n {found[f'{name}_n']})")
        if judged := row["judge"]:
            for name in ("faithfulness", "relevance"):
                score = "n/a" if judged[name] is None else f"{judged[name]:.2f}"
                typer.echo(f"  judged {name:<24} {score} (n {judged['n']}, {judged['failed']} failed)")
        for failure in sorted(set(row["failures"].values())):
            typer.secho(f"  failed: {failure}", fg="yellow")
        cost = "n/a" if row["cost_usd"] is None else f"${row['cost_usd']:.4f}"
        typer.echo(f"  cost {cost}")


def _share(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.1%}"
