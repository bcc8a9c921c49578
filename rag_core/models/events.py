"""LlamaIndex callback events of our model calls, for the manager of the run (`runtime.run.using`) or of the model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llama_index.core.callbacks import CallbackManager

callback_manager: ContextVar[CallbackManager | None] = ContextVar("callback manager", default=None)


def start_event(kind: str, payload: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], None]:
    """Send a start event of a CBEventType; returns what sends the end event. No-ops without a manager."""
    manager = callback_manager.get()
    if manager is None:
        return lambda payload: None
    from llama_index.core.callbacks.schema import CBEventType, EventPayload

    def named(payload: Mapping[str, Any]) -> dict[str, Any]:
        return {EventPayload(key): value for key, value in payload.items()}

    event = CBEventType(kind)
    identity = manager.on_event_start(event, payload=named(payload))
    return lambda payload: manager.on_event_end(event, payload=named(payload), event_id=identity)


def tell_embedding(model: str) -> Callable[[list[str], list[list[float]]], None]:
    """Tell LlamaIndex's instrumentation of an embedding by a model that is not one of its classes; returns what tells the end.

    A no-op while nothing has loaded it, when nobody can listen: its import would take longer than the embedding.
    """
    if "llama_index.core.instrumentation" not in sys.modules:
        return lambda texts, vectors: None
    from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
    from llama_index.core.instrumentation.events.embedding import EmbeddingEndEvent, EmbeddingStartEvent

    dispatcher = get_dispatcher(__name__)
    dispatcher.event(EmbeddingStartEvent(model_dict={"model_name": model}))
    return lambda texts, vectors: dispatcher.event(EmbeddingEndEvent(chunks=texts, embeddings=vectors))


def start_chat_event(system: str, text: str) -> Callable[[str, Sequence[int]], None]:
    """As `start_event` for a language model's call; the function takes its reply and its token counts, if reported."""
    if callback_manager.get() is None:
        return lambda reply, reported: None
    from llama_index.core.llms import ChatMessage, ChatResponse

    messages = [ChatMessage(role="system", content=system), ChatMessage(role="user", content=text)]
    payload = {"messages": messages}
    end_event = start_event("llm", payload)

    def end(reply: str, reported: Sequence[int]) -> None:
        counted = dict(zip(("prompt_tokens", "completion_tokens"), reported, strict=False))
        message = ChatMessage(role="assistant", content=reply)
        end_event({**payload, "response": ChatResponse(message=message, raw={"usage": counted})})

    return end
