"""What happens between this program and a provider's server: hooks of one HTTP client."""

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
    """What became of the requests of one call: the first, and those that tried again.

    Args:
        response: of the last request; None as long as there is none.
        unanswered: requests that left whole and got no response: the provider may have worked on them.
    """

    response: httpx.Response | None = None
    unanswered: int = 0

    @property
    def accepted(self) -> bool:
        """Whether the last request was answered, and not with a refusal."""
        return self.response is not None and self.response.is_success


class RequestTracker(threading.local):
    """Follows the requests of each thread.

    LlamaIndex tells neither how many requests a call took, nor closes the response when its generator is
    closed: it would stay open until it is collected.
    """

    def __init__(self) -> None:
        self.call = Call()

    def on_request(self, request: httpx.Request) -> None:
        """An event hook of httpx: a request is about to be sent."""
        call = self.call
        call.response = None

        def trace(event: str, info: Mapping[str, Any]) -> None:
            if event.endswith(".send_request_body.complete"):
                call.unanswered += 1

        request.extensions["trace"] = trace  # of httpcore: what happens to the request on its way

    def on_response(self, response: httpx.Response) -> None:
        """An event hook of httpx: a response has begun."""
        self.call.response = response
        self.call.unanswered -= 1


@dataclass(slots=True)
class EmbeddingRequest:
    """One request for embeddings.

    Args:
        sent: it left whole.
        refused: it was answered with an error.
        tokens: as the provider counted them; None where it does not tell.
    """

    texts: tuple[str, ...]
    sent: bool = False
    refused: bool = False
    tokens: int | None = None

    @property
    def accepted(self) -> bool:
        """Whether the provider may have worked on it."""
        return self.sent and not self.refused


class EmbeddingTracker(threading.local):
    """Follows the requests for embeddings of each thread: LlamaIndex keeps neither usage nor repetitions."""

    def __init__(self) -> None:
        self.requests: list[EmbeddingRequest] = []

    def reset(self) -> None:
        """Forget the requests of earlier calls."""
        self.requests = []

    def on_request(self, request: httpx.Request) -> None:
        """An event hook of httpx: a request is about to be sent."""
        inputs = json.loads(request.content)["input"]
        made = EmbeddingRequest((inputs,) if isinstance(inputs, str) else tuple(map(str, inputs)))
        self.requests.append(made)

        def trace(event: str, info: Mapping[str, Any]) -> None:
            if event.endswith(".send_request_body.complete"):
                made.sent = True

        request.extensions["trace"] = trace  # of httpcore

    def on_response(self, response: httpx.Response) -> None:
        """An event hook of httpx: a response has begun; it is read for its usage."""
        made = self.requests[-1]
        made.refused = not response.is_success
        if made.refused:
            return
        response.read()
        with suppress(ValueError, KeyError, TypeError):  # it tells none
            tokens = response.json()["usage"]["prompt_tokens"]
            if isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0:
                made.tokens = tokens


def limit_response_time(longest: float) -> Callable[[httpx.Response], None]:
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
