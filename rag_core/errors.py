"""Every error rag_core raises on purpose.

RagError                  message: what happened and where; next_step: what to do about it
├── ConfigError           a strategy, control or setting is wrong
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

from typing import Any


class RagError(Exception):
    """Base of the tree.

    Args:
        message: what happened and where, one sentence.
        next_step: what the reader can do about it; empty when there is nothing to do.
    """

    def __init__(self, message: str, next_step: str = "") -> None:
        self.message = " ".join(message.split())  # causes from libraries may have line breaks
        self.next_step = next_step
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.next_step}".strip()


class ConfigError(RagError):
    """A strategy, control or setting is wrong; raised before anything runs."""


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
    """A stage failed while running. `__cause__` holds the original error.

    Args:
        calls: the model calls of the run up to the failure: they were sent, and are billed.
    """

    def __init__(self, strategy: str, stage: str, cause: Exception, calls: tuple[Any, ...] = ()) -> None:
        known = isinstance(cause, RagError)
        what = cause.message if isinstance(cause, RagError) else f"{type(cause).__name__}: {cause}"
        step = cause.next_step if isinstance(cause, RagError) else ""
        super().__init__(
            f"{strategy}: stage {stage} failed: {what}",
            step if known else "This is a fault in the program; please report it with this line.",
        )
        self.strategy = strategy
        self.stage = stage
        self.calls = calls


class Stopped(RagError):
    """The run was stopped before it finished."""

    def __init__(self) -> None:
        super().__init__("The run was stopped.", "What had finished is kept.")
