"""An embedder with given cosines, a scorer with given relevances, and passages for both."""

from collections.abc import Mapping, Sequence

import numpy as np

from rag_core.offline.engine import OfflineEngine
from rag_core.prompts.prompt import ANSWER, Sources, Urgency
from rag_core.safety.urgency.triage import triage
from rag_core.values.types import Hit, Passage, Vectors

from .small import ToyEmbedder


class Angles(ToyEmbedder):
    """Embeds each text as the vector it is given for; others stand at a right angle to everything."""

    name = "angles"
    weights = key = "angles-1"

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        super().__init__()
        self.given = vectors

    def vectors(self, ids: Sequence[str]) -> Vectors:
        rows = [[*self.given.get(text, (0, 0, 0, 0)), text not in self.given] for text in ids]
        return np.array(rows, np.float32)


def hit(name: str, text: str, language: str = "en", title: str = "") -> Hit:
    return Hit(Passage(name, name, title, text, language=language), 1.0, "rrf")


def reply(engine: OfflineEngine, question: str, hits: Sequence[Hit]) -> str:
    prompt = ANSWER.fill(question=question, sources=Sources(hits), urgency=Urgency(triage(question)))
    return "".join(engine.reply(ANSWER.name, prompt.fields))


# Cosines to the question: near 0.9, left 0.8, right 0.8, below 0.5; to one another at most 0.72.
QUESTION = "Which words does nobody share here?"
NEAR, LEFT = "Alpha beta gamma delta epsilon zeta.", "Eta theta iota kappa lambda omega."
RIGHT, BELOW = "Primo secundo tertio quarto quinto sexto.", "Red green blue yellow black white."
ANGLES = {
    QUESTION: (1, 0, 0, 0),
    NEAR: (0.9, 0.19**0.5, 0, 0),
    LEFT: (0.8, 0, 0.6, 0),
    RIGHT: (0.8, 0, 0, 0.6),
    BELOW: (0.5, 0, -(0.75**0.5), 0),
}


class Fixed:
    """A scorer that finds the passages it is given relevant to the degree it is given."""

    name = key = "fixed"

    def __init__(self, **relevance: float) -> None:
        self.relevances = relevance

    def relevance(self, question: str, hits: Sequence[Hit]) -> list[float]:
        return [self.relevances[hit.id] for hit in hits]
