"""Locks between processes. One ends with its process, whichever way that ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

_POLL = 0.1  # seconds


@contextmanager
def locked(lock: FileLock, waiting: Callable[[], None] | None) -> Iterator[None]:
    """Hold a lock that was made not to wait by itself.

    Args:
        waiting: called again and again while another process has it; may raise to stop. None does not wait.

    Raises:
        Timeout: another process has it.
    """
    while True:
        try:
            lock.acquire()
            break
        except Timeout:
            if waiting is None:
                raise
            waiting()
            time.sleep(_POLL)
    try:
        yield
    finally:
        lock.release()
