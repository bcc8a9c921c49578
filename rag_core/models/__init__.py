"""Language models, embedding models and the offline engine, behind the context's protocols."""

from .embedding import LlamaEmbedder, load_embedder
from .llm import LlamaLlm, load_llm, load_offline
from .rehearsal import RehearsedEmbedder, RehearsedLlm

__all__ = [
    "LlamaEmbedder",
    "LlamaLlm",
    "RehearsedEmbedder",
    "RehearsedLlm",
    "load_embedder",
    "load_llm",
    "load_offline",
]
