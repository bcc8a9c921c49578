"""Every error rag_core raises on purpose.

RagError                  message: what happened and where; next_step: what to do about it
├── ConfigError           a strategy, control, metric or value was named that cannot be
│   └── SettingsError     the environment or rag.toml is at fault, not the call
├── InputError            the question or a file the user gave cannot be used
├── DataError             a corpus, document or result file is missing or malformed
├── IndexDamaged          an index on disk is not whole (names the part)
├── IndexBusy             another process is writing this index
├── StorageError          the state folder cannot be written (permissions, full disk)
├── MissingResource       a model, key or package this strategy needs is not here
├── ProviderError         a model provider refused, failed or did not answer in time
├── LimitReached          the run has made as many calls, or cost as much, as it may
├── StageError            a stage failed while running; names the strategy and the stage
└── Stopped               the user stopped the run; not a failure
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any


class RagError(Exception):
    """Base of the tree.

    Args:
        message: what happened and where, one sentence.
        next_step: what the reader can do about it; empty when there is nothing to do.
        calls: the model calls (types.ModelCall) that were sent before it: they are billed.
    """

    def __init__(self, message: str, next_step: str = "", calls: tuple[Any, ...] = ()) -> None:
        self.message = " ".join(message.split())  # causes from libraries may have line breaks
        self.next_step = next_step
        self.calls = calls
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.next_step}".strip()


class ConfigError(RagError):
    """A strategy, control, metric or value was named that cannot be; raised before anything runs."""


class SettingsError(ConfigError):
    """A setting has a value it cannot take, or one that is needed is not set."""


class InputError(RagError):
    """The question, or a file or folder the user named, cannot be used."""


class DataError(RagError):
    """A corpus, document or result file is missing or malformed."""


class IndexDamaged(RagError):
    """An index on disk is not whole; the message names the damaged part."""


class IndexBusy(RagError):
    """Another process holds the writer lock of this index."""


class StorageError(RagError):
    """The state folder cannot be written."""


class MissingResource(RagError):
    """A model, key or package that this run needs is not on this machine."""


class ProviderError(RagError):
    """A model provider refused the call, failed, or did not answer in time."""


class LimitReached(RagError):
    """The run has made as many model calls, or cost as much, as the settings allow."""


class StageError(RagError):
    """A stage failed while running. `__cause__` holds the original error, `calls` those of the whole run."""

    def __init__(self, strategy: str, stage: str, cause: Exception, calls: tuple[Any, ...] = ()) -> None:
        known = isinstance(cause, RagError)
        what = cause.message if isinstance(cause, RagError) else f"{type(cause).__name__}: {cause}"
        step = cause.next_step if isinstance(cause, RagError) else ""
        super().__init__(
            f"{strategy}: stage {stage} failed: {what}",
            step if known else "This is a fault in the program; please report it with this line.",
            calls,
        )
        self.strategy = strategy
        self.stage = stage


class Stopped(RagError):
    """The run was stopped before it finished."""

    def __init__(self, calls: tuple[Any, ...] = ()) -> None:
        super().__init__("The run was stopped.", "What had finished is kept.", calls)


@contextmanager
def attach_calls(calls: Iterable[Any]) -> Iterator[None]:
    """Let every RagError from the block carry these model calls too, as many as there are when it is raised."""
    try:
        yield
    except RagError as error:
        error.calls = tuple(dict.fromkeys([*calls, *error.calls]))
        raise
