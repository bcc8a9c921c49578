"""Language models, embedding models and the offline engine, behind the context's protocols."""

from .embedding import LlamaEmbedder, load_embedder
from .llm import LlamaLlm, load_llm

__all__ = ["LlamaEmbedder", "LlamaLlm", "load_embedder", "load_llm"]
