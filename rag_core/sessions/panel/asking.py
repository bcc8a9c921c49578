"""A comparison as a question for a room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...catalog.setup import titles_of
from ...language.analysis import language_of
from ...values.trace import Trace
from .room import LEAST, MOST, Candidate, Question


def can_be_asked(traces: Sequence[Trace]) -> bool:
    """Whether there are as many answers as a room can judge, and not all are the same."""
    said = [trace.answer.text for trace in traces if trace.answer]
    return LEAST <= len(said) <= MOST and len(set(said)) > 1


def as_question(traces: Sequence[Trace], kind: str = "") -> Question:
    """The answers of one comparison, each labelled by its strategy in English and what is changed in it.

    Two of the same title, which only their prompts or documents tell apart, are numbered.

    Args:
        traces: of one question; those without an answer are left out.
        kind: what kind of question it is; may be empty.

    Raises:
        ValueError: too few or too many have an answer.
    """
    answered = [trace for trace in traces if trace.answer]
    seen: Counter[str] = Counter()
    candidates = []
    for trace, title in zip(answered, map(str, titles_of(answered)), strict=True):
        seen[title] += 1
        number = f" ({seen[title]})" if seen[title] > 1 else ""
        candidates.append(Candidate(f"{title}{number}", trace))
    asked = traces[0]
    return Question(asked.question, tuple(candidates), language_of(asked.question), asked.triage, kind)
