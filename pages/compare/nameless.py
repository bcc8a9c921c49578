"""An answer as presenter mode shows it, with nothing that gives its strategy away, and without the list of its passages."""

from __future__ import annotations

import re
from dataclasses import replace

import rag_core
from pages.compare import answers, passages
from pages.drawing.untrusted import escape
from pages.shared.live import Column
from rag_core.values.answers import Grounded


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
        f"{passages.opened(column, place, trace.question, blind=True)}"
    )


def renumbered(trace: rag_core.Trace, said: rag_core.Answer) -> rag_core.Trace:
    """Passages numbered as the answer cites them: their ranks would hint at how many of them a strategy keeps."""
    hits, cited = trace.ranking.hits, [one.n for one in said.citations]
    ranks = sorted(
        range(1, len(hits) + 1), key=lambda rank: cited.index(rank) if rank in cited else len(cited)
    )
    numbers = {rank: number for number, rank in enumerate(ranks, start=1)}

    def new(rank: int) -> int:
        return numbers.get(rank, rank)

    def text(old: str) -> str:
        return re.sub(r"\[(\d+)\]", lambda marker: f"[{new(int(marker[1]))}]", old)

    def sentence(one: Grounded) -> Grounded:
        start, end = (len(text(said.written[:place])) for place in (one.start, one.end))
        return replace(one, start=start, end=end, n=new(one.n), by=tuple(sorted(map(new, one.by))))

    answer = replace(
        said,
        text=said.notice + text(said.text.removeprefix(said.notice)),
        citations=tuple(replace(one, n=new(one.n)) for one in said.citations),
        sentences=tuple(map(sentence, said.sentences)),
    )
    ranking = replace(trace.ranking, hits=tuple(hits[rank - 1] for rank in ranks))
    last = replace(trace.steps[-1], after=replace(trace.final, rankings=(ranking,), answer=answer))
    return replace(trace, steps=(*trace.steps[:-1], last))
