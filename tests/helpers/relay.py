"""A network between a browser and the app that a test can cut and mend."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class Relay:
    """Passes every connection on; while `broken`, it closes them."""

    def __init__(self, target: str) -> None:
        parts = urlsplit(target)
        self._target = (parts.hostname, parts.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self._broken = threading.Event()
        self.address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> int:
        """Close every connection, and each new one; returns how many were open."""
        self._broken.set()
        ends, self._ends = self._ends, []
        return sum(map(_close, ends))

    def mend(self) -> None:
        self._broken.clear()

    def close(self) -> None:
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self._broken.is_set():
                    near.close()
                    continue
                far = socket.create_connection(self._target)
                self._ends += [near, far]
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()


def _pass_on(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
    _close(other)


def _close(one: socket.socket) -> bool:
    """Whether it was open."""
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        return False
    return True


@contextmanager
def relayed(target: str) -> Iterator[Relay]:
    relay = Relay(target)
    try:
        yield relay
    finally:
        relay.close()
