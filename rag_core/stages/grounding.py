"""The sentences of an answer with the passages that support them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..language.analysis import SHORT_QUESTION, detect_language, language_of
from ..runtime.context import Context
from ..values.answers import Citation, Grounded, Remark
from ..values.types import Hit
from . import messages
from .citations import MARKER, claims, unmarked

FEWEST_WORDS = 6  # of an answer whose language is compared with the question's


def grounded(text: str, hits: Sequence[Hit], ctx: Context) -> tuple[Grounded, ...]:
    """The sentences of an answer with resolved citations, marked by the context's grounder; none without one.

    The first sentences only, where the grounder leaves out the last.
    """
    grounder = ctx.services.grounder
    if grounder is None:
        return ()
    language = language_of(unmarked(text))
    return tuple(grounder.ground(claims(text), [hit.passage for hit in hits], language))


def reconciled(
    text: str, citations: Sequence[Citation], sentences: Sequence[Grounded]
) -> tuple[Citation, ...]:
    """The citations, judged by the sentences that cite them instead of by shared words; those of no sentence as they are.

    A citation is supported if its passage supports each of them, in doubt (None) if it comes close to one, else not.
    """
    places = [marker.start() for marker in MARKER.finditer(text)]

    def judged(citation: Citation) -> bool | None:
        citing = [
            one for place in citation.markers for one in sentences if one.start <= places[place] < one.end
        ]
        if not citing:
            return citation.supported
        if all(one.support == "supported" and citation.n in one.by for one in citing):
            return True
        return None if any(citation.n in one.by for one in citing) else False

    return tuple(replace(one, supported=judged(one)) for one in citations)


def remarks_on_reply(
    question: str, text: str, invalid: int, sentences: Sequence[Grounded], ctx: Context
) -> Iterator[Remark]:
    """What is wrong with a reply as such: citations of nothing, the wrong language, too long to check."""
    spoken = detect_language(question)
    if invalid:
        yield Remark("invalid", messages.invalid_citations(spoken, invalid), ())
    written = unmarked(text)
    answered = detect_language(written)
    quotes = ctx.services.llm("answer").offline  # a remark says which passages are in another language
    sure = len(question.split()) > SHORT_QUESTION and len(written.split()) >= FEWEST_WORDS
    if answered != spoken and sure and not quotes:
        yield Remark("answer_language", messages.answer_language(spoken, answered), ())
    if sentences and len(sentences) < (count := len(claims(text))):
        yield Remark("unmarked", messages.unmarked(spoken, len(sentences), count), ())
