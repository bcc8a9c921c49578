"""Language models, embedding models, rerankers and the offline engine, behind the context's protocols."""

from .embedding import LlamaEmbedder, load_embedder
from .llm import LlamaLlm, load_offline, load_openai
from .offline_scorer import OfflineScorer
from .rehearsal import (
    RehearsedEmbedder,
    RehearsedIndex,
    RehearsedLlm,
    RehearsedOffline,
    RehearsedReranker,
)
from .reranking import CrossEncoderReranker, load_reranker, load_scorer
from .timely import Timely

__all__ = [
    "CrossEncoderReranker",
    "LlamaEmbedder",
    "LlamaLlm",
    "OfflineScorer",
    "RehearsedEmbedder",
    "RehearsedIndex",
    "RehearsedLlm",
    "RehearsedOffline",
    "RehearsedReranker",
    "Timely",
    "load_embedder",
    "load_offline",
    "load_openai",
    "load_reranker",
    "load_scorer",
]
