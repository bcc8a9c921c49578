"""Connections that end as soon as the user stops the run."""

import time
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

import httpcore

from ...values.errors import Stopped

T = TypeVar("T")

CHECKED_EVERY = 0.05  # seconds between looks at the stop flag
FOREVER = 24 * 3600.0  # seconds, where no timeout is set

Stop = Callable[[], bool]


class StoppableBackend(httpcore.NetworkBackend):
    """The ordinary network, whose every wait looks at the stop flag of the thread's call."""

    def __init__(self, inner: httpcore.NetworkBackend, stopped: Stop) -> None:
        self._inner = inner
        self._stopped = stopped

    def connect_tcp(self, host: str, port: int, *more: Any, **options: Any) -> httpcore.NetworkStream:
        return _connected(lambda: self._inner.connect_tcp(host, port, *more, **options), self._stopped)

    def connect_unix_socket(self, path: str, *more: Any, **options: Any) -> httpcore.NetworkStream:
        return StoppableStream(self._inner.connect_unix_socket(path, *more, **options), self._stopped)


class StoppableStream(httpcore.NetworkStream):
    """A connection; see `StoppableBackend`."""

    def __init__(self, inner: httpcore.NetworkStream, stopped: Stop) -> None:
        self._inner = inner
        self._stopped = stopped

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        deadline = time.monotonic() + (FOREVER if timeout is None else timeout)
        while True:
            if self._stopped():
                raise Stopped
            left = deadline - time.monotonic()
            try:
                return self._inner.read(max_bytes, max(0.001, min(CHECKED_EVERY, left)))
            except httpcore.ReadTimeout:
                if left <= CHECKED_EVERY:
                    raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        _unless_stopped(lambda: self._inner.write(buffer, timeout), self._stopped)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _connected(lambda: self._inner.start_tls(ssl_context, server_hostname, timeout), self._stopped)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def _connected(connect: Callable[[], httpcore.NetworkStream], stopped: Stop) -> StoppableStream:
    return StoppableStream(_unless_stopped(connect, stopped, lambda late: late.close()), stopped)


def wait(seconds: float, stopped: Stop) -> None:
    """Sleep; raises Stopped if the user stopped the run."""
    deadline = time.monotonic() + seconds
    while True:
        if stopped():
            raise Stopped
        left = deadline - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(CHECKED_EVERY, left))


def _unless_stopped(work: Callable[[], T], stopped: Stop, clean_up: Callable[[T], None] | None = None) -> T:
    """Do work that cannot be interrupted on a thread, and leave it there when the user stops the run.

    `clean_up` receives what it makes too late.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # raised below, where it is waited for
            done.set_exception(error)

    Thread(target=run, daemon=True).start()
    while not futures.wait([done], CHECKED_EVERY).done:
        if stopped():
            if clean_up:
                done.add_done_callback(lambda late: None if late.exception() else clean_up(late.result()))
            raise Stopped
    return done.result()
