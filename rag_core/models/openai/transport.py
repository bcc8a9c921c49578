"""HTTP client hooks: tracking requests, and limiting the time of a response."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx


@dataclass(slots=True)
class Call:
    """The requests of one call: the first, and its retries.

    Args:
        response: response to the last request; None until it arrives.
        unanswered: requests sent completely but without a response; the provider may have processed them.
    """

    response: httpx.Response | None = None
    unanswered: int = 0

    @property
    def accepted(self) -> bool:
        """Whether the last request got a successful response."""
        return self.response is not None and self.response.is_success


class RequestTracker(threading.local):
    """Tracks the requests of each thread.

    LlamaIndex does not report the number of requests of a call, nor close the response with its generator:
    it would stay open until garbage collection.
    """

    def __init__(self) -> None:
        self.call = Call()

    def on_request(self, request: httpx.Request) -> None:
        """An httpx event hook: a request is about to be sent."""
        call = self.call
        call.response = None

        def trace(event: str, info: Mapping[str, Any]) -> None:
            if event.endswith(".send_request_body.complete"):
                call.unanswered += 1

        request.extensions["trace"] = trace  # httpcore extension: progress of the request

    def on_response(self, response: httpx.Response) -> None:
        """An httpx event hook: a response has started."""
        self.call.response = response
        self.call.unanswered -= 1


@dataclass(slots=True)
class EmbeddingRequest:
    """One embedding request.

    Args:
        sent: whether it was sent completely.
        refused: whether the response was an error.
        tokens: the provider's count; None if not reported.
    """

    texts: tuple[str, ...]
    sent: bool = False
    refused: bool = False
    tokens: int | None = None

    @property
    def accepted(self) -> bool:
        """Whether the provider may have processed it."""
        return self.sent and not self.refused


class EmbeddingTracker(threading.local):
    """Tracks the embedding requests of each thread; LlamaIndex keeps neither usage nor retries."""

    def __init__(self) -> None:
        self.requests: list[EmbeddingRequest] = []

    def reset(self) -> None:
        """Forget the requests of earlier calls."""
        self.requests = []

    def on_request(self, request: httpx.Request) -> None:
        """An httpx event hook: a request is about to be sent."""
        inputs = json.loads(request.content)["input"]
        sent = EmbeddingRequest((inputs,) if isinstance(inputs, str) else tuple(map(str, inputs)))
        self.requests.append(sent)

        def trace(event: str, info: Mapping[str, Any]) -> None:
            if event.endswith(".send_request_body.complete"):
                sent.sent = True

        request.extensions["trace"] = trace  # httpcore extension

    def on_response(self, response: httpx.Response) -> None:
        """An httpx event hook: a response has started; reads its usage."""
        sent = self.requests[-1]
        sent.refused = not response.is_success
        if sent.refused:
            return
        response.read()
        with suppress(ValueError, KeyError, TypeError):  # not reported
            tokens = response.json()["usage"]["prompt_tokens"]
            if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0:
                sent.tokens = tokens


def limit_response_time(max_seconds: float) -> Callable[[httpx.Response], None]:
    """A response hook for httpx: cuts off a body that takes longer.

    The read timeout applies between two pieces only; a server that never finishes, or keeps the connection
    alive with comments (": ping"), would block the caller forever.

    Args:
        max_seconds: time since the response started; checked whenever data arrives.
    """
    import httpx

    class Timed(httpx.SyncByteStream):
        def __init__(self, stream: httpx.SyncByteStream, deadline: float) -> None:
            self._stream = stream
            self._deadline = deadline

        def __iter__(self) -> Iterator[bytes]:
            for piece in self._stream:
                if time.monotonic() > self._deadline:
                    raise httpx.ReadTimeout("the response took too long")
                yield piece

        def close(self) -> None:
            self._stream.close()

    def hook(response: httpx.Response) -> None:
        assert isinstance(response.stream, httpx.SyncByteStream)  # the client is not asynchronous
        response.stream = Timed(response.stream, time.monotonic() + max_seconds)

    return hook
