"""How well the passages shown support an answer, counted by sentences and citations."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..stages.citations import MARKER
from ..values.trace import Trace


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """Sentences and citations of one answer; all zero for an abstention.

    Args:
        supported, weak, unsupported: sentences with this support (see `rag_core.values.answers.HOW_GROUNDED`).
        citations: markers the model wrote.
        valid_citations: markers that name a passage it was shown.
    """

    supported: int = 0
    weak: int = 0
    unsupported: int = 0
    citations: int = 0
    valid_citations: int = 0

    @property
    def sentences(self) -> int:
        """All sentences that were compared with the passages."""
        return self.supported + self.weak + self.unsupported


def check(trace: Trace) -> AnswerCheck:
    """Count the sentences and citations of a trace's answer.

    Raises:
        ValueError: the trace has no answer.
    """
    answer = trace.answer
    if answer is None:
        raise ValueError("the trace has no answer to check")
    if answer.abstained:
        return AnswerCheck()
    found = Counter(one.support for one in answer.sentences)
    valid = len(MARKER.findall(answer.text))
    return AnswerCheck(
        found["supported"], found["weak"], found["unsupported"], valid + answer.invalid_citations, valid
    )
