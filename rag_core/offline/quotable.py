"""The sentences of passages that an answer can quote, with what they need to be understood."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..language.analysis import language_of, sentences
from ..language.urgency import forbids_help
from ..prompts.prompt import Sources
from ..values.orders import gives_orders

MIN_WORDS = 3  # shorter pieces are fragments
MAX_HEADING = 12  # words; a longer line without a full stop is a sentence

_MARK = re.compile(r" ?\[\d+(?:\s*[,;]\s*\d+)*\]")  # a passage's own references
_BLOCKS = re.compile(r"\n{2,}|\n(?=[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t])")
_ITEM = re.compile(r"[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+")
_ENDS = re.compile(r"[.!?…:;][\"'”’»)]*$")
_INTRODUCES = re.compile(r":$|\b(?:these|below|the following|siguientes?|est[ao]s)\b", re.IGNORECASE)
_ANNOUNCES = re.compile(r"\b(?:the following|in these|siguientes?)\b", re.IGNORECASE)
_LOOKS_BACK = re.compile(
    r"(?:it|its|they|them|their|this|these|those|that|he|she|such|both|then|so|but|also|however|instead|otherwise|"
    r"another|others?|the (?:same|other|latter|former)|even then|either way|neither|afterwards|if (?:it|they|this|not|so)|"
    r"(?:above|after|at|before|below|beyond|by|despite|during|from|under|until|with|without) (?:that|this|these|those|it|them)|"
    r"(?:con|desde|durante|hasta|para|sin|tras|(?:antes|después|debajo|encima|por debajo|por encima) de) (?:es[aeo]s?|est[aeo]s?|ell[ao]s?)|"
    r"in (?:that|this) case|in addition|for (?:this|that) reason|any of (?:these|them)|(?:most|many|some|all|each|one|two|none) of (?:these|them)|"
    r"suelen?|son|es|dura[n]?|est[eao]s?|es[eao]s?|es[eo]|ell[ao]s?|él|pero|también|además|sin embargo|entonces|así|por es[eo]|"
    r"por est[ao]|por lo tanto|ambos|ambas|tampoco|en cambio|en (?:ese|este|tal) caso|de lo contrario|si no|"
    r"(?:ante )?cualquiera de (?:ell|est)[oa]s|otr[oa]s?|el (?:mismo|otro)|la (?:misma|otra)|sus?)\b",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"\b(?:(?:these|those|this|that|such) (?:sign|symptom|test|drug|medicine|measure|treatment|case|infection|rule|reason|stage|change|group|advice|"
    r"problem|step|method|risk|women|babies)s?|(?:est|es)[aeo]s? (?:signo|síntoma|prueba|medicamento|medida|tratamiento|caso|infección|"
    r"norma|motivo|fase|cambio|grupo|problema|método|riesgo|mujer)(?:e?s)?|dichos?|dichas?|instead(?! of)|(?:call|calling|ring) it)\b",
    re.IGNORECASE,
)
_ADDS = re.compile(
    r"\b(?:also|too|therefore|is the same|then|instead(?! of)|también|tampoco|además|por (?:lo )?tanto|es lo mismo)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence of a source.

    Args:
        n: number of the source.
        context: the source's title and headings.
        passage: relevance of the passage, or its cosine to the question; None when unknown.
        heading: the heading nearest above it.
        place: position among the source's sentences, from 0.
        above: position of the sentence above the list it belongs to; None outside a list.
        lead: the same if that sentence introduces the list, whose items say nothing without it.
        leads: whether it introduces a list, and says nothing alone.
        side: where guidance differs, 1 if it gives that of the chosen country and -1 if it gives the other: by name, or
            -0.5 because its section does.
        rivals: the passages in conflict with its own, where it has a side.
    """

    n: int
    text: str
    context: str
    language: str
    passage: float | None
    heading: str = ""
    place: int = 0
    above: int | None = None
    lead: int | None = None
    leads: bool = False
    side: float = 0
    rivals: frozenset[int] = frozenset()

    @property
    def needs_previous(self) -> bool:
        """Whether it refers to the sentence before it."""
        return self.place > 0 and bool(_LOOKS_BACK.match(self.text) or _POINTS_BACK.search(self.text))

    @property
    def adds(self) -> bool:
        """Whether it refers, or adds, to what stands before it, and so opens no answer."""
        return self.needs_previous or _ADDS.search(self.text) is not None


def announces(lead: str) -> bool:
    """Whether a list's lead-in announces all of it: "in the following situations" is untrue of one item."""
    return _ANNOUNCES.search(lead) is not None


class Piece(NamedTuple):
    """A sentence of a text with the heading above it and the positions of `Candidate`."""

    text: str
    heading: str
    above: int | None
    lead: int | None


def read_sources(sources: Sources, relevance: Sequence[float] = ()) -> list[Candidate]:
    """The sentences of numbered sources.

    Args:
        relevance: estimate for each source; by default its cosine to the question, if known.
    """
    candidates: list[Candidate] = []
    for n, hit in enumerate(sources, start=1):
        judged = hit.relevance
        cosine = judged.score if judged and judged.scorer == "cosine" else None
        passage = hit.passage
        worth = relevance[n - 1] if relevance else cosine
        candidates += candidates_of(n, passage.text, passage.full_title, passage.language, worth)
    return candidates


def candidates_of(
    n: int, text: str, context: str = "", language: str = "", passage: float | None = None
) -> list[Candidate]:
    """The sentences of one source, without fragments; the language is detected if not given."""
    language = language or language_of(text)
    found = pieces(text, language)
    leads = {piece.lead for piece in found}
    return [
        Candidate(
            n, piece.text, context, language, passage, piece.heading, place, piece.above, piece.lead,
            leads=place in leads or piece.text.endswith(":"),
        )
        for place, piece in enumerate(found)
    ]  # fmt: skip


@functools.lru_cache(maxsize=4096)
def pieces(text: str, language: str) -> tuple[Piece, ...]:
    """The sentences of a text in order, but none that gives orders to a language model or says not to call for help.

    Headings inside it are kept as context only.
    """
    found: list[Piece] = []
    heading, above, lead = "", None, None
    blocks = [block for block in _BLOCKS.split(_MARK.sub("", text)) if block.strip()]
    for block, following in itertools.zip_longest(blocks, blocks[1:], fillvalue=""):
        if _is_heading(block) and following and not _is_heading(following):
            heading, above, lead = " ".join(block.split()), None, None
            continue
        item = _ITEM.match(block)
        line = " ".join(block[item.end() if item else 0 :].split())
        if not item:
            above = lead = None
        for sentence in sentences(line, language):
            if gives_orders(sentence) or forbids_help(sentence):
                break  # the rest of the paragraph goes with it
            if len(sentence.split()) >= MIN_WORDS or item or sentence.endswith(":"):
                found.append(Piece(sentence, heading, above, lead))
        if not item and _ITEM.match(following) and found:
            above = len(found) - 1
            lead = above if _INTRODUCES.search(found[-1].text) else None
    return tuple(found)


def _is_heading(block: str) -> bool:
    """Whether a block is one short line without a full stop, and no list item."""
    line = block.strip()
    return (
        "\n" not in line
        and not _ITEM.match(block)
        and not _ENDS.search(line)
        and len(line.split()) <= MAX_HEADING
    )
