"""LlamaIndex callback events for our model calls, as used by its TokenCountingHandler.

A model serves many runs at once, so the callback manager belongs to the run: `using_callback_manager` sets it
for the calls in its block, including those on threads started there. (A manager set on a LlamaIndex model
works as well.)
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
    """Send the events of calls in the block to a manager."""
    token = _manager.set(manager)
    try:
        yield
    finally:
        _manager.reset(token)


def start_event(kind: CBEventType, payload: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], None]:
    """Send a start event, and return a function that sends the end event; no-ops without a manager."""
    manager = _manager.get()
    if manager is None:
        return lambda payload: None
    identity = manager.on_event_start(kind, payload=dict(payload))
    return lambda payload: manager.on_event_end(kind, payload=dict(payload), event_id=identity)
