"""What a comparison took, drawn as HTML: time, tokens and dollars."""

from collections.abc import Sequence

import rag_core
from pages.drawing.pieces import note
from pages.drawing.translate import t, translated
from pages.drawing.untrusted import escape
from pages.shared import corpora, setups
from pages.shared.live import Column
from pages.shared.wording import money, price_age, seconds
from rag_core.explain import stage_title
from rag_core.explain.bill import PARTS, BillLine, Part, bill_of, part_of
from rag_core.values.pricing import PriceList

SEVERAL = ("transform", "rerank", "select")  # kinds whose stages do different things


def paid(column: Column) -> str:
    """What each part of a column took, in tokens, dollars and time, under a bar of their shares; what is to come has its room."""
    parts = dict.fromkeys(part_of(stage.kind, stage.name) for stage in column.strategy.stages)
    bill = bill_of(column.trace) if column.trace else None
    lines, shares = (bill.parts, bill.shares) if bill else ({}, {})
    bar = "".join(
        f'<i class="rl-of-{escape(part)}" style="flex-grow: {share:.4f}"></i>'
        for part, share in shares.items()
        if share
    )
    without = "–" if column.settled else "\u00a0"
    rows = "".join(_row(part, lines.get(part), without) for part in PARTS if part in parts)
    about = escape(t("What each part took: tokens sent and received, money, time"))
    return f'<div class="rl-paid"><div class="rl-bar">{bar}</div><table><caption class="rl-unseen">{about}</caption>{rows}</table></div>'


def headline(trace: rag_core.Trace) -> str:
    """What a column took, which parts its money went to, and which parts others had paid for."""
    bill = bill_of(trace)
    cost = money(bill.total.cost.usd)
    if bill.total.cost.usd:
        shares = (f"{of_purpose(part)} {share:.0%}" for part, share in bill.shares.items() if share)
        cost = f"{cost}: {', '.join(shares)}"
    over = ", ".join(of_purpose(part) for part, line in bill.parts.items() if line.shared or line.reused)
    reused = t("reused: {parts}", parts=over) if over else ""
    return " · ".join(filter(None, (seconds(bill.total.seconds), cost, reused)))


def _row(part: Part, line: BillLine | None, without: str) -> str:
    cells = (without,) * 3
    if line:
        sent, received = line.tokens
        about = "" if line.counting in ("", "measured") else "≈ "
        called = line.calls or line.shared
        tokens = t("{sent:,} → {received:,} tokens", sent=sent, received=received)
        cells = (
            about + tokens if line.calls else t("reused") if line.shared else "–",
            money(line.cost.usd) if called else "–",
            t("reused") if line.reused else seconds(line.seconds),
        )
    drawn = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
    return (
        f'<tr><th scope="row"><i class="rl-of-{escape(part)}"></i>{escape(of_purpose(part))}</th>{drawn}</tr>'
    )


def made_by(trace: rag_core.Trace) -> str:
    """The language model and the documents behind a result."""
    model = setups.called(trace.engine.get("llm") or "")
    documents = corpora.title(trace.corpus)
    return note(t("Answered by: {model}. Searched: {documents}.", model=model, documents=documents))


def doing(kind: str, stage: str) -> str:
    """What a stage does: "Search"; with its own name where others of its kind do something else: "Select: MMR"."""
    does = {
        "transform": t("Write queries"),
        "retrieve": t("Search"),
        "fuse": t("Merge the lists"),
        "rerank": t("Rescore"),
        "select": t("Select"),
        "answer": t("Write the answer"),
    }[kind]
    return f"{does}: {translated(stage_title(stage))}" if kind in SEVERAL else does


def of_purpose(purpose: str) -> str:
    """What models were called for, or a part of a bill."""
    return {
        "retrieval": t("Retrieval"),
        "answer": t("Answer"),
        "rewrite": t("Rewriting"),
        "judge": t("Judging"),
        "rerank": t("Reranking"),
        "embed": t("Embedding"),
    }.get(purpose, purpose)


def notes(trace: rag_core.Trace, prices: PriceList) -> str:
    """What the counts and the prices rest on, and what this would have cost without reuse."""
    found, notes = bill_of(trace), []
    if found.total.counting not in ("", "measured"):
        notes.append(t("≈: tokens counted here, with a tokeniser, and not by the provider."))
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
    return note(" ".join(notes) or t("No model was called."))


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
