"""Passages as angles in the plane, so that every cosine can be written out by hand."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rag_core.runtime.context import Context
from rag_core.runtime.services import Services
from rag_core.values.labels import LabelRules
from rag_core.values.types import Hit, Passage, Query, Ranking, Vectors

from .small import ToyEmbedder

QUESTION = Query("question")


def cos(degrees: float) -> float:
    return math.cos(math.radians(degrees))


def unit(degrees: float) -> tuple[float, float]:
    return cos(degrees), math.sin(math.radians(degrees))


class Plane(ToyEmbedder):
    """Index and embedder in one: every text and every passage id lies at the angle it was given."""

    name = "plane"
    weights = key = "plane-1"

    def __init__(self, **degrees: float) -> None:
        super().__init__()
        self.degrees = degrees
        self.searched: list[tuple[list[float], int]] = []

    def vectors(self, ids: Sequence[str]) -> Vectors:
        return np.array([unit(self.degrees[name]) for name in ids], np.float32).reshape(-1, 2)

    def dense(self, vector: Vectors, k: int) -> list[Hit]:
        self.searched.append(([float(x) for x in vector], k))
        hits = [hit(name, float(self.vectors([name])[0] @ vector)) for name in self.degrees]
        return sorted(hits, key=lambda found: -found.score)[:k]

    def lexical(self, text: str, k: int, k1: float, b: float) -> list[Hit]:
        return []


def hit(identity: str, score: float = 0.0) -> Hit:
    return Hit(Passage(identity, identity, "", f"text of {identity}"), score, "cosine")


def ranking(ids: Sequence[str], query: Query = QUESTION, retriever: str = "") -> Ranking:
    return Ranking(query, tuple(hit(name) for name in ids), retriever)


def context(plane: Plane, **more: Any) -> Context:
    return Context(Services(**{"index": plane, "embedder": plane, "llms": {}, "labels": LabelRules({}), **more}))
