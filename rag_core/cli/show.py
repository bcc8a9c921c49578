"""What the commands print for people."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import typer

from ..catalog import written
from ..doctor import Findings
from ..indexing import Estimate, Report, Written
from ..trace import Trace

NOT_ADVICE = "A demonstration, not medical advice."


def progress(what: str, done: int, total: int) -> None:
    """One line that rewrites itself, on a terminal only."""
    if sys.stderr.isatty():
        count = f" {done}/{total}" if total > 1 else ""
        end = "\r\x1b[K" if what == "ready" else f"\r\x1b[K{what}{count}"
        typer.echo(end, err=True, nl=False)


def strategies(recipes: Sequence[dict[str, Any]]) -> None:
    """Strategies with stages and controls."""
    for recipe in recipes:
        typer.secho(f"{recipe['name']}: {recipe['title']}", bold=True)
        typer.echo(wrap(recipe["summary"]))
        typer.echo(f"  stages: {' → '.join(stage['stage'] for stage in recipe['stages'])}")
        typer.echo(f"  source: {recipe['source']}")
        for control in recipe["controls"]:
            typer.echo(
                f"  {control['name']:<22} {written(control['default']):<12} ({_span(control)})  {control['help']}"
            )
        for preset in recipe["presets"]:
            typer.echo(f"  preset {preset['name']}: {_assigned(preset['values'])}  {preset['help']}")
        typer.echo(wrap(f"Helps: {recipe['helps']}"))
        typer.echo(wrap(f"Not: {recipe['hurts']}"))
        typer.echo()


def _span(control: dict[str, Any]) -> str:
    """What a control can be."""
    if control["choices"]:
        return "|".join(control["choices"])
    if control["min"] is None:
        return "true|false"
    each = "each " if control["type"] == "weights" else ""
    return f"{each}{control['min']:g} to {control['max']:g}, step {control['step']:g}"


def _assigned(values: dict[str, Any]) -> str:
    return " ".join(f"{name}={written(value)}" for name, value in values.items()) or "the defaults"


def trace(trace: Trace, *, details: bool) -> None:
    """Answer, sources, and on request every stage."""
    typer.secho(f"{trace.strategy}  [{trace.engine['llm']}]", bold=True)
    answer = trace.answer
    if answer is not None:
        typer.echo(wrap(answer.text))
        if answer.abstained:
            typer.echo(wrap(f"Why: {answer.reason}"))
    for rank, hit in enumerate(trace.ranking, start=1):
        label = hit.relevance.label if hit.relevance else "-"
        typer.echo(f"  [{rank}] {label:<6} {hit.scale} {hit.score:.4f}  {hit.passage.full_title}  ({hit.id})")
    for query in trace.final.queries:
        if query.origin != "question":
            typer.echo(f"  {query.origin} (weight {query.weight:g}): {query.text}")
        if details and query.note:
            typer.echo(f"    {query.note}")
    if details:
        for step in trace.steps:
            tokens = sum(call.input_tokens + call.output_tokens for call in step.calls)
            left = ", ".join(str(len(ranking)) for ranking in step.after.rankings)
            typer.echo(
                f"  {step.stage:<16} {step.seconds * 1000:8.1f} ms  {tokens:6d} tokens"
                f"{f'  passages: {left}' if left else ''}"
            )
    for warning in trace.warnings:
        typer.secho(f"  warning: {warning}", fg="yellow")
    cost = "n/a (a price is unknown)" if trace.cost_usd is None else f"${trace.cost_usd:.6f}"
    typer.echo(f"  {trace.seconds:.2f} s, cost {cost}. {NOT_ADVICE}\n")


def report_json(report: Report) -> dict[str, Any]:
    """An indexing report as JSON."""
    return {
        "corpus": report.corpus,
        "added": report.added,
        "changed": report.changed,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "failed": [{"file": file, "reason": reason} for file, reason in report.failed],
        "passages": report.passages,
        "embedded": report.embedded,
        "enriched": _enriched_json(report.enriched) if report.enriched else None,
        "notes": report.notes,
    }


def _enriched_json(written: Written) -> dict[str, Any]:
    return {
        "enricher": written.enricher,
        "passages": written.passages,
        "embedded": written.embedded,
        "calls": len(written.calls),
        "cost_usd": written.cost_usd,
        "without_context": written.without,
    }


def report(report: Report) -> None:
    """Counts, and each failed file with its reason."""
    counts = ", ".join(
        f"{len(getattr(report, name))} {name}"
        for name in ("added", "changed", "removed", "unchanged", "failed")
    )
    typer.echo(f"{report.corpus}: {counts}; {report.passages} passages, {report.embedded} embedded now.")
    if written := report.enriched:
        cost = "an unknown price" if written.cost_usd is None else f"${written.cost_usd:.4f}"
        paid = f", {len(written.calls)} calls for {cost}" if written.calls else ""
        typer.echo(
            f"  with contexts by {written.enricher.partition('/')[0]}: {written.passages - written.without} of "
            f"{written.passages} passages, {written.embedded} embedded now{paid}."
        )
    for file, reason in report.failed:
        typer.secho(f"  failed {file}: {reason}", fg="yellow")
    for note in report.notes:
        typer.secho(f"  {note}", fg="yellow")


def estimate(what: Estimate) -> None:
    """What a model is about to be asked for contexts, on stderr."""
    cost = "price unknown" if what.cost_usd is None else f"about ${what.cost_usd:.4f}"
    typer.echo(
        f"Contexts by {what.model}: {what.calls} calls, about {what.input_tokens:,} tokens in and "
        f"{what.output_tokens:,} out, {cost}; {what.known} are known.",
        err=True,
    )


def collection(counts: dict[str, Any], problems: Sequence[str]) -> None:
    """Counts of the built-in collection, then what is wrong with it."""
    for name, count in counts.items():
        parts = (
            ", ".join(f"{key} {value:,}" for key, value in count.items()) if isinstance(count, dict) else ""
        )
        total = sum(count.values()) if isinstance(count, dict) else count
        typer.echo(f"{name:<12} {total:>8,}  {parts}")
    for problem in problems:
        typer.secho(problem, fg="yellow")
    typer.echo(f"{len(problems)} problems")


def findings(found: Findings) -> None:
    """One line a finding."""
    for finding in found.lines:
        mark = {True: "ok     ", False: "MISSING", None: "note   "}[finding.ok]
        typer.echo(f"{mark} {finding.what}")
        if finding.mend:
            typer.echo(f"        {finding.mend}")


def wrap(text: str) -> str:
    """A paragraph, indented."""
    return textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="  ")
