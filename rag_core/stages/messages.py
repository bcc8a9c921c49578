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
    """Why an answer abstains: the question is beyond the passages, or their evidence too weak.

    The score is rounded down, so never to what is needed.
    """
    match found.scope:
        case "another_patient":
            return translate(
                language, "The question seems to be about somebody whom these documents do not cover."
            )
        case "continuation":
            return translate(
                language,
                "This seems to continue another question, but each is answered by itself. What is it about? "
                "Ask it whole.",
            )
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
