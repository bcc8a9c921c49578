"""A passage cut into segments: which words the question uses, which sentences an answer quotes."""

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .analysis import matches


class Segment(NamedTuple):
    """A piece of a text that is marked the same way throughout."""

    text: str
    matched: bool  # shares a term with the question
    quoted: bool  # belongs to a quoted sentence


def highlight(text: str, question: str, language: str, quotes: Iterable[str] = ()) -> list[Segment]:
    """The segments that make up a text; `quotes` are sentences of it, white space aside; others are ignored."""
    words = matches(text, question, language)
    sentences = [
        match.span()
        for quote in quotes
        if (match := re.search(r"\s+".join(map(re.escape, quote.split())), text)) and quote
    ]
    cuts = sorted({0, len(text), *(edge for span in (*words, *sentences) for edge in span)})
    return [
        Segment(text[start:end], _inside(start, words), _inside(start, sentences))
        for start, end in itertools.pairwise(cuts)
    ]


def _inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= place < end for start, end in spans)
