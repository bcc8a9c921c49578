"""An answer as presenter mode shows it, with nothing that gives its strategy away, and without the list of its passages."""

from __future__ import annotations

import rag_core
from pages.compare import answers, passages
from pages.drawing.untrusted import escape
from pages.shared.live import Column


def answer(trace: rag_core.Trace, place: int, title: str) -> str:
    """An answer, with the passages that its citations open.

    Args:
        place: on the page, from 0.
    """
    column = Column(rag_core.build((trace.strategy, trace.controls)), list(trace.steps), trace=trace)
    written = answers.finished(trace, trace.answer, place, blind=True) if trace.answer else ""
    return (
        f'<h3 class="rl-side">{escape(title)}</h3>{written}'
        f"{passages.cards(column, place, trace.question, blind=True)}"
    )
