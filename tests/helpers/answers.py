"""Answers and the passages they were written from, for tests of their checks."""

from collections.abc import Sequence

from rag_core.values.answers import Answer, Grounded
from rag_core.values.trace import Step, Trace
from rag_core.values.types import Hit, Passage, Query, Ranking, State


def passage(text: str, language: str = "en", title: str = "", name: str = "p") -> Passage:
    """A passage of a document of that name."""
    return Passage(f"{name}:0:0", name, title, text, language=language)


def answered(
    text: str,
    *passages: Passage,
    invalid: int = 0,
    abstained: bool = False,
    sentences: Sequence[Grounded] = (),
) -> Trace:
    """A trace that ends with this answer, written from these passages."""
    query = Query("Why?")
    hits = tuple(Hit(one, 0.5, "cosine") for one in passages)
    answer = Answer(text, abstained=abstained, invalid_citations=invalid, sentences=tuple(sentences))
    state = State(query, (query,), (Ranking(query, hits),), answer)
    return Trace("Why?", "s", {}, "f", (Step("Generate", "answer", {}, state, 0.0),))
