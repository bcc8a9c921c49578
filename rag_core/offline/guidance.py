"""Which side a sentence takes where guidance differs: that of the chosen country, the other, or neither."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import replace

from ..prompts.prompt import Sources
from ..values.jurisdictions import JURISDICTIONS
from ..values.sources import Source
from ..values.types import Passage
from .quotable import Candidate

_PARTS = re.compile(
    r"[,()/]|\b(?:and|others|colleagues|y|e|colaboradores)\b"
)  # between an organisation's names


def with_sides(candidates: Sequence[Candidate], question: str, sources: Sources) -> list[Candidate]:
    """The candidates with their sides and rivals; as they are if no country is chosen or no source differs."""
    passages = [hit.passage for hit in sources.hits]
    found = []
    for one in candidates:
        passage = passages[one.n - 1]
        side = _side(one.text, question, passage, passage.leading(sources.country))
        rivals = {n for n, other in enumerate(passages, start=1) if _conflict(passage, other)}
        found.append(replace(one, side=side, rivals=frozenset(rivals)) if side else one)
    return found


def _side(text: str, question: str, passage: Passage, ours: Sequence[Source]) -> float:
    """The side of a sentence. One that names nobody is on the side that its section was written from."""
    if not ours:
        return 0
    at_home = ours[0] in passage.agreeing
    theirs = _named(passage.differs_from if at_home else passage.agreeing)
    if theirs.search(question):  # it asks for theirs
        return 0
    names_ours, names_theirs = (bool(names.search(text)) for names in (_named(tuple(ours)), theirs))
    if names_ours != names_theirs:
        return 1 if names_ours else -1
    return 0 if at_home or names_ours else -0.5


def _conflict(one: Passage, other: Passage) -> bool:
    """Whether each says that it differs from what the other was written from."""
    return bool({*one.agreeing} & {*other.differs_from} and {*other.agreeing} & {*one.differs_from})


@functools.lru_cache(maxsize=1024)
def _named(sources: Sequence[Source]) -> re.Pattern[str]:
    """A pattern for the organisations and countries of sources, as texts name them."""
    found: list[str] = []
    for source in sources:
        found += (re.escape(part.strip()) for part in _PARTS.split(source.organisation) if part.strip())
        if source.country:
            place = JURISDICTIONS[source.jurisdiction]
            found += (re.escape(source.jurisdiction), re.escape(place.es), place.words)
    return re.compile(rf"(?<!\w)(?:{'|'.join(found)})(?!\w)")
