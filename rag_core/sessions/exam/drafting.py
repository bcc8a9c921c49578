"""Questions for an exam that a language model drafts, one a section; people agree to each before it is asked.

Kept section by section beside the questions that the corpus knows as asked, and apart from them: nothing is searched by them.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

from ...documents.asked import WRITTEN, asked_folder, content_of, read_questions
from ...indexing import EnrichmentEstimate, WriteReport, write_questions
from ...lab.lab import Lab
from ...values.errors import MissingResource
from ...values.message import Message
from ...values.types import Passage
from .exam import Draft

MOST_DRAFTS = 100


class Drafts(NamedTuple):
    """What a model has drafted of the sections that were chosen.

    Args:
        offered: each with the passage that it was drafted from, equal ones once.
        refused: how many are nearly a question that the corpus knows as asked, so that they would not be asked for the first time.
        left: sections without a draft.
    """

    offered: tuple[tuple[Draft, Passage], ...]
    refused: int
    left: int

    @property
    def refusal(self) -> Message:
        return Message(
            "Left out, because the documents are found by these questions or nearly the same already: {count}.",
            count=self.refused,
        )


def drafts(lab: Lab, sections: int) -> Drafts:
    """What is drafted of so many sections; calls no model. Raises DataError if the file of drafts is malformed."""
    written = {content_of(one.passage): one.question for one in read_questions(_path(lab))}
    chosen = _sections(lab, sections)
    found = [(Draft(written[at], "model"), one) for one in chosen if (at := content_of(one.id)) in written]
    new = [each for each in found if not (lab.asked and lab.asked.has(each[0].text))]
    once = {one.text.casefold(): (one, passage) for one, passage in reversed(new)}
    return Drafts(tuple(once.values())[::-1], len(found) - len(new), len(chosen) - len(found))


def write_drafts(
    lab: Lab,
    sections: int,
    announce: Callable[[EnrichmentEstimate], None],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> WriteReport:
    """Have a model draft a question of each of so many sections that has none; as `write_questions`.

    Raises MissingResource without a language model.
    """
    if (model := lab.engines.paid.get("enrich")) is None:
        raise MissingResource(
            Message("Drafting questions needs a language model."),
            Message("Set OPENAI_API_KEY or OPENAI_BASE_URL, or write the questions."),
        )
    return write_questions(_path(lab), _sections(lab, sections), model, lab.engines.prices, announce, progress, each=1)


def undrafted(written: WriteReport) -> str:
    """Why sections have no question; empty if all have one."""
    if not written.without_context:
        return ""
    said = {"count": written.without_context, "total": written.passages, "why": written.reason}
    return Message("{count} of {total} sections have no question: {why}.", **said)


def _path(lab: Lab) -> Path:
    return asked_folder(lab.settings.home, lab.corpus) / "drafts" / WRITTEN


def _sections(lab: Lab, most: int) -> list[Passage]:
    """So many passages by chance, of all documents in turn; with more, these stay among them."""
    by_chance = sorted(lab.passages.values(), key=lambda one: hashlib.sha256(one.id.encode()).digest())
    turns: defaultdict[str, Iterator[int]] = defaultdict(count)
    return sorted(by_chance, key=lambda one: next(turns[one.doc_id]))[:most]
