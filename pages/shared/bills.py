"""What a comparison took, drawn as HTML: time, tokens and dollars."""

from __future__ import annotations

from collections.abc import Sequence

import rag_core
from pages.shared.foreign import escape
from pages.shared.i18n import t


def bill(trace: rag_core.Trace) -> str:
    """Time, tokens and cost of every stage, and who counted the tokens."""
    reused = f" <small>{t('reused')}</small>"
    rows = "".join(
        f"<tr><td>{escape(step.stage)}{reused if step.reused else ''}</td>"
        f"<td>{seconds(step.seconds)}</td>{_tokens(step.calls)}<td>{dollars(step.calls)}</td></tr>"
        for step in trace.steps
    )
    total = (
        f"<tr class='rl-total'><td>{t('Total')}</td><td>{seconds(trace.seconds)}</td>{_tokens(trace.calls)}"
        f"<td>{dollars(trace.calls)}</td></tr>"
    )
    counters = ", ".join(sorted({call.counted_by for call in trace.calls}))
    note = t("Tokens counted by: {names}.", names=counters) if counters else t("No model was called.")
    return (
        '<div class="rl-scroll"><table class="rl-table"><thead><tr>'
        f"<th>{t('Stage')}</th><th>{t('Time')}</th><th>{t('Tokens in')}</th><th>{t('out')}</th><th>{t('Cost')}</th></tr></thead><tbody>{rows}{total}</tbody></table></div>"
        f"<p class='rl-note'>{escape(note)}</p>"
    )


def made_by(trace: rag_core.Trace) -> str:
    """The language model and the index behind a result."""
    model, index = trace.engine.get("llm") or "", trace.engine.get("index") or ""
    said = t("Answered by: {model}. Searched: {index}.", model=model, index=index)
    return f'<p class="rl-note">{escape(said)}</p>'


def cost_note(calls: Sequence[rag_core.ModelCall]) -> str:
    """What all calls of a comparison cost."""
    cost = rag_core.Cost.of(calls)
    if cost.free:
        return t("Cost of this comparison: $0. No paid model was called.")
    missing = t(" (no price in data/prices.toml)") if cost.unpriced else ""
    return t(
        "Cost of this comparison: {cost}{missing}. Failed and stopped strategies are included; "
        "calls shared by several strategies count once.",
        cost=cost,
        missing=missing,
    )


def seconds(duration: float) -> str:
    """A duration in s, short ones in ms: 1.25 s, 3.4 ms."""
    return f"{duration:.2f} s" if duration >= 0.1 else f"{1000 * duration:.1f} ms"


def dollars(calls: Sequence[rag_core.ModelCall]) -> str:
    """What calls cost: a dash for no calls, n/a when a price is unknown."""
    if not calls:
        return "–"
    cost = rag_core.Cost.of(calls).usd
    return "n/a" if cost is None else f"${cost:.6f}" if cost else "$0"


def _tokens(calls: Sequence[rag_core.ModelCall]) -> str:
    sent, received = rag_core.token_counts(calls)
    return f"<td>{sent:,}</td><td>{received:,}</td>" if calls else "<td>–</td><td>–</td>"
