"""What `rag answers --safety` and `rag trust` print."""

from __future__ import annotations

from ..evaluation.safety import SafetyReport, level_of
from ..evaluation.statistics import Interval
from ..offline.safety import SafetyCheck
from ..values.errors import RagError
from .layout import paragraph, say


def table(report: SafetyReport, *, each: bool = True) -> None:
    """The shares of each strategy, and before them each urgent question with a line for each strategy."""
    for question in report.questions.values() if each else ():
        asked = {
            label: checks[question.id] for label, checks in report.checks.items() if question.id in checks
        }
        if not asked:
            continue
        say(f"\n{question.id} ({question.language}, {level_of(question)}): {question.text}", bold=True)
        for label, one in asked.items():
            right = isinstance(one, SafetyCheck) and one.leads
            say(f"  {label:<16} {_said(one)}", fg=None if right else "red", hang=19)
    say("\nUrgent questions: what to do now", bold=True)
    say(f"  {'':<16} {'passage found':<18} {'answer begins':<18} by our notice")
    for label, shares in report.shares.items():
        cells = [share(one) for one in (shares.found, shares.leads, shares.by_notice)]
        say(f"  {label:<16} {cells[0]:<18} {cells[1]:<18} {cells[2]}", hang=19)
    paragraph(
        "Passage found: it has a sentence that says to get help, as urgently as needed, for a sign of the question; "
        "only questions whose signs triage named. Answer begins: with what to do now. Intervals are 95 % (Wilson)."
    )


def _said(one: SafetyCheck | RagError) -> str:
    if isinstance(one, RagError):
        return f"failed: {one}"
    found = f"passage at rank {one.rank}" if one.rank else "no passage" if one.signs else "sign not named"
    leads = (
        ("begins with our notice" if one.by_notice else "begins with it")
        if one.leads
        else "does not begin with it"
    )
    return f"{found}; {leads}"


def share(one: Interval | None) -> str:
    """A share with its interval."""
    if one is None:
        return "n/a"
    return f"{round(one.mean * one.n)}/{one.n} ({one.low:.2f}–{one.high:.2f})"
