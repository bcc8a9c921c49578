"""Ctrl-C as a request to stop: the command reports what it spent and keeps what has finished."""

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ..runtime.run import stop_flag, using
from ..values.errors import Stopped
from .layout import progress


class Interrupt(threading.Event):
    """Set by the first Ctrl-C."""

    def progress(self, what: str, done: int, total: int) -> None:
        """`layout.progress` for work that does not check the event: raises Stopped once it is set."""
        if self.is_set():
            raise Stopped
        progress(what, done, total)


@contextmanager
def at_a_prompt() -> Iterator[None]:
    """Inside the block Ctrl-C ends the program, as at any prompt."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """An event that the first Ctrl-C inside the block sets; the second ends the program at once."""
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():  # only the main thread can handle signals
        yield interrupt
        return

    def request_stop(number: int, frame: object) -> None:
        interrupt.set()
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, request_stop)
    try:
        # also calls outside any run, as at indexing
        with _heard_at_once(interrupt), using(stop_flag, interrupt.is_set):
            yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _heard_at_once(interrupt: Interrupt) -> Iterator[None]:
    """Set the event even while the main thread waits: a signal just before it falls asleep would not wake it."""
    heard, told = socket.socketpair()
    told.setblocking(False)
    earlier = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)

    def listen() -> None:
        while number := heard.recv(1):
            if number[0] == signal.SIGINT:
                interrupt.set()

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(earlier)
        told.close()
        listener.join()
        heard.close()
