"""What an evaluation would cost, found out by a rehearsal that sends nothing to anybody."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..context import Context, Once
from ..errors import RagError
from ..judged import Question
from ..strategy import Strategy
from ..types import ModelCall
from .judge import judge
from .records import RunFolder
from .sweep import Memory

SAMPLE = 5  # questions rehearsed, spread over the set


@dataclass(frozen=True, slots=True)
class Estimate:
    """An expected bill.

    Args:
        calls: expected billed calls by purpose.
        cost_usd: expected US dollars; None when a price is unknown.
    """

    calls: Mapping[str, int]
    cost_usd: float | None

    @property
    def free(self) -> bool:
        """Whether nothing would be billed."""
        return not self.calls

    def __str__(self) -> str:
        calls = ", ".join(f"{count:,} {purpose}" for purpose, count in self.calls.items())
        cost = "an unknown price" if self.cost_usd is None else f"about ${self.cost_usd:.4f}"
        return f"{cost} for {calls} calls" if self.calls else "nothing"


def estimate(run: RunFolder, strategies: Mapping[str, Strategy], rehearsal: Context) -> Estimate:
    """The bill of the questions that have no record yet.

    Args:
        rehearsal: from `Lab.rehearsal`.
    """
    questions = run.judged.measured
    left = [len(questions) - len(run.records[label]) for label in strategies]
    return _rehearse(questions, list(strategies.values()), left, rehearsal)


def estimate_all(
    questions: Sequence[Question],
    strategies: Sequence[Strategy],
    rehearsal: Context,
    *,
    judging: bool = False,
) -> Estimate:
    """The bill of these questions put to these strategies, equal calls of one question made once.

    Args:
        judging: each answer is judged too.
    """
    return _rehearse(questions, strategies, [len(questions)] * len(strategies), rehearsal, judging)


def _rehearse(
    questions: Sequence[Question],
    strategies: Sequence[Strategy],
    left: Sequence[int],
    rehearsal: Context,
    judging: bool = False,
) -> Estimate:
    """Run a few questions with the stand-ins, which price every call, and scale their bill up.

    Args:
        left: questions to be asked of each strategy.
    """
    sample = questions[:: max(1, len(questions) // SAMPLE)][:SAMPLE]
    billed: dict[str, float] = {}
    cost: float | None = 0.0
    for question in sample:
        enriched = Memory(rehearsal.enriched) if rehearsal.enriched else None
        ctx = dataclasses.replace(
            rehearsal, index=Memory(rehearsal.index), enriched=enriched, shared=Once(), workers=1
        )
        counted: set[ModelCall] = set()
        for strategy, open_questions in zip(strategies, left, strict=True):
            if not open_questions:
                continue
            share = open_questions / len(sample)
            try:
                trace = strategy.run(question.text, ctx)
                # one judgement a question: neither abstentions nor refused replies are foreseen
                calls = (*trace.calls, *(judge(trace, ctx)[1][:1] if judging else ()))
            except RagError:  # its bill cannot be told
                calls = (ModelCall("other", "", 0, 0, None, "tokenizer"),)
            for call in calls:  # in the order they are made, so that the bill always reads the same
                if call not in counted and call.cost_usd != 0:
                    billed[call.purpose] = billed.get(call.purpose, 0.0) + share
                    priced = cost is not None and call.cost_usd is not None
                    cost = cost + share * call.cost_usd if priced else None  # type: ignore[operator]
            counted.update(calls)
    return Estimate({purpose: round(count) for purpose, count in billed.items()}, cost)
