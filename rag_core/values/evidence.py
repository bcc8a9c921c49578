"""How well passages answer a question, and how well they must."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# Why passages cannot be enough, whatever they say: the question is about another patient, or continues another question.
Scope = Literal["", "another_patient", "continuation"]


@dataclass(frozen=True, slots=True)
class EvidenceScore:
    """The evidence that passages give for an answer.

    Args:
        score: 0 to 1.
        needed: the lowest score for an answer.
        scope: why the question is beyond the passages; empty if it is not, or if nobody can tell.
    """

    score: float
    needed: float
    scope: Scope = ""

    @property
    def enough(self) -> bool:
        return self.score >= self.needed
