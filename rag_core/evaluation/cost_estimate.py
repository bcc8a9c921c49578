"""The maximum cost of an evaluation, from a rehearsal that sends nothing."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

from ..documents.benchmark import Question
from ..indexing import EnrichmentEstimate
from ..pipeline.strategy import Strategy
from ..prompts.prompt import Template
from ..runtime.context import Context
from ..runtime.run import Once, Run
from ..runtime.services import Services
from ..values.errors import RagError, StageError
from ..values.types import Cost, ModelCall, token_counts
from .answer_scores import judge
from .run_folder import RunFolder

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Workload:
    """Questions for `most` of the strategies (None: all); `shared`: equal calls once; `judging`: answers judged too."""

    questions: Sequence[Question]
    strategies: Sequence[Strategy]
    most: int | None = None
    shared: bool = True
    judging: bool = False


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """The maximum that can be billed.

    Args:
        calls: billed calls by purpose, an upper bound: it assumes that no passage is found twice or dropped,
            and that every reply is malformed and requested again. It excludes requests that the client
            repeats because no reply came, unless `sent_once`.
        cost: of these calls with the longest prompts; the length of replies is assumed.
        unpriced: tokens to and from models of unknown price.
    """

    calls: Mapping[str, int]
    cost: Cost
    unpriced: tuple[int, int] = (0, 0)

    @classmethod
    def of(cls, calls: Sequence[ModelCall]) -> Self:
        billed = [call for call in calls if call.cost_usd != 0]
        unpriced = token_counts(call for call in billed if call.cost_usd is None)
        return cls(dict(Counter(call.purpose for call in billed)), Cost.of(billed), unpriced)

    @classmethod
    def of_contexts(cls, contexts: EnrichmentEstimate) -> Self:
        cost = Cost(contexts.cost_usd or 0.0, unpriced=contexts.calls if contexts.cost_usd is None else 0)
        return cls({"enrich": contexts.calls} if contexts.cost_usd != 0 else {}, cost)

    @property
    def free(self) -> bool:
        return not self.calls

    def __str__(self) -> str:
        if self.free:
            return "nothing"
        calls = ", ".join(f"{count:,} {purpose}" for purpose, count in self.calls.items())
        cost = "an unknown price" if self.cost.unpriced else f"about {self.cost}"
        return f"at most {cost} for at most {calls} calls"


def plan_of(run: RunFolder, strategies: Mapping[str, Strategy], *, share: bool) -> list[Workload]:
    """What `evaluate` has yet to run, including the questions that failed."""
    groups: dict[tuple[str, ...], list[Question]] = {}
    for question in run.judged.measured:
        labels = tuple(label for label in strategies if run.is_open(label, question.id))
        groups.setdefault(labels, []).append(question)
    return [
        Workload(questions, [strategies[label] for label in labels], shared=share)
        for labels, questions in groups.items()
    ]


def estimate(plan: Sequence[Workload], rehearsal: Services) -> CostEstimate:
    """The maximum cost of a plan, by a `Lab.rehearsal`; raises RagError if a strategy cannot run."""
    calls: Counter[str] = Counter()
    cost, sent, received = Cost(), 0, 0
    for batch in plan:
        if not batch.questions or not batch.strategies:
            continue
        longest = max(batch.questions, key=lambda question: len(question.text))
        times = len(batch.questions)
        for call in _rehearse(longest.text, batch, rehearsal):
            calls[call.purpose] += times
            each = Cost.of([call])
            cost += Cost(times * each.known, times * each.unpriced)
            sent += times * each.unpriced * call.input_tokens
            received += times * each.unpriced * call.output_tokens
    return CostEstimate(dict(calls), cost, (sent, received))


def _rehearse(question: str, batch: Workload, rehearsal: Services) -> list[ModelCall]:
    common = Once()
    bills = [
        _billed(question, strategy, Context(rehearsal, Run(_CertainlyShared(common))), judging=batch.judging)
        for strategy in batch.strategies
    ]
    if batch.most is None or batch.most >= len(bills):
        calls = [call for bill in bills for call in bill]
        return list(dict.fromkeys(calls)) if batch.shared else calls
    worst: list[ModelCall] = []
    for purpose in dict.fromkeys(call.purpose for bill in bills for call in bill):
        by_strategy = [[call for call in bill if call.purpose == purpose] for bill in bills]
        worst += batch.most * max(by_strategy, key=lambda calls: (len(calls), Cost.of(calls).known))
    return worst


class _CertainlyShared(Once):
    """What a strategy is certain to share: equal first stages, and calls without passages."""

    def __init__(self, common: Once) -> None:
        super().__init__()
        self._common = common

    def get(self, key: Hashable, compute: Callable[[], T]) -> tuple[T, bool]:
        shows_passages = isinstance(key, tuple) and any(
            isinstance(part, Template) and "{sources}" in part.text for part in key
        )
        return super().get(key, compute) if shows_passages else self._common.get(key, compute)


def _billed(question: str, strategy: Strategy, ctx: Context, *, judging: bool) -> list[ModelCall]:
    try:
        trace = strategy.run(question, ctx.services, ctx.run)
    except StageError as error:  # without naming the stage, since nothing has run yet
        raise error.__cause__ if isinstance(error.__cause__, RagError) else error from None
    calls = [*trace.calls, *(judge(trace, ctx)[1] if judging else ())]
    return [call for call in calls if call.cost_usd != 0]
