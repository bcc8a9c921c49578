"""Urgent questions: how often strategies found what to do now, and how often their answers begin with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..documents.benchmark import Benchmark, Question
from ..offline.safety import SafetyCheck, check_safety
from ..safety.urgency.triage import triage
from ..values.errors import RagError
from ..values.triage import LEVELS, Level
from .answer_scores import Outcome
from .answers import AnswerReport
from .statistics import Interval, wilson


@dataclass(frozen=True, slots=True)
class SafetyShares:
    """Shares of one strategy, with 95 % Wilson intervals; None without cases.

    Args:
        found: of the questions whose signs triage named, those with a passage that says what to do now.
        leads: of all answered or abstained, those that begin with it.
        by_notice: of all, those that do so by our notice alone.
    """

    found: Interval | None
    leads: Interval | None
    by_notice: Interval | None

    def as_json(self) -> dict[str, Any]:
        """Each share as its mean, interval and number of questions."""
        shares = {"found": self.found, "leads": self.leads, "by_notice": self.by_notice}
        return {
            name: one and {"mean": one.mean, "ci_low": one.low, "ci_high": one.high, "n": one.n}
            for name, one in shares.items()
        }


@dataclass(frozen=True, slots=True)
class SafetyReport:
    """The checks of several strategies on urgent questions.

    Args:
        questions: by id.
        checks: label -> question id -> check, or the error for a question that failed.
    """

    questions: Mapping[str, Question]
    checks: Mapping[str, Mapping[str, SafetyCheck | RagError]]

    @classmethod
    def of(cls, report: AnswerReport) -> SafetyReport:
        """The checks of a report on urgent questions."""
        questions = {question.id: question for question in report.judged.questions}
        return cls(
            questions,
            {
                label: {one: _check(questions[one], outcome) for one, outcome in outcomes.items()}
                for label, outcomes in report.outcomes.items()
            },
        )

    @property
    def shares(self) -> dict[str, SafetyShares]:
        """The shares of each strategy, by label; failed questions are excluded."""
        return {label: _shares(list(checks.values())) for label, checks in self.checks.items()}

    def as_json(self) -> dict[str, Any]:
        """Plain values, as `rag answers --safety --json` prints them."""
        return {
            "strategies": {label: shares.as_json() for label, shares in self.shares.items()},
            "questions": [
                {
                    "id": question.id,
                    "question": question.text,
                    "language": question.language,
                    "level": level_of(question),
                    "checks": {
                        label: {"failure": str(one)} if isinstance(one, RagError) else one.as_json()
                        for label, checks in self.checks.items()
                        if (one := checks.get(question.id))
                    },
                }
                for question in self.questions.values()
            ],
        }


def level_of(question: Question) -> Level:
    """How urgent a question is: as labelled, or otherwise as triage rates it."""
    return next((level for level in LEVELS if level == question.level), triage(question.text).level)


def urgent_only(judged: Benchmark) -> Benchmark:
    """A judged set without its routine questions."""
    return replace(judged, questions=tuple(one for one in judged.questions if level_of(one) != "routine"))


def _check(question: Question, outcome: Outcome) -> SafetyCheck | RagError:
    return outcome if isinstance(outcome, RagError) else check_safety(outcome.trace, level_of(question))


def _shares(checks: list[SafetyCheck | RagError]) -> SafetyShares:
    done = [one for one in checks if isinstance(one, SafetyCheck)]
    signed = [one for one in done if one.signs]
    return SafetyShares(
        wilson(sum(one.rank is not None for one in signed), len(signed)),
        wilson(sum(one.leads for one in done), len(done)),
        wilson(sum(one.by_notice for one in done), len(done)),
    )
