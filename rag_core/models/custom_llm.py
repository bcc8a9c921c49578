"""Wrapping a caller's own model object."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from pydantic import BaseModel

from ..values.errors import ConfigError
from ..values.pricing import PriceList
from ..values.settings import Server
from .llm import LlamaLlm


def wrap_custom_llm(model: Any, prices: PriceList) -> LlamaLlm:
    """Wrap a LlamaIndex LLM, or any object with `stream_chat`; it keeps its own temperature.

    OpenAI models are asked for streaming usage; for models that report none, the tokenizer counts.

    Raises:
        ConfigError: it is a LangChain model, or has no `stream_chat`.
    """
    kind = type(model)
    if any(base.__module__.partition(".")[0].startswith("langchain") for base in kind.__mro__):
        raise ConfigError(
            f"{kind.__name__} is a LangChain model, but a LlamaIndex model is required.",
            "Install llama-index-llms-langchain and pass llama_index.llms.langchain.LangChainLLM(llm=model).",
        )
    if isinstance(model, type) or not callable(getattr(model, "stream_chat", None)):
        raise ConfigError(
            f"A model of type {kind.__name__} cannot be used: it has no stream_chat.",
            "Pass a LlamaIndex LLM, such as llama_index.llms.openai.OpenAI(model='gpt-4o').",
        )
    from llama_index.llms.openai import OpenAI

    openai = isinstance(model, OpenAI)  # and OpenAILike
    server = Server(str(model.api_base), None) if openai else None
    return LlamaLlm(
        model,
        model_name_of(model),
        prices,
        keep_settings=True,
        openai=openai,
        server=server,
        provider=provider_name_of(model),
        configuration=_settings_of(model),
    )


def _settings_of(model: Any) -> str:
    """Hash of a model's configuration without its key, eight hexadecimal digits."""
    kept = model.model_dump(exclude={"api_key"}) if isinstance(model, BaseModel) else repr(model)
    return hashlib.sha256(json.dumps(kept, sort_keys=True, default=repr).encode()).hexdigest()[:8]


def model_name_of(model: Any) -> str:
    """A model's own name, or its class name."""
    for attribute in ("model", "model_name"):  # first: OpenAI's metadata raises for unknown model names
        name = getattr(model, attribute, None)
        if isinstance(name, str) and name:
            return name
    name = getattr(getattr(model, "metadata", None), "model_name", "unknown")
    return type(model).__name__ if name == "unknown" else str(name)


def provider_name_of(model: object) -> str:
    """The provider of a model with an unknown server, from its LlamaIndex package, such as "ollama"."""
    parts = type(model).__module__.split(".")
    return parts[2] if parts[:2] == ["llama_index", "llms"] else parts[0]
