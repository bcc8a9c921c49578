"""The bill of a trace: one line a stage, added up by part, and what was taken over from elsewhere at no cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ...stages import Blend, LlmRerank
from ...values.trace import Step, Trace
from ...values.types import Cost, ModelCall, token_counts

Counting = Literal["", "measured", "estimated", "partly estimated"]
Part = Literal["rewrite", "retrieval", "rerank", "judge", "answer"]
PARTS: tuple[Part, ...] = get_args(Part)  # in the order in which they run
KINDS: Mapping[str, Part] = {"transform": "rewrite", "rerank": "rerank", "answer": "answer"}
JUDGES = (LlmRerank.__name__, Blend.__name__)  # reranking stages that score by what a language model judged


def part_of(kind: str, stage: str) -> Part:
    """The part of a bill that a stage belongs to, from its kind and its name; merging and selecting are retrieval."""
    return "judge" if stage in JUDGES else KINDS.get(kind, "retrieval")


@dataclass(frozen=True, slots=True)
class BillLine:
    """What one stage took, or several of them.

    Args:
        stage: its name, the part's, or "Total".
        kind: of the stage; empty for several.
        seconds: measured; 0 for a stage that was taken over.
        reused: every stage ran in another strategy or an earlier run, and was paid for there.
        calls: the model calls made for this line.
        shared: how many more it used that were paid for elsewhere.
    """

    stage: str
    kind: str
    seconds: float
    reused: bool
    calls: tuple[ModelCall, ...]
    shared: int

    @property
    def tokens(self) -> tuple[int, int]:
        return token_counts(self.calls)

    @property
    def cost(self) -> Cost:
        return Cost.of(self.calls)

    @property
    def counting(self) -> Counting:
        """Whether the providers measured the tokens or a tokeniser here estimated them; empty without a call."""
        return _counting(self.calls)


@dataclass(frozen=True, slots=True)
class Bill:
    """What a trace took: its lines add up to its total.

    Args:
        lines: of the stages, in order.
        total: of the lines: what was measured and paid for in this run.
        alone: what the same result costs when nothing is taken over.
    """

    lines: tuple[BillLine, ...]
    total: BillLine
    alone: Cost

    @property
    def parts(self) -> Mapping[Part, BillLine]:
        """The lines of each part that the strategy has, added up, in the order of `PARTS`."""
        grouped = {
            part: [line for line in self.lines if part_of(line.kind, line.stage) == part] for part in PARTS
        }
        return {part: _sum(part, lines) for part, lines in grouped.items() if lines}

    @property
    def shares(self) -> Mapping[Part, float]:
        """What share of the bill each part has, from 0 to 1 and 1 in all; empty when nothing was spent.

        Of the money, or of the time when nothing is billed or a price is unknown.
        """
        costs = {
            part: (line.cost.usd if self.total.cost.usd else line.seconds) or 0.0
            for part, line in self.parts.items()
        }
        spent = sum(costs.values())
        return {part: cost / spent for part, cost in costs.items()} if spent else {}


def bill_of(trace: Trace) -> Bill:
    """The bill of a trace.

    A call counts in the stage that made it, and only there: a stage that was taken over, or a call whose reply
    another stage or strategy had already paid for, adds nothing. So the totals of strategies that ran together add
    up to what was paid for all of them.

    Example:
        >>> from rag_core.catalog import build
        >>> from rag_core.testing import sample_services
        >>> bill = bill_of(build("hybrid_rrf").run("stable horses", sample_services()))
        >>> [(line.stage, len(line.calls)) for line in bill.lines][::4]
        [('Bm25 ∥ Dense', 1), ('Generate', 1)]
        >>> bill.total.cost == bill.alone, list(bill.parts)
        (True, ['retrieval', 'answer'])
    """
    lines: list[BillLine] = []
    counted: set[ModelCall] = set()
    for step in trace.steps:
        lines.append(_line(step, counted))
        counted.update(step.calls)
    made = tuple(call for line in lines for call in line.calls)
    elsewhere = sum(call not in set(made) for call in trace.calls)
    total = BillLine("Total", "", sum(line.seconds for line in lines), False, made, elsewhere)
    return Bill(tuple(lines), total, trace.cost)


def _line(step: Step, counted: set[ModelCall]) -> BillLine:
    used = tuple(dict.fromkeys(step.calls))
    made = (
        () if step.reused else tuple(call for call in used if call not in counted and call not in step.shared)
    )
    return BillLine(
        step.stage, step.kind, 0.0 if step.reused else step.seconds, step.reused, made, len(used) - len(made)
    )


def _sum(name: str, lines: Sequence[BillLine]) -> BillLine:
    calls = tuple(call for line in lines for call in line.calls)
    seconds, shared = sum(line.seconds for line in lines), sum(line.shared for line in lines)
    return BillLine(name, "", seconds, all(line.reused for line in lines), calls, shared)


def _counting(calls: Sequence[ModelCall]) -> Counting:
    found = {call.counted_by for call in calls}
    if not found:
        return ""
    return "partly estimated" if len(found) > 1 else "measured" if "provider" in found else "estimated"
