"""Why an answer abstains, in the language of the question."""

from __future__ import annotations

import math

from ..values.evidence import EvidenceScore
from ..values.translation import translate


def abstention(language: str) -> str:
    """The text of an answer that abstains."""
    return translate(language, "There is not enough evidence in this collection to answer the question.")


def none_found(language: str) -> str:
    """Why an answer abstains: the search found nothing."""
    return translate(language, "No passage was found for this question.")


def not_enough(language: str, found: EvidenceScore) -> str:
    """Why an answer abstains; the score is rounded down, so never to what is needed."""
    return translate(
        language,
        "The evidence in these passages scores {score:.2f}; an answer needs at least {needed:.2f}.",
        score=math.floor(100 * found.score) / 100,
        needed=found.needed,
    )


def below_threshold(language: str, best: float, theta: float) -> str:
    """Why a threshold dropped every passage."""
    return translate(
        language,
        "The best passage reaches {best:.3f}, which is below the threshold θ = {theta:g}.",
        best=best,
        theta=theta,
    )
