"""How well each column found what was judged relevant, for a question from the judged set."""

from __future__ import annotations

from collections.abc import Sequence

import rag_core
from pages.drawing.translate import declared, t, translated
from pages.drawing.untrusted import escape
from pages.shared.live import Column

NAMES = {
    "recall": declared("Recall"),
    "precision": declared("Precision"),
    "mrr": declared("MRR"),
    "ndcg": declared("nDCG"),
}


def line(names: Sequence[str], columns: Sequence[Column]) -> str:
    """One quiet line with each column's recall, precision, MRR and nDCG; empty unless the question is a judged one."""
    from rag_core import evaluation as ev  # not with the first page

    settings = rag_core.read_settings()
    found = []
    for name, column in zip(names, columns, strict=True):
        try:
            quality = ev.quality_of(column.trace, settings) if column.trace else None
        except rag_core.RagError:  # the judgements cannot be read; Measure says so
            return ""
        if quality:
            values = ", ".join(f"{_name(metric)} {score:.2f}" for metric, score in quality.items())
            found.append(f"<b>{escape(name)}</b>: {escape(values)}")
    if not found:
        return ""
    told = t("One of the lab's measuring questions; by its judgements, which language models made:")
    return f'<p class="rl-note">{escape(told)} {"; ".join(found)}.</p>'


def _name(metric: str) -> str:
    """A metric with its cut-off, in the language of the visit."""
    name, _, k = metric.partition("@")
    return f"{translated(NAMES[name])}@{k}"
