"""An answer as presenter mode shows it, with nothing that gives its strategy away, and without the list of its passages."""

from __future__ import annotations

import re
from dataclasses import replace

import rag_core
from pages.compare import answers, passages
from pages.drawing.untrusted import escape
from pages.shared.live import Column


def answer(trace: rag_core.Trace, place: int, title: str) -> str:
    """An answer, with the passages that its citations open.

    Args:
        place: on the page, from 0.
    """
    shown = renumbered(trace, trace.answer) if trace.answer else trace
    column = Column(rag_core.build((trace.strategy, trace.controls)), list(shown.steps), trace=shown)
    written = answers.finished(shown, shown.answer, place, blind=True) if shown.answer else ""
    return (
        f'<h3 class="rl-side">{escape(title)}</h3>{written}'
        f"{passages.cards(column, place, trace.question, blind=True)}"
    )


def renumbered(trace: rag_core.Trace, said: rag_core.Answer) -> rag_core.Trace:
    """Passages numbered as the answer cites them: their ranks would hint at how many of them a strategy keeps."""
    hits = trace.ranking.hits
    ranks = dict.fromkeys([*(one.n for one in said.citations), *range(1, len(hits) + 1)])
    new = {0: 0, **{rank: number for number, rank in enumerate(ranks, start=1)}}

    def text(old: str) -> str:
        return re.sub(r"\[(\d+)\]", lambda marker: f"[{new.get(int(marker[1]), marker[1])}]", old)

    answer = replace(
        said,
        text=said.notice + text(said.text.removeprefix(said.notice)),
        citations=tuple(replace(one, n=new[one.n]) for one in said.citations),
        sentences=tuple(
            replace(
                one, start=len(text(said.written[: one.start])), end=len(text(said.written[: one.end])),
                n=new[one.n], by=tuple(sorted(new[n] for n in one.by)),
            )
            for one in said.sentences
        ),
    )  # fmt: skip
    ranking = replace(trace.ranking, hits=tuple(hits[rank - 1] for rank in ranks))
    last = replace(trace.steps[-1], after=replace(trace.final, rankings=(ranking,), answer=answer))
    return replace(trace, steps=(*trace.steps[:-1], last))
