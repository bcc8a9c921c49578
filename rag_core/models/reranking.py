"""Rerankers: any cross-encoder, or the offline scorer."""

from __future__ import annotations

import math
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
from .sentence_models import hub_reachable, set_threads, weights_key

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder

BATCH = 16  # pairs per forward pass


class CrossEncoderReranker:
    """A sentence-transformers CrossEncoder as the context's Reranker. Thread-safe.

    Each query is paired with the indexed text of the passage (title, headings, text), truncated by the
    tokenizer. Scores are raw logits, without the sigmoid of some models: the order is the same, and confident
    scores do not tie at 1.0. They are comparable within one query only, and thresholds fitted on one model's
    logits do not apply to another's.

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
                    tokens = self._count(pairs)
        except Exception as error:  # from torch or the model's own code
            raise ProviderError(
                Message("The reranker {name} failed: {reason}", name=self.name, reason=error),
                Message("Try again, or set RAG_RERANKER=auto."),
            ) from error
        if len(scores) != len(hits) or not all(map(math.isfinite, scores)):
            said = {"name": self.name, "count": len(hits)}
            what = Message(
                "The reranker {name} did not return {count} finite scores for {count} passages.", **said
            )
            raise ProviderError(what, Message("Set RAG_RERANKER to auto or to another model."))
        return scores, ModelCall("rerank", self.name, tokens, 0, 0.0, "tokenizer")

    def _count(self, pairs: Sequence[tuple[str, str]]) -> int:
        longest = self._model.max_seq_length
        read = self._model.tokenizer(list(pairs), truncation=longest is not None, max_length=longest)
        return sum(map(len, read["input_ids"]))


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
        """A reranker by its name in the settings: a CrossEncoder by name or folder, or the scorer.

        Raises SettingsError if the settings do not name it, MissingResource if it cannot be loaded.
        """
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
