"""What a comparison took, drawn as HTML: time, tokens and dollars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import rag_core
from pages.drawing.translate import t, translated
from pages.drawing.untrusted import escape
from pages.shared import corpora, setups
from pages.shared.amounts import money, price_age, seconds
from rag_core.explain import stage_title
from rag_core.explain.bill import Bill, BillLine, bill_of

if TYPE_CHECKING:
    from rag_core.values.pricing import PriceList

SEVERAL = ("transform", "rerank", "select")  # kinds whose stages do different things


def bill(trace: rag_core.Trace, prices: PriceList) -> str:
    """Time, calls, tokens and cost of every stage, and who counted the tokens."""
    found = bill_of(trace)
    heads = "".join(
        f'<th scope="col">{escape(head)}</th>'
        for head in (t("Stage"), t("Time"), t("Calls"), t("Tokens in → out"), t("Cost"))
    )
    rows = "".join(_row(line, doing(line.kind, line.stage)) for line in found.lines)
    total = _row(found.total, t("Total"), " class='rl-total'")
    return (
        '<div class="rl-scroll" tabindex="0" role="region" aria-label="'
        f'{escape(t("Cost and time of every stage"))}"><table class="rl-table rl-bill"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}{total}</tbody></table></div><p class='rl-note'>{escape(_notes(found, prices))}</p>"
    )


def made_by(trace: rag_core.Trace) -> str:
    """The language model and the documents behind a result."""
    model = setups.called(trace.engine.get("llm") or "")
    by = t("Answered by: {model}. Searched: {documents}.", model=model, documents=corpora.title(trace.corpus))
    return f'<p class="rl-note">{escape(by)}</p>'


def doing(kind: str, stage: str) -> str:
    """What a stage does: "Search"; with its own name where others of its kind do something else: "Select: MMR"."""
    does = of_kind(kind)
    return f"{does}: {translated(stage_title(stage))}" if kind in SEVERAL else does


def of_kind(kind: str) -> str:
    """What the stages of a kind do."""
    return {
        "transform": t("Write queries"),
        "retrieve": t("Search"),
        "fuse": t("Merge the lists"),
        "rerank": t("Rescore"),
        "select": t("Select"),
        "answer": t("Write the answer"),
    }[kind]


def of_purpose(purpose: str) -> str:
    """What models were called for."""
    return {
        "answer": t("Answer"),
        "rewrite": t("Rewriting"),
        "judge": t("Judging"),
        "rerank": t("Reranking"),
        "embed": t("Embedding"),
    }.get(purpose, purpose)


def _row(line: BillLine, name: str, style: str = "") -> str:
    sent, received = line.tokens
    called = line.calls or line.shared
    cells = (
        t("reused") if line.reused else seconds(line.seconds),
        f"{len(line.calls):,}" if called else "–",
        f"{sent:,} → {received:,}" if called else "–",
        money(line.cost.usd) if called else "–",
    )
    marked = f"<br><small>{escape(_counting(line))}</small>" if called else ""
    drawn = "".join(f"<td>{escape(cell)}</td>" for cell in cells[:-1])
    return f"<tr{style}><th scope='row'>{escape(name)}</th>{drawn}<td>{escape(cells[-1])}{marked}</td></tr>"


def _counting(line: BillLine) -> str:
    counted = {
        "measured": t("measured"),
        "estimated": t("estimated"),
        "partly estimated": t("partly estimated"),
    }
    return counted.get(line.counting, t("reused"))


def _notes(found: Bill, prices: PriceList) -> str:
    """What the counts and the prices rest on, and what this would have cost without reuse."""
    notes = []
    if found.total.counting:
        notes.append(
            t(
                "Measured: the provider counted the tokens. Estimated: they were counted here, with a tokeniser."
            )
        )
    if found.total.shared:
        notes.append(
            t("Reused: another stage, another column or an earlier run did it, so it cost nothing here.")
        )
        if not found.alone.free:
            notes.append(t("With nothing to reuse, this result costs {cost}.", cost=found.alone))
    for model in dict.fromkeys(call.model for call in found.total.calls):
        price = prices.get(model)
        if price is None:
            notes.append(t("{model}: its price is not known.", model=setups.called(model)))
        elif price.input or price.output:
            age = price_age(price)
            notes.append(
                t(
                    "{model}: ${sent:.2f} in, ${received:.2f} out per million tokens, on {date}{age}.",
                    model=model, sent=price.input, received=price.output, date=price.date.isoformat(),
                    age=age and f" ({age})",
                )
            )  # fmt: skip
    return " ".join(notes) or t("No model was called.")


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
