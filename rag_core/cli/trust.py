"""`rag trust`: what a clinician must be able to rely on, measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..values.errors import Stopped, attach_calls_to_errors
from .evaluate import AsJson, Yes, confirm, opened
from .interrupt import interruptible
from .layout import paragraph, progress, say, say_json
from .options import Strategies, parse_strategies

if TYPE_CHECKING:
    from ..evaluation import Measure


def trust(
    strategies: Strategies = "simple_semantic,bm25,hybrid_rrf",
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask this many urgent questions, and this many for abstention.")
    ] = None,
    show_questions: Annotated[
        bool, typer.Option("--show-questions", help="Also print each urgent question with every strategy.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Measure the safeguards on labelled questions and sentences, and the answers to urgent questions."""
    from .. import evaluation as ev
    from ..evaluation import answers as checks
    from ..values.settings import read_settings
    from . import show_safety

    settings = read_settings()
    chosen = checks.with_answers(parse_strategies(strategies, []))
    judged = ev.urgent_only(ev.read_judged(ev.BUILTIN_DATA, "test", settings))
    lab = opened(ev.BUILTIN_DATA, settings, yes=yes)
    measures = ev.trust_measures(lab, limit)
    asked = ev.Workload(checks.evenly_spaced(judged.questions, limit), list(chosen.values()))
    with attach_calls_to_errors(lab.calls), interruptible() as stop:
        confirm(ev.estimate([asked], lab.rehearsal()), yes=yes)
        report = checks.check_answers(lab, judged, chosen, limit=limit, progress=progress, stop=stop)
    progress("ready", 1, 1)
    safety = ev.SafetyReport.of(report)
    with attach_calls_to_errors([*lab.calls, *report.calls]):
        if as_json:
            say_json({"measures": [one.as_json() for one in measures], "urgent_answers": safety.as_json()})
        else:
            _measures(measures)
            show_safety.table(safety, each=show_questions)
        if report.remaining:
            raise Stopped


def _measures(measures: Sequence[Measure]) -> None:
    from .show_safety import share

    safeguard = ""
    for one in measures:
        if one.safeguard != safeguard:
            safeguard = one.safeguard
            say(f"\n{safeguard}", bold=True)
        note = "  (fewer is better)" if one.wanted == "low" else ""
        say(f"  {share(one.share):<24} {one.name}{note}", hang=27)
    paragraph(
        "Measured on labelled questions and sentences that no rule was fitted on, except for the built-in questions, with "
        "which the rules for urgency were written. Intervals are 95 % (Wilson)."
    )
