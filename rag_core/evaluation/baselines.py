"""Simple answers from the same passages, which whatever chooses what to quote must beat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ..language.analysis import language_of
from ..stages.citations import resolve_citations
from ..values.trace import Trace
from ..values.types import Hit

Pick = Callable[[Sequence[Hit], str], Sequence[Hit]]


def _two_sections(hits: Sequence[Hit], language: str) -> Sequence[Hit]:
    """The first two in a language; without any, the first two."""
    return ([hit for hit in hits if hit.passage.language == language] or hits)[:2]


BASELINES: Mapping[str, Pick] = {
    "top section": lambda hits, language: hits[:1],
    "two sections": _two_sections,  # in the asker's language
}


def answer_by(pick: Pick, trace: Trace) -> Trace:
    """A trace whose answer, if it is one, quotes the passages that `pick` takes whole; its notice stays in front."""
    answer, hits = trace.answer, trace.ranking.hits
    if answer is None or answer.abstained:
        return trace
    numbers = {hit.id: n for n, hit in enumerate(hits, start=1)}
    picked = pick(hits, language_of(trace.question))
    quoted = "\n\n".join(f"{hit.passage.text} [{numbers[hit.id]}]" for hit in picked)
    text, citations, _ = resolve_citations(quoted, hits)
    written = replace(answer, text=f"{answer.notice} {text}".lstrip(), citations=citations)
    last = replace(trace.steps[-1], after=replace(trace.final, answer=written))
    return replace(trace, steps=(*trace.steps[:-1], last))
