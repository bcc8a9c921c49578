"""LlamaIndex callback events of the calls our models make, such as its TokenCountingHandler counts.

A model serves many runs at once, so the manager belongs to the run: `using_callback_manager` names it for the calls made
inside, on threads started there too. (A manager set on a LlamaIndex model itself works beside it.)
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.callbacks.schema import CBEventType

_manager: ContextVar[CallbackManager | None] = ContextVar("callback manager", default=None)


@contextlib.contextmanager
def using_callback_manager(manager: CallbackManager) -> Iterator[None]:
    """Send the events of the calls made inside to a manager."""
    token = _manager.set(manager)
    try:
        yield
    finally:
        _manager.reset(token)


def start_event(kind: CBEventType, payload: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], None]:
    """Send the start of a call; returns what sends its end. Nothing is sent when nobody listens."""
    manager = _manager.get()
    if manager is None:
        return lambda payload: None
    identity = manager.on_event_start(kind, payload=dict(payload))
    return lambda payload: manager.on_event_end(kind, payload=dict(payload), event_id=identity)
