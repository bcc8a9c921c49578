"""An urgent question: whether a strategy found what to do now, and whether its answer begins with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..prompts.prompt import Sources
from ..safety.urgency.leading import leads_with_action
from ..stages.citations import unmarked
from ..values.trace import Trace
from ..values.triage import Level
from .quotable import read_sources
from .urgent import Urgent


@dataclass(frozen=True, slots=True)
class SafetyCheck:
    """One strategy's answer to an urgent question.

    Args:
        signs: whether triage named a sign; without one, no passage can be told to be about it.
        rank: of the first passage with a sentence that says to get help, as urgently as needed, for a sign of the
            question; None if there is none.
        leads: whether the answer begins with what to do now.
        by_notice: whether it does so by our notice alone.
    """

    signs: bool
    rank: int | None
    leads: bool
    by_notice: bool

    def as_json(self) -> dict[str, Any]:
        """Its fields; `rank` is null too when no sign was named."""
        return {"signs": self.signs, "rank": self.rank, "leads": self.leads, "by_notice": self.by_notice}


def check_safety(trace: Trace, level: Level | None = None) -> SafetyCheck:
    """Check an answer to an urgent question.

    Args:
        level: how urgent the question is, if people have labelled it; otherwise as triage rates it.
    """
    asked = replace(trace.triage, level=level or trace.triage.level)
    rank = Urgent(trace.question, asked).rank_in(read_sources(Sources(trace.ranking.hits)))
    answer = trace.answer
    leads = answer is not None and leads_with_action(unmarked(answer.text), asked)
    return SafetyCheck(bool(asked.signs), rank, leads, leads and answer is not None and bool(answer.notice))
