"""Why an answer abstains, remarks on its evidence, and the documents nearest to a question that was not answered."""

import math
import re
from collections.abc import Iterator, Sequence

from ..language.analysis import detect_language, language_of, sentences
from ..values.answers import Remark, Suggestion
from ..values.labels import LABELS, EvidenceScore
from ..values.sources import Source, difference, listed, name_of
from ..values.translation import language_name, translate, translate_plural
from ..values.types import Hit, Passage
from .citations import cited_claims, unmarked


def abstention(language: str) -> str:
    """An abstention's text."""
    return translate(language, "There is not enough evidence in this collection to answer the question.")


def not_enough(language: str, found: EvidenceScore) -> str:
    """Why an answer abstains; the score is rounded down, so never to what is needed."""
    return translate(
        language,
        "The evidence in these passages scores {score:.2f}; an answer needs at least {needed:.2f}.",
        score=math.floor(100 * found.score) / 100,
        needed=found.needed,
    )


MOST_SUGGESTIONS = 3
MOST_SIDES = 2  # sentences


def remarks_on(question: str, text: str, hits: Sequence[Hit], country: str = "") -> tuple[Remark, ...]:
    """Remarks on an answer whose marker [n] cites `hits[n - 1]`; where passages differ, guidance of `country` leads."""
    spoken = detect_language(question)
    sources: dict[str, list[int]] = {}  # cited sentence -> its citations
    for n, claim in cited_claims(text, language_of(unmarked(text))):
        sources.setdefault(claim, []).append(n)
    return (
        *_differs(sources, hits, spoken, country),
        *_thin(sources, hits, spoken),
        *_other_language(sources, hits, spoken),
    )


def what_differs(passage: Passage) -> tuple[str, ...]:
    """The sentences of a passage that name most of the organisations whose guidance differs, two at most, in its order."""
    if not passage.differs_from:
        return ()
    sides = [
        re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        for name in {one.organisation for one in (*passage.agreeing, *passage.differs_from)}
    ]
    named = [
        (sum(name.search(sentence) is not None for name in sides), -place, sentence)
        for place, sentence in enumerate(sentences(passage.text, passage.language))
    ]
    best = sorted((one for one in named if one[0]), reverse=True)[:MOST_SIDES]
    return tuple(sentence for _, _, sentence in sorted(best, key=lambda each: -each[1]))


def perhaps_you_meant(question: str) -> str:
    """The introduction to an abstention's suggestions, in the question's language."""
    return translate(detect_language(question), "Perhaps you meant")


def suggestions(question: str, hits: Sequence[Hit]) -> tuple[Suggestion, ...]:
    """At most three documents of passages labelled Medium or High, not by rank; the question's language comes first."""
    asked = language_of(question)
    near = [
        (hit.relevance.score, hit.passage.language == asked, hit.passage)
        for hit in hits
        if hit.relevance and hit.relevance.label != "Low" and hit.relevance.scorer != "rank"
    ]
    found: dict[str, Suggestion] = {}
    for _, _, passage in sorted(near, key=lambda each: (not each[1], -each[0])):
        if passage.full_title and not passage.gives_orders:
            found.setdefault(passage.doc_id, Suggestion(passage.full_title, passage.doc_id, passage.id))
    return tuple(found.values())[:MOST_SUGGESTIONS]


def _differs(sources: dict[str, list[int]], hits: Sequence[Hit], spoken: str, country: str) -> Iterator[Remark]:
    """Where guidance differs: both sides, once for all cited passages with the same two."""
    sides: dict[tuple[tuple[Source, ...], tuple[Source, ...]], list[int]] = {}
    for n in _numbers(sources):
        passage = hits[n - 1].passage
        if passage.differs_from:
            sides.setdefault((passage.agreeing, passage.differs_from), []).append(n)
    for numbers in sides.values():
        passage = hits[numbers[0] - 1].passage
        told = [_markers(spoken, numbers), difference(passage.agreeing, passage.differs_from, spoken)]
        if ours := passage.leading(country):
            names = dict.fromkeys(f"{source.organisation} {source.year}" for source in ours)
            applies = translate_plural(
                spoken,
                "For the country you chose ({country}), {names} applies.",
                "For the country you chose ({country}), {names} apply.",
                len(names),
                country=name_of(ours[0].jurisdiction, spoken),
                names=listed(names, spoken),
            )
            told.append(applies)
        yield Remark("differs", " ".join(told), tuple(numbers))


def _thin(sources: dict[str, list[int]], hits: Sequence[Hit], spoken: str) -> Iterator[Remark]:
    """The cited sentences that rest only on passages labelled Low."""
    low = {n for n, hit in enumerate(hits, start=1) if hit.relevance and hit.relevance.label == "Low"}
    thin = {claim: cited for claim, cited in sources.items() if low.issuperset(cited)}
    if not thin:
        return
    numbers = _numbers(thin)
    if len(thin) == len(sources):
        text = translate(spoken, "Thin evidence: every passage cited is labelled Low.")
        yield Remark("all_thin", text, numbers, tuple(thin))
    else:
        text = translate_plural(
            spoken,
            "Thin evidence: {n} rests on a passage labelled Low.",
            "Thin evidence: {n} rest on passages labelled Low.",
            len(numbers),
            n=_markers(spoken, numbers),
        )
        yield Remark("thin", text, numbers, tuple(thin))


def _other_language(sources: dict[str, list[int]], hits: Sequence[Hit], spoken: str) -> Iterator[Remark]:
    """The cited passages in another language than the question, one remark for each language."""
    cited = [hits[n - 1] for n in _numbers(sources)]
    native = [hit for hit in hits if hit.passage.language == spoken]
    best = max(map(_grade, cited), default=0)
    alone = not any(hit in cited or _grade(hit) > best for hit in native)
    for language in dict.fromkeys(hit.passage.language for hit in cited):
        if language != spoken:
            numbers = tuple(n for n in _numbers(sources) if hits[n - 1].passage.language == language)
            text = translate_plural(
                spoken,
                "{n} is in {language}",
                "{n} are in {language}",
                len(numbers),
                n=_markers(spoken, numbers),
                language=language_name(language, spoken),
            )
            if alone:
                text += translate(
                    spoken,
                    "; there is no better passage in {language}",
                    language=language_name(spoken, spoken),
                )
            yield Remark("language", f"{text}.", numbers)


def _numbers(sources: dict[str, list[int]]) -> tuple[int, ...]:
    return tuple(sorted({n for cited in sources.values() for n in cited}))


def _markers(language: str, citations: Sequence[int]) -> str:
    return listed((f"[{n}]" for n in citations), language)


def _grade(hit: Hit) -> int:
    """3 for High, 2 for Medium, 1 for Low, 0 without a label."""
    return len(LABELS) - LABELS.index(hit.relevance.label) if hit.relevance else 0
