"""The `rag` command."""

from .app import main

__all__ = ["main"]
