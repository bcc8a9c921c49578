"""The questions that were asked, kept with all they led to: found again, opened again without a call, deleted."""

from .record import Asked, AskedColumn
from .store import Entry, History, open_history

__all__ = ["Asked", "AskedColumn", "Entry", "History", "open_history"]
