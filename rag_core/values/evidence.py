"""How well passages answer a question, and how well they must."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EvidenceScore:
    """The evidence that passages give for an answer.

    Args:
        score: 0 to 1.
        needed: the lowest score for an answer.
    """

    score: float
    needed: float

    @property
    def enough(self) -> bool:
        return self.score >= self.needed
