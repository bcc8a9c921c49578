"""The stages a strategy is made of."""

from .answer import Write
from .base import Fuse, Rerank, Retriever, Select, Stage, Transform
from .fuse import Rrf
from .retrieve import Bm25, Dense, Retrieve
from .select import Mmr, Top

__all__ = [
    "Bm25",
    "Dense",
    "Fuse",
    "Mmr",
    "Rerank",
    "Retrieve",
    "Retriever",
    "Rrf",
    "Select",
    "Stage",
    "Top",
    "Transform",
    "Write",
]
