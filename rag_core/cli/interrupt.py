"""Ctrl-C as a request to stop: the command says what was spent, and keeps what had finished."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..values.errors import Stopped
from . import show


class Interrupt(threading.Event):
    """Set by the first Ctrl-C."""

    def progress(self, what: str, done: int, total: int) -> None:
        """As `show.progress`, for work that looks at no event: it ends here once this is set."""
        if self.is_set():
            raise Stopped
        show.progress(what, done, total)


@contextmanager
def at_a_prompt() -> Iterator[None]:
    """Ctrl-C inside the block ends the program, as it does at any prompt."""
    held = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, held)


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """What the first Ctrl-C inside the block sets; the second one ends the program at once."""
    asked = Interrupt()
    if threading.current_thread() is not threading.main_thread():  # only that one may handle signals
        yield asked
        return

    def ask(number: int, frame: object) -> None:
        asked.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
