"""The questions that were asked, kept with all they led to: found again, opened again without a call, deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .record import Asked, AskedColumn

if TYPE_CHECKING:
    from .store import Entry, History, open_history

__all__ = ["Asked", "AskedColumn", "Entry", "History", "open_history"]


def __getattr__(name: str) -> Any:
    """Load the store when first asked for: the first page needs no database library."""
    if name in __all__:
        from . import store

        return getattr(store, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
