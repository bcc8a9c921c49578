"""How a duration, a price, its age and a number of calls are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pages.drawing.translate import plural, t

if TYPE_CHECKING:
    from rag_core.values.pricing import Price

FRESH_MONTHS = 6  # of an older price it is said how old it is


def seconds(duration: float) -> str:
    """A duration in s, short ones in ms: 1.25 s, 3.4 ms."""
    return f"{duration:.2f} s" if duration >= 0.1 else f"{1000 * duration:.1f} ms"


def money(dollars: float | None) -> str:
    """US dollars with as many digits as they need: $0, $0.000123, $12.34, $1,234; n/a when a price is unknown."""
    if dollars is None:
        return "n/a"
    if not dollars:
        return "$0"
    return (
        f"${dollars:,.0f}" if dollars >= 1_000 else f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.6f}"
    )


def price_age(price: Price) -> str:
    """That a price is old, and may have changed; empty for one of the last `FRESH_MONTHS` months, and for none."""
    months = price.months_old()
    if months < FRESH_MONTHS or not (price.input or price.output):
        return ""
    return t("{months} months old: check it", months=months)


def model_calls(purpose: str, count: int) -> str:
    """How many calls for a purpose: "3 rewriting calls"."""
    match purpose:
        case "rewrite":
            return plural("{count} rewriting call", "{count} rewriting calls", count)
        case "rerank":
            return plural("{count} reranking call", "{count} reranking calls", count)
        case "judge":
            return plural("{count} judging call", "{count} judging calls", count)
        case "answer":
            return plural("{count} answering call", "{count} answering calls", count)
        case "embed":
            return plural("{count} embedding call", "{count} embedding calls", count)
        case _:
            return plural("{count} other model call", "{count} other model calls", count)
