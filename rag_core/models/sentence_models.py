"""Embedding models and rerankers that sentence-transformers loads, by name or folder, on torch."""

from __future__ import annotations

import copy
import hashlib
import math
import os
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..runtime.services import Reranker
from ..values.errors import MissingResource, ProviderError, SettingsError
from ..values.message import Message
from ..values.model_choice import OFFLINE_MODEL
from ..values.settings import Settings
from ..values.types import Hit, ModelCall, Scale
from .minilm import MAX_TEXTS_ONE_THREAD, PUBLISHED, sha256

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from sentence_transformers import CrossEncoder

CONFIGURATION = (".json", ".txt", ".model")  # suffixes of a model's tokenizer and configuration
HUB_TIMEOUT_S = 5.0


class SentenceModel:
    """A sentence-transformers model, in a HuggingFaceEmbedding. Thread-safe: one thread embeds at a time."""

    def __init__(self, model: BaseEmbedding) -> None:
        self._model = model
        self._embedding = threading.Lock()
        # there is no public access; a copy, because another thread must not use the original while it embeds
        self._tokenizer = copy.deepcopy(model._model.tokenizer)  # type: ignore[attr-defined]
        self._counting = threading.Lock()

    def get_query_embedding(self, query: str) -> list[float]:
        with self._embedding:
            set_threads(1)
            return self._model.get_query_embedding(query)

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]:
        with self._embedding:
            set_threads(len(texts))
            return self._model.get_text_embedding_batch(texts)

    def count(self, text: str) -> int:
        """The number of a text's tokens, beyond what the model reads too."""
        with self._counting:
            return len(self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])


def load_sentence_model(name: str) -> SentenceModel:
    """A model by its name on the hub, or its folder; raises MissingResource if it cannot be loaded."""
    try:
        from llama_index.embeddings.huggingface import HuggingFaceEmbedding
        from transformers.utils import logging

        logging.disable_progress_bar()
        on_disk = Path(name).exists() or not hub_reachable()
        return SentenceModel(HuggingFaceEmbedding(model_name=name, device="cpu", local_files_only=on_disk))
    except Exception as error:
        raise MissingResource(
            Message("The embedding model {name!r} cannot be loaded: {reason}", name=name, reason=error),
            Message("Set RAG_EMBEDDING to minilm, a folder, or a model in your hub cache."),
        ) from error


def weights_key(model: str) -> str:
    """A model's part of an index's identity: name and file hashes; for the published MiniLM, of the weights only."""
    folder = Path(model)
    weights = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
    if not weights:
        return re.sub(r"[^\w.-]+", "--", model.strip("/"))
    key = f"{folder.name}-{sha256(weights[0])[:8]}"
    if all((folder / name).is_file() and sha256(folder / name) == PUBLISHED[name] for name in PUBLISHED):
        return key
    rest = [path for path in folder.rglob("*") if path.suffix in CONFIGURATION and path.is_file()]
    hashes = sorted((path.relative_to(folder).as_posix(), sha256(path)) for path in (*weights[1:], *rest))
    return f"{key}-{hashlib.sha256(repr(hashes).encode()).hexdigest()[:8]}"


def hub_reachable() -> bool:
    """Whether the hub can be reached; loading a model without it would retry for a minute."""
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=HUB_TIMEOUT_S)
    except Exception:  # the hub client's HTTP library varies; also raised when HF_HUB_OFFLINE is set
        return False
    return True


def set_threads(texts: int) -> None:
    """Set torch's threads for this many texts: one for interactive use, all for a batch."""
    import torch

    torch.set_num_threads(1 if texts <= MAX_TEXTS_ONE_THREAD else os.cpu_count() or 1)


BATCH = 16  # pairs per forward pass


class CrossEncoderReranker:
    """A sentence-transformers CrossEncoder as the context's Reranker. Thread-safe.

    Each query is paired with the indexed text of the passage (title, headings, text), truncated by the tokenizer.
    Scores are raw logits, without the sigmoid of some models: the order is the same, and confident scores do not tie
    at 1.0. They compare within one query only, and thresholds fitted on one model's logits do not apply to another's.

    RAG-MSR (README, Step 2) uses cross-encoder/ms-marco-MiniLM-L-6-v2,
    Query System with Contextual Retrieval (Reranking) mixedbread-ai/mxbai-rerank-large-v1.
    """

    scale: Scale = "cross_encoder"

    def __init__(self, model: CrossEncoder, name: str, key: str = "") -> None:
        self.name = name
        self.key = key or name
        self._model = model
        self._lock = threading.Lock()

    def score(self, query: str, hits: Sequence[Hit]) -> tuple[list[float], ModelCall]:
        """One logit per hit, in order, and the call; raises ProviderError if one is not finite."""
        import torch

        pairs = [(query, hit.passage.indexed_text) for hit in hits]
        scores: list[float] = []
        tokens = 0
        try:
            with self._lock:
                set_threads(len(pairs))
                if pairs:
                    raw = self._model.predict(
                        pairs, batch_size=BATCH, activation_fn=torch.nn.Identity(), show_progress_bar=False
                    )
                    scores = [float(score) for score in raw]
                    longest = self._model.max_seq_length
                    read = self._model.tokenizer(pairs, truncation=longest is not None, max_length=longest)
                    tokens = sum(map(len, read["input_ids"]))
        except Exception as error:  # from torch or the model's own code
            raise ProviderError(
                Message("The reranker {name} failed: {reason}", name=self.name, reason=error),
                Message("Try again, or set RAG_RERANKER=auto."),
            ) from error
        if len(scores) != len(hits) or not all(map(math.isfinite, scores)):
            said = {"name": self.name, "count": len(hits)}
            what = Message("The reranker {name} did not return {count} finite scores for {count} passages.", **said)
            raise ProviderError(what, Message("Set RAG_RERANKER to auto or to another model."))
        return scores, ModelCall("rerank", self.name, tokens, 0, 0.0, "tokenizer")


class Rerankers:
    """The rerankers of the settings and the offline scorer, each loaded when first chosen. Thread-safe."""

    def __init__(self, settings: Settings, scorer: Reranker) -> None:
        self._offered = settings.choosable_rerankers
        self._loaded: dict[str, Reranker] = {OFFLINE_MODEL: scorer}
        self._lock = threading.Lock()

    def of_settings(self) -> Reranker:
        """The first of the settings; raises as `chosen` does."""
        return self.chosen(self._offered[0])

    def chosen(self, name: str) -> Reranker:
        """A reranker by its name in the settings; raises SettingsError for another, MissingResource if it does not load."""
        if name not in self._offered:
            names = ", ".join(self._offered)
            step = Message("Choose one of {names}, or add it to RAG_RERANKER after a comma.", names=names)
            raise SettingsError(Message("The settings name no reranker {name!r}.", name=name), step)
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = _cross_encoder(name)
            return self._loaded[name]


def _cross_encoder(name: str) -> CrossEncoderReranker:
    try:
        from sentence_transformers import CrossEncoder
        from transformers.utils import logging

        logging.disable_progress_bar()
        local_only = Path(name).exists() or not hub_reachable()
        model = CrossEncoder(name, device="cpu", local_files_only=local_only)
        labels, saved = model.num_labels, model[0].model.config.architectures
    except Exception as error:
        raise MissingResource(
            Message("The reranker {name!r} cannot be loaded: {reason}", name=name, reason=error),
            Message("Set RAG_RERANKER to auto, a CrossEncoder's folder, or one in your hub cache."),
        ) from error
    if labels != 1:
        said = {"name": name, "labels": labels}
        what = Message("The model {name!r} gives {labels} scores per pair; a reranker gives one.", **said)
        raise MissingResource(what, Message("Set RAG_RERANKER to auto or to another CrossEncoder."))
    if len(model) == 1 and saved and not any("Classification" in architecture for architecture in saved):
        # the library would silently add a head with random weights
        said = {"name": name, "names": ", ".join(saved)}
        what = Message("The model {name!r} ({names}) was not trained to score pairs.", **said)
        raise MissingResource(what, Message("Set RAG_RERANKER to auto or to a CrossEncoder."))
    return CrossEncoderReranker(model, Path(name).name if Path(name).exists() else name, weights_key(name))
