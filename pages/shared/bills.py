"""What a comparison took, drawn as HTML: time, tokens and dollars."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import rag_core


def bill(trace: rag_core.Trace) -> str:
    """Time, tokens and cost of every stage, and where the numbers come from."""
    rows = "".join(
        f"<tr><td>{escape(step.stage)}{' <small>kept</small>' if step.reused else ''}</td>"
        f"<td>{seconds(step.seconds)}</td>{_tokens(step.calls)}<td>{dollars(step.calls)}</td></tr>"
        for step in trace.steps
    )
    total = (
        f"<tr class='rl-total'><td>total</td><td>{seconds(trace.seconds)}</td>{_tokens(trace.calls)}"
        f"<td>{dollars(trace.calls)}</td></tr>"
    )
    counted = sorted({call.counted_by for call in trace.calls})
    note = f"<p class='rl-note'>Tokens counted by: {escape(', '.join(counted) or 'nobody, no model was called')}.</p>"
    return (
        '<div class="rl-scroll"><table class="rl-table"><thead><tr><th>Stage</th><th>Time</th><th>Tokens in</th>'
        f"<th>out</th><th>Cost</th></tr></thead><tbody>{rows}{total}</tbody></table></div>{note}"
    )


def cost_note(calls: Sequence[rag_core.ModelCall]) -> str:
    """What the calls of a comparison cost altogether."""
    cost = rag_core.Cost.of(calls)
    if not (cost.known or cost.unpriced):
        return "Cost of this comparison: $0; nothing was sent to a paid model."
    missing = " (its price is not in data/prices.toml)" if cost.unpriced else ""
    return (
        f"Cost of this comparison: {cost}{missing}. Failed and stopped strategies are included; calls that "
        "strategies shared count once."
    )


def seconds(taken: float) -> str:
    """A time as a reader takes it in: 1.25 s, 3.4 ms."""
    return f"{taken:.2f} s" if taken >= 0.1 else f"{1000 * taken:.1f} ms"


def dollars(calls: Sequence[rag_core.ModelCall]) -> str:
    """What calls cost: a dash for none, n/a when a price is unknown."""
    if not calls:
        return "–"
    cost = rag_core.Cost.of(calls).usd
    return "n/a" if cost is None else f"${cost:.6f}" if cost else "$0"


def _tokens(calls: Sequence[rag_core.ModelCall]) -> str:
    sent, received = sum(call.input_tokens for call in calls), sum(call.output_tokens for call in calls)
    return f"<td>{sent:,}</td><td>{received:,}</td>" if calls else "<td>–</td><td>–</td>"
