"""Language models, embedding models and rerankers for the protocols in `runtime`, and dry-run stand-ins."""

from .embedding import LlamaEmbedder, load_embedder
from .llm import LlamaLlm, load_openai
from .rehearsal import RehearsedEmbedder, RehearsedIndex, RehearsedLlm, RehearsedOffline, RehearsedReranker
from .sentence_models import CrossEncoderReranker, Rerankers
