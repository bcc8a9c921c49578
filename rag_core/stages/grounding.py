"""The sentences of an answer with the passages that support them."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..language.analysis import SHORT_QUESTION, detect_language, language_of
from ..prompts.replies import TOO_LONG
from ..runtime.context import Context
from ..values.answers import Citation, Grounded, Remark
from ..values.message import Message
from ..values.translation import language_name, translate, translate_plural
from ..values.types import Hit
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
        removed = translate_plural(
            spoken,
            "1 citation pointed to no passage and was removed.",
            "{count} citations pointed to no passage and were removed.",
            invalid,
        )
        yield Remark("invalid", removed, ())
    written = unmarked(text)
    quotes = ctx.services.llm("answer").offline  # a remark says which passages are in another language
    sure = len(question.split()) > SHORT_QUESTION and len(written.split()) >= FEWEST_WORDS
    if sure and not quotes and (answered := detect_language(written)) != spoken:
        languages = translate(
            spoken,
            "The answer is in {answer}, the question in {question}.",
            answer=language_name(answered, spoken),
            question=language_name(spoken, spoken),
        )
        yield Remark("answer_language", languages, ())
    left = sentences and re.search(r"\w", unmarked(text[sentences[-1].end :]))
    if left and len(sentences) < (count := len(claims(text))):
        compared = translate(
            spoken,
            "Only the first {checked} of {count} sentences were compared with the passages.",
            checked=len(sentences),
            count=count,
        )
        yield Remark("unmarked", compared, ())


def why_cut(finish: str) -> Message:
    """Why a reply ends before its end."""
    match finish:
        case "length":
            return Message("the model reached its length limit")
        case "content_filter":
            return Message("the provider's content filter cut it off")
        case _ if finish == TOO_LONG:
            return Message("it was too long to read to its end")
    return Message("the provider stopped it ({finish})", finish=finish)
