"""The bill of a result as lines of the terminal: what every stage and search took, and what it cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..values.trace import Step, Trace
from .layout import say

if TYPE_CHECKING:
    from ..explain.bill import Bill, BillLine

NAME = 22  # columns


def show_bill(trace: Trace) -> None:
    """One line a stage with its searches below it, their total, and the prices with their dates."""
    from ..explain.bill import bill_of

    found = bill_of(trace)
    for step, line in zip(trace.steps, found.lines, strict=True):
        say(_line(line, _left(step)))
        if step.kind == "retrieve" and len(step.after.rankings) > 1:
            for ranking in step.after.rankings:
                of = "" if ranking.query.origin == "question" else f" of {ranking.query.origin}"
                say(f"    {ranking.retriever + of:<{NAME - 2}} {_milliseconds(ranking.seconds)}")
    say(_line(found.total))
    if found.total.shared:
        say(f"  reused calls cost nothing here; with nothing to reuse: {found.alone}")
    for price in _prices(found):
        say(f"  {price}")


def _line(line: BillLine, left: str = "") -> str:
    sent, received = line.tokens
    took = "   reused" if line.reused else _milliseconds(line.seconds)
    if not (line.calls or line.shared):
        return f"  {line.stage:<{NAME}} {took}{left}"
    if not line.calls:
        return f"  {line.stage:<{NAME}} {took}{left}  {_counted(line.shared)} reused, $0"
    counts = f"{_counted(len(line.calls))}, {sent:,} → {received:,} tokens {line.counting}"
    return f"  {line.stage:<{NAME}} {took}{left}  {counts}, {line.cost}"


def _counted(calls: int) -> str:
    return f"{calls:,} call{'' if calls == 1 else 's'}"


def _left(step: Step) -> str:
    left = ", ".join(str(len(ranking)) for ranking in step.after.rankings)
    return f"  passages: {left}" if left else ""


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:8.1f} ms"


def _prices(found: Bill) -> list[str]:
    """The prices of the models that were called and cost something."""
    from ..values.pricing import PriceList
    from ..values.settings import read_settings

    models = dict.fromkeys(call.model for call in found.total.calls if call.cost_usd != 0)
    prices = PriceList.of(read_settings()) if models else PriceList({})
    known = {model: prices.get(model) for model in models}
    return [
        f"{model}: ${price.input:.2f} in, ${price.output:.2f} out per million tokens, on {price.date}"
        if price
        else f"{model}: its price is not known"
        for model, price in known.items()
    ]
