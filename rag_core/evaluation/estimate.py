"""The most an evaluation can cost, found out by a rehearsal that sends nothing to anybody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..data.benchmark import Question
from ..pipeline.strategy import Strategy
from ..prompts.prompt import Template
from ..runtime.context import Context
from ..runtime.run import Once, Run
from ..runtime.services import Services
from ..values.errors import RagError, StageError
from ..values.types import Cost, ModelCall
from .judge import judge
from .records import RunFolder

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Batch:
    """Questions, and the strategies they are put to.

    Args:
        strategies: those that may run.
        most: how many of them do, whichever they are; None for all.
        shared: equal calls of one question are made once; otherwise each strategy makes its own.
        judging: each answer is judged too.
    """

    questions: Sequence[Question]
    strategies: Sequence[Strategy]
    most: int | None = None
    shared: bool = True
    judging: bool = False


@dataclass(frozen=True, slots=True)
class Estimate:
    """The most that can be billed.

    Args:
        calls: billed calls by purpose. No more are made: each is counted as if no passage were found twice
            or dropped, and as if every malformed reply had to be asked for again. Requests that a failing
            server makes the client repeat are not among them.
        cost: of these calls, with the longest prompts; the replies' length is assumed.
    """

    calls: Mapping[str, int]
    cost: Cost

    @classmethod
    def of(cls, calls: Sequence[ModelCall]) -> Estimate:
        """The bill of these calls; free ones are left out."""
        billed = [call for call in calls if call.cost_usd != 0]
        return cls(dict(Counter(call.purpose for call in billed)), Cost.of(billed))

    @property
    def free(self) -> bool:
        """Whether nothing would be billed."""
        return not self.calls

    def __str__(self) -> str:
        if self.free:
            return "nothing"
        calls = ", ".join(f"{count:,} {purpose}" for purpose, count in self.calls.items())
        cost = "an unknown price" if self.cost.unpriced else f"about {self.cost}"
        return f"at most {cost} for at most {calls} calls"


def plan_of(run: RunFolder, strategies: Mapping[str, Strategy], *, share: bool) -> list[Batch]:
    """What `evaluate` would still ask, the questions that failed included.

    Args:
        share: as for `evaluate`.
    """
    groups: dict[tuple[str, ...], list[Question]] = {}
    for question in run.judged.measured:
        labels = tuple(label for label in strategies if run.is_open(label, question.id))
        groups.setdefault(labels, []).append(question)
    return [
        Batch(questions, [strategies[label] for label in labels], shared=share)
        for labels, questions in groups.items()
    ]


def estimate(plan: Sequence[Batch], rehearsal: Services) -> Estimate:
    """The most that what is planned can be billed.

    Args:
        rehearsal: from `Lab.rehearsal`.

    Raises:
        RagError: a strategy cannot run, for want of an enriched index for instance.
    """
    calls: Counter[str] = Counter()
    cost = Cost()
    for batch in plan:
        if not batch.questions or not batch.strategies:
            continue
        longest = max(batch.questions, key=lambda question: len(question.text))
        times = len(batch.questions)
        for call in _rehearse(longest.text, batch, rehearsal):
            calls[call.purpose] += times
            each = Cost.of([call])
            cost += Cost(times * each.known, times * each.unpriced)
    return Estimate(dict(calls), cost)


def _rehearse(question: str, batch: Batch, rehearsal: Services) -> list[ModelCall]:
    """The billed calls of one question."""
    common = Once()
    bills = [
        _billed(question, strategy, Context(rehearsal, Run(_Own(common))), judging=batch.judging)
        for strategy in batch.strategies
    ]
    if batch.most is None or batch.most >= len(bills):
        calls = [call for bill in bills for call in bill]
        return list(dict.fromkeys(calls)) if batch.shared else calls
    dearest: list[ModelCall] = []
    for purpose in dict.fromkeys(call.purpose for bill in bills for call in bill):
        own = [[call for call in bill if call.purpose == purpose] for bill in bills]
        dearest += batch.most * max(own, key=lambda calls: (len(calls), Cost.of(calls).known))
    return dearest


class _Own(Once):
    """What one strategy shares with others for sure: equal first stages, and calls that show no passage.

    Which passages a call shows is known only in the run, and so whether two calls are equal.
    """

    def __init__(self, common: Once) -> None:
        super().__init__()
        self._common = common

    def get(self, key: Hashable, compute: Callable[[], T]) -> tuple[T, bool]:
        """The value, and whether this call computed it."""
        shows_passages = isinstance(key, tuple) and any(
            isinstance(part, Template) and "{sources}" in part.text for part in key
        )
        return super().get(key, compute) if shows_passages else self._common.get(key, compute)


def _billed(question: str, strategy: Strategy, ctx: Context, *, judging: bool) -> list[ModelCall]:
    try:
        trace = strategy.run(question, ctx.services, ctx.run)
    except StageError as error:  # as it is, without the stage: nothing has been asked yet
        raise error.__cause__ if isinstance(error.__cause__, RagError) else error from None
    calls = [*trace.calls, *(judge(trace, ctx)[1] if judging else ())]
    return [call for call in calls if call.cost_usd != 0]
