"""What happens between this program and a provider's server: hooks of one HTTP client."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx


@dataclass(slots=True)
class Call:
    """What became of the requests of one call: the first, and those that tried again.

    Args:
        response: of the last request; None as long as there is none.
        unanswered: requests that left whole and got no response: the provider may have worked on them.
    """

    response: httpx.Response | None = None
    unanswered: int = 0

    @property
    def taken_on(self) -> bool:
        """Whether the last request was answered, and not with a refusal."""
        return self.response is not None and self.response.is_success


class Line(threading.local):
    """Follows the requests of each thread.

    LlamaIndex tells neither how many requests a call took, nor closes the response when its generator is
    closed: it would stay open until it is collected.
    """

    def __init__(self) -> None:
        self.call = Call()

    def send(self, request: httpx.Request) -> None:
        """An event hook of httpx: a request is about to be sent."""
        call = self.call
        call.response = None

        def trace(event: str, info: Mapping[str, Any]) -> None:
            if event.endswith(".send_request_body.complete"):
                call.unanswered += 1

        request.extensions["trace"] = trace  # of httpcore: what happens to the request on its way

    def pick_up(self, response: httpx.Response) -> None:
        """An event hook of httpx: a response has begun."""
        self.call.response = response
        self.call.unanswered -= 1


def cut_off(longest: float) -> Callable[[httpx.Response], None]:
    """A response hook for httpx: a body that takes longer to come is broken off.

    The timeout of reading holds between two pieces only; a server that goes on without end, or keeps the
    connection alive with comments (": ping"), would hold the caller for ever.

    Args:
        longest: seconds from the beginning of the response. Checked when something comes.
    """
    import httpx

    class Timed(httpx.SyncByteStream):
        def __init__(self, stream: httpx.SyncByteStream, until: float) -> None:
            self._stream = stream
            self._until = until

        def __iter__(self) -> Iterator[bytes]:
            for piece in self._stream:
                if time.monotonic() > self._until:
                    raise httpx.ReadTimeout("the response has no end")
                yield piece

        def close(self) -> None:
            self._stream.close()

    def hook(response: httpx.Response) -> None:
        assert isinstance(response.stream, httpx.SyncByteStream)  # the client is not asynchronous
        response.stream = Timed(response.stream, time.monotonic() + longest)

    return hook
