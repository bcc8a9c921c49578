"""Wrapping a caller's own model object."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from ..values.errors import ConfigError
from ..values.pricing import PriceList
from ..values.settings import Server
from .llm import LlamaLlm

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse


def wrap_custom_llm(model: Any, prices: PriceList) -> LlamaLlm:
    """Wrap a LlamaIndex LLM, any object with `stream_chat`, or a LangChain chat model; it keeps its temperature.

    OpenAI models are asked for streaming usage; for models that report none, the tokenizer counts.

    Raises:
        ConfigError: it is none of these.
    """
    kind = type(model)
    of_langchain = any(base.__module__.startswith("langchain_core.language_models") for base in kind.__mro__)
    if isinstance(model, type) or not (of_langchain or callable(getattr(model, "stream_chat", None))):
        raise ConfigError(
            f"A model of type {kind.__name__} cannot be used: it has no stream_chat.",
            "Pass a LlamaIndex LLM, such as llama_index.llms.openai.OpenAI(model='gpt-4o'), or a LangChain chat model.",
        )
    from llama_index.llms.openai import OpenAI

    openai = isinstance(model, OpenAI)  # and OpenAILike
    kept = model.model_dump(exclude={"api_key"}) if isinstance(model, BaseModel) else repr(model)
    configuration = json.dumps(kept, sort_keys=True, default=repr)
    server = Server(str(model.api_base), None) if openai else None
    return LlamaLlm(
        cast(Any, _OfLangChain(model) if of_langchain else model),
        model_name_of(model),
        prices,
        keep_settings=True,
        openai=openai,
        server=server,
        provider=provider_name_of(model),
        configuration=hashlib.sha256(configuration.encode()).hexdigest()[:8],
    )


class _OfLangChain:
    """A LangChain chat model with LlamaIndex's `stream_chat`; neither library knows of the other."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def stream_chat(self, messages: Sequence[ChatMessage]) -> Iterator[ChatResponse]:
        """The reply in pieces, with the tokens that the provider counted."""
        from llama_index.core.base.llms.types import ChatMessage, ChatResponse

        for chunk in self._model.stream([(one.role.value, one.content) for one in messages]):
            used = chunk.usage_metadata or {}
            names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
            counted = {ours: used[theirs] for ours, theirs in names.items() if theirs in used}
            piece = ChatMessage(role="assistant", content=str(chunk.text))
            yield ChatResponse(message=piece, delta=str(chunk.text), additional_kwargs=counted)


def model_name_of(model: Any) -> str:
    """A model's own name, or its class name."""
    for attribute in ("model", "model_name"):  # first: OpenAI's metadata raises for unknown model names
        name = getattr(model, attribute, None)
        if isinstance(name, str) and name:
            return name
    name = getattr(getattr(model, "metadata", None), "model_name", "unknown")
    return type(model).__name__ if name == "unknown" else str(name)


def provider_name_of(model: object) -> str:
    """The provider of a model with an unknown server, from its LlamaIndex or LangChain package, such as "ollama"."""
    parts = type(model).__module__.split(".")
    return parts[2] if parts[:2] == ["llama_index", "llms"] else parts[0].removeprefix("langchain_")
