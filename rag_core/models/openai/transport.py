"""The requests of a call to a provider: which were sent, answered or refused, and whether the user stopped it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx


@dataclass(slots=True)
class Sent:
    """One request: was it sent to its end? Without a response, the provider may still have processed it."""

    body: bytes
    complete: bool = False
    response: httpx.Response | None = None

    @property
    def accepted(self) -> bool:
        return self.response is not None and self.response.is_success

    @property
    def unanswered(self) -> bool:
        return self.complete and self.response is None


@dataclass(slots=True)
class Call:
    """The requests of one call, the first and its retries, until the user has stopped the run."""

    stopped: Callable[[], bool] = lambda: False
    requests: list[Sent] = field(default_factory=list)

    @property
    def response(self) -> httpx.Response | None:
        return self.requests[-1].response if self.requests else None

    @property
    def unanswered(self) -> int:
        return sum(sent.unanswered for sent in self.requests)

    @property
    def accepted(self) -> bool:
        return bool(self.requests) and self.requests[-1].accepted


class CallTracker(threading.local):
    """The call that each thread makes: LlamaIndex neither counts its requests nor closes its response in time."""

    def __init__(self) -> None:
        self.call = Call()

    def stopped(self) -> bool:
        return self.call.stopped()

    def on_request(self, request: httpx.Request) -> None:
        sent = Sent(request.content)
        self.call.requests.append(sent)

        def trace(event: str, info: Mapping[str, Any]) -> None:
            if event.endswith(".send_request_body.complete"):
                sent.complete = True

        request.extensions["trace"] = trace  # httpcore extension: progress of the request

    def on_response(self, response: httpx.Response) -> None:
        self.call.requests[-1].response = response
