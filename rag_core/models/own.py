"""A model object of the caller's own in a role of the lab."""

from __future__ import annotations

from typing import Any

from ..errors import ConfigError
from ..pricing import PriceList
from .llm import LlamaLlm


def own_llm(model: Any, prices: PriceList) -> LlamaLlm:
    """A LlamaIndex LLM, or any object with its `stream_chat`, as it was set up: its temperature stands.

    OpenAI's are asked for the usage of their streams; of others that tell none, the tokenizer counts it.

    Raises:
        ConfigError: it is a LangChain model, or nothing that can chat.
    """
    kind = type(model)
    if any(base.__module__.partition(".")[0].startswith("langchain") for base in kind.__mro__):
        raise ConfigError(
            f"{kind.__name__} is a LangChain model; LlamaIndex's are needed here.",
            "Install llama-index-llms-langchain and pass llama_index.llms.langchain.LangChainLLM(llm=model).",
        )
    if isinstance(model, type) or not callable(getattr(model, "stream_chat", None)):
        raise ConfigError(
            f"A model of type {kind.__name__} cannot be asked: it has no stream_chat.",
            "Pass a LlamaIndex LLM, such as llama_index.llms.openai.OpenAI(model='gpt-4o').",
        )
    from llama_index.llms.openai import OpenAI

    openai = isinstance(model, OpenAI)  # and OpenAILike
    return LlamaLlm(model, name_of(model), prices, as_it_is=True, openai=openai)


def name_of(model: Any) -> str:
    """What a model calls itself, or its class's name."""
    for told in (
        "model",
        "model_name",
    ):  # before metadata, which OpenAI's refuses for a name it does not know
        name = getattr(model, told, None)
        if isinstance(name, str) and name:
            return name
    name = getattr(getattr(model, "metadata", None), "model_name", "unknown")
    return type(model).__name__ if name == "unknown" else str(name)


def provider_of(model: object) -> str:
    """Who serves a model, by its LlamaIndex package: "openai", "openai_like", "ollama"; "offline" for ours."""
    parts = type(model).__module__.split(".")
    if parts[:2] == ["llama_index", "llms"]:
        return parts[2]
    return "offline" if parts[0] == __name__.partition(".")[0] else parts[0]
