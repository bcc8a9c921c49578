"""Embedding models that sentence-transformers loads, by name or folder, on torch."""

from __future__ import annotations

import copy
import hashlib
import os
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from ..values.errors import MissingResource
from ..values.message import Message
from .minilm import MAX_TEXTS_ONE_THREAD, PUBLISHED, sha256

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding

CONFIGURATION = (".json", ".txt", ".model")  # suffixes of a model's tokenizer and configuration
HUB_TIMEOUT_S = 5.0


class SentenceModel:
    """A sentence-transformers model, in a HuggingFaceEmbedding. Thread-safe: one thread embeds at a time."""

    def __init__(self, model: BaseEmbedding) -> None:
        self._model = model
        self._embedding = threading.Lock()
        # HuggingFaceEmbedding has no public access to its tokenizer. A copy, because the original must not be
        # used from another thread while it embeds.
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
    """A model's part of an index's identity: its name, and for a folder hashes of its files.

    The second hash, of tokenizer and configuration, is left out for the published MiniLM.
    """
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
