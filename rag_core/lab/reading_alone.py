"""Whether each built-in passage can be read alone: a whole section, with the signs and the action of its advice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..data.documents import Document
from ..language.advice import advice_problems
from ..language.analysis import sentences
from ..language.urgency import calls_for_help
from ..values.types import Passage

_SECTIONS = re.compile(r"^#{1,6}[ \t]+.*$", re.MULTILINE)


def passage_problems(document: Document, passages: Iterable[Passage]) -> Iterator[str]:
    """What is wrong with how a document is cut, one line each: the document, the heading and the sentence."""
    sections = {" ".join(text.split()) for text in _SECTIONS.split(document.text)}
    for passage in passages:
        where = f"{document.id}: {passage.heading or passage.title}"
        if " ".join(passage.text.split()) not in sections:
            said = sentences(passage.text, passage.language)
            urgent = next(filter(calls_for_help, said), "")
            what = "an urgent instruction apart from its section" if urgent else "not one whole section"
            yield f"{where}: {what}: {urgent or said[0]}"
        for problem in advice_problems(passage.text, passage.full_title, passage.language):
            yield f"{where}: {problem}"
