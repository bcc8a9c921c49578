"""The embedding model of the settings: the bundled MiniLM, another on this machine, or a provider's; a program's own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..language.analysis import language_of
from ..language.spanish import Gloss
from ..language.thesaurus import Thesaurus
from ..runtime.run import stop_flag
from ..runtime.services import TextKind
from ..runtime.spending import payer, spent
from ..values.errors import ProviderError, RagError, SettingsError, Stopped
from ..values.message import Message
from ..values.pricing import PriceList
from ..values.settings import Server, Settings
from ..values.types import ModelCall, Vectors
from .events import start_event, tell_embedding
from .minilm import MINILM, MINILM_WEIGHTS, MiniLM, bundled_minilm
from .openai.batches import Batches, in_order
from .openai.errors import TRY_AGAIN, api_key_of, rejected_option, to_provider_error
from .openai.transport import Call, CallTracker, Sent
from .reply import token_count
from .sentence_models import SentenceModel, load_sentence_model, weights_key
from .tokenizer import count_tokens

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding

SPANISH = "es"  # the language of the gloss
UNUSABLE = "Check the server of RAG_EMBEDDING, or use another model."
ENCODING = "encoding_format"  # the option of OpenAI's protocol
PROVIDER_BATCH = 100  # texts per request to a provider, LlamaIndex's default
# Published as English-only. A model that is not listed and has no card that says so reads Spanish itself.
_ENGLISH = re.compile(
    r"""minilm | all-minilm-l(?:6|12)-v[12] | all-mpnet-base-v[12] | all-distilroberta-v1 | all-roberta-large-v1
    | multi-qa-(?:minilm|mpnet|distilbert)-.* | msmarco-(?:distilbert|minilm|roberta|bert)-.*
    | paraphrase-(?:minilm|mpnet|albert|distilroberta)-.* | (?:gtr|sentence)-t5-.*
    | bge-(?:small|base|large)-en(?:-v1\.5)? | e5-(?:small|base|large)(?:-v2|-unsupervised)?
    | gte-(?:small|base|large) | gte-(?:base|large)-en-v1\.5 | snowflake-arctic-embed-(?:xs|s|m|l)
    | nomic-embed-text-v1(?:\.5)?""",
    re.VERBOSE,
)
_CARD = re.compile(r"\A---\n(.*?)^---$", re.DOTALL | re.MULTILINE)
_LANGUAGE = re.compile(r"^language:[ \t]*(?:\[(.*?)\]|(\S+)|((?:\n[ \t]*-[ \t]*\S+)+))", re.MULTILINE)


class EmbeddingModel(Protocol):
    """What is used of LlamaIndex's BaseEmbedding. Thread-safe."""

    def get_query_embedding(self, query: str) -> list[float]: ...

    def get_text_embedding_batch(self, texts: list[str]) -> list[list[float]]: ...


class LlamaEmbedder:
    """A LlamaIndex embedding model, or an object with its methods, as the context's Embedder; `key`: weights and gloss.

    Args:
        weights: name and version of the model alone.
        tracker: tracks the requests of its HTTP client; None when there is no client to track.
        gloss: reads Spanish in English for a model that knows English only; None when the model reads it itself.
    """

    def __init__(
        self,
        model: EmbeddingModel,
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
        self._batches = Batches(PROVIDER_BATCH, count)

    def read(self, text: str, language: str = "") -> str:
        """The text as the model reads it: Spanish (given or detected) in English if there is a gloss."""
        if self.gloss is None or (language or language_of(text)) != SPANISH:
            return text
        return self.gloss.english(text)

    def embed(
        self, texts: Sequence[str], kind: TextKind = "query", languages: Sequence[str] = ()
    ) -> tuple[Vectors, tuple[ModelCall, ...]]:
        """(n, d) L2-normalised vectors of n texts as read, and a call for each request; (0, 0) for no texts.

        A text that is longer than a provider's model reads is shortened, which the last call notes. Tokens are counted
        by the provider if it reports them, otherwise here, also for requests without a response, or with part of one.
        Raises ProviderError, or LimitReached if a budget does not allow a request; both carry the calls made so far.
        """
        if not texts:
            return np.zeros((0, 0), np.float32), ()
        texts = [self.read(*pair) for pair in zip(texts, languages or [""] * len(texts), strict=True)]
        if self._tracker:
            self._tracker.call = Call(stop_flag.get())
        elif not self.local:
            payer.get().start_call()
        end_event = start_event("embedding", {})
        end_told = tell_embedding(self.name) if isinstance(self.model, MiniLM) else None
        raw: list[list[float]] = []
        cut = 0
        try:
            if self._tracker:
                ask, most = (self._query, 1) if kind == "query" else (self._passages, None)
                raw, cut = self._batches.vectors(texts, ask, most)
            elif kind == "query" and not isinstance(self.model, MiniLM):  # which reads both kinds alike
                raw = [self.model.get_query_embedding(text) for text in texts]
            else:
                raw = self.model.get_text_embedding_batch(texts)
            vectors = _checked(raw, len(texts), self.name)
        except Exception as error:
            failure: RagError = (
                error
                if isinstance(error, RagError)
                else to_provider_error(error, self.name, self._secret, named_by="RAG_EMBEDDING")
            )
            if self._tracker and self._tracker.stopped():
                failure = Stopped()
            failure.calls = self._calls()
            spent(failure.calls)
            raise failure from None if self._secret or failure is error else error
        finally:
            end_event({"chunks": texts, "embeddings": raw})
            if end_told:
                end_told(texts, raw)
        calls = self._calls() if self._tracker else (self.bill(texts),)
        if not self.local:
            spent(calls)
        if cut:
            calls = (*calls[:-1], replace(calls[-1], note=_shortened(cut, len(texts))))
        return vectors, calls

    def _query(self, texts: list[str]) -> list[list[float]]:
        return self._as_floats(lambda: [self.model.get_query_embedding(text) for text in texts])

    def _as_floats(self, ask: Callable[[], list[list[float]]]) -> list[list[float]]:
        """Vectors as the server gives them; in plain numbers, or unasked, where it refuses OpenAI's client its base64."""
        options = getattr(self.model, "additional_kwargs", {})
        try:
            return ask()
        except Exception as error:
            if "extra_body" in options or not rejected_option(error, (ENCODING, "base64")):
                raise
        if ENCODING in options:
            from openai import omit

            options["extra_body"] = {ENCODING: omit}
        options[ENCODING] = "float"
        return self._as_floats(ask)

    def _passages(self, texts: list[str]) -> list[list[float]]:
        assert self._tracker
        vectors = self._as_floats(lambda: self.model.get_text_embedding_batch(texts))
        # per request: what one lacks, another could have too many of
        _check_count(vectors, len(texts), self.name)
        return in_order(vectors, self._tracker.call, self.name)

    def _calls(self) -> tuple[ModelCall, ...]:
        requests = self._tracker.call.requests if self._tracker else ()
        return tuple(self.bill(*_sent(one)) for one in requests if one.accepted or one.unanswered)

    def bill(self, texts: Sequence[str], reported: int | None = None) -> ModelCall:
        """The call for one request of texts as read, sent or not; `reported` is the provider's token count."""
        tokens = sum(self.count(text) for text in texts) if reported is None else reported
        cost = 0.0 if self.local else self._prices.cost_usd(self.name, tokens, 0)
        return ModelCall("embed", self.name, tokens, 0, cost, "tokenizer" if reported is None else "provider")


def _checked(raw: Sequence[Sequence[float]], count: int, model: str) -> Vectors:
    _check_count(raw, count, model)
    lengths = [len(row) for row in raw]
    if not lengths[0] or set(lengths) != set(lengths[:1]):
        least, most = min(lengths), max(lengths)
        said = {"model": model, "least": least, "most": most}
        what = Message("Model {model} returned vectors of {least} to {most} numbers.", **said)
        raise ProviderError(what, UNUSABLE)
    with np.errstate(over="ignore"):
        vectors = np.asarray(raw, dtype=np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    for place, norm in enumerate(norms.ravel(), start=1):
        if not np.isfinite(norm) or not norm:
            what = Message("is all zeros") if norm == 0 else Message("has numbers that are not finite")
            said = {"model": model, "place": place, "count": count, "what": what}
            raise ProviderError(Message("Model {model}: vector {place} of {count} {what}.", **said), UNUSABLE)
    vectors /= norms
    return vectors


def _check_count(raw: Sequence[Sequence[float]], count: int, model: str) -> None:
    if len(raw) != count:
        said = {"model": model, "got": len(raw), "count": count}
        raise ProviderError(Message("Model {model} returned {got} vectors for {count} texts.", **said), TRY_AGAIN)


def shortened(calls: Iterable[ModelCall]) -> str:
    """What calls note of texts that were too long for their model, counted together; empty if nothing."""
    messages = (call.note for call in calls if isinstance(call.note, Message))
    notes = [note for note in messages if "shortened" in note.fields]
    count, total = (sum(note.fields[name] for note in notes) for name in ("shortened", "total"))
    return _shortened(count, total) if notes else ""


def _shortened(count: int, total: int) -> Message:
    return Message(
        "{shortened} of {total} texts were longer than the model reads; the end of each was left out",
        shortened=count,
        total=total,
    )


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


def load_embedder(settings: Settings, prices: PriceList, thesaurus: Thesaurus | None = None) -> LlamaEmbedder:
    """The embedding model in the settings, with a gloss if it needs one to read Spanish.

    Raises MissingResource if the model is missing or not the published one, SettingsError if an OpenAI model lacks its
    name, key and base URL, and DataError if the gloss cannot be read.
    """
    gloss = _gloss(settings, thesaurus)
    if settings.embedding.startswith("openai:"):
        return _openai(settings, prices, gloss)
    model: MiniLM | SentenceModel
    if settings.embedding == "minilm":
        model, weights = bundled_minilm(), MINILM_WEIGHTS
    else:
        folder, weights = Path(settings.embedding), weights_key(settings.embedding)
        model = MiniLM(folder) if weights == MINILM_WEIGHTS else load_sentence_model(settings.embedding)
    name = MINILM if weights == MINILM_WEIGHTS else folder.name
    return LlamaEmbedder(model, name, weights, model.count, prices, local=True, gloss=gloss)


def embedder_of(model: BaseEmbedding, prices: PriceList) -> LlamaEmbedder:
    """A program's model, which reads Spanish as it is; the vector of one sentence tells it from others of its name."""
    kind, name = type(model), model.model_name
    weights = re.sub(r"[^\w.-]+", "--", f"{kind.__name__}-{name}")
    local = kind.__module__.startswith("llama_index.embeddings.huggingface")
    reader = SentenceModel(model) if local else None  # a thread at a time
    count = reader.count if reader else partial(count_tokens, model=name)
    return LlamaEmbedder(reader or model, name, weights, count, prices, local=local, server=kind.__module__)


def _gloss(settings: Settings, thesaurus: Thesaurus | None) -> Gloss | None:
    if settings.gloss == "off" or (settings.gloss == "auto" and not is_english_only(settings.embedding)):
        return None
    thesaurus = thesaurus or Thesaurus.read(settings.data / "thesaurus.toml")
    return Gloss.read(settings.data / "gloss" / "es.tsv", thesaurus)


def _openai(settings: Settings, prices: PriceList, gloss: Gloss | None) -> LlamaEmbedder:
    from llama_index.embeddings.openai import OpenAIEmbedding

    from .openai.client import client_options

    name = settings.embedding.removeprefix("openai:")
    if not name:
        raise SettingsError(
            Message("RAG_EMBEDDING names no model."),
            Message("Set it to openai:text-embedding-3-small, for example."),
        )
    if settings.openai_api_key is None and settings.openai_base_url is None:
        raise SettingsError(
            Message("The embedding model {name} needs a provider.", name=name),
            Message("Set OPENAI_API_KEY or OPENAI_BASE_URL."),
        )
    tracker = CallTracker()
    model = OpenAIEmbedding(
        model_name=name,
        api_base=settings.openai_base_url,
        embed_batch_size=PROVIDER_BATCH,
        **client_options(settings, settings.openai_api_key, tracker),
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


def is_english_only(model: str) -> bool:
    """Whether an embedding model, by its setting, is known to be English-only: by name, or by its folder's card."""
    name = model.rstrip("/").rpartition("/")[2].lower()
    return bool(_ENGLISH.fullmatch(name)) or _card_languages(Path(model)) == {"en"}


def _card_languages(folder: Path) -> set[str]:
    try:
        card = _CARD.match((folder / "README.md").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        return set()
    declared = _LANGUAGE.search(card[1]) if card else None
    return set(re.findall(r"[a-z]+", " ".join(filter(None, declared.groups())))) if declared else set()
