"""The stages a strategy is made of."""

from .answer import Write
from .base import Flow, Fuse, Rerank, Retriever, Select, Stage, Transform
from .fuse import Best, Merge, Rrf
from .rerank import Blend, Judge, Rescore
from .retrieve import Bm25, Dense, Retrieve
from .select import AtLeast, Mmr, Top
from .transform import Analyse, AnalyseByModel, Hypothesise, Rephrase, Rewrite

__all__ = [
    "Analyse",
    "AnalyseByModel",
    "AtLeast",
    "Best",
    "Blend",
    "Bm25",
    "Dense",
    "Flow",
    "Fuse",
    "Hypothesise",
    "Judge",
    "Merge",
    "Mmr",
    "Rephrase",
    "Rerank",
    "Rescore",
    "Retrieve",
    "Retriever",
    "Rewrite",
    "Rrf",
    "Select",
    "Stage",
    "Top",
    "Transform",
    "Write",
]
