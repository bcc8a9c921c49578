"""What the fake OpenAI server does with a request: replies and faults."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Reply:
    """An answer, after `seconds`; complete unless it ends with another reason than "stop".

    `usage` is (prompt tokens, completion tokens), or None when the server reports none, or JSON to send instead.
    """

    text: str = "Cats purr [1]."
    usage: tuple[int, int] | str | None = (1000, 200)
    seconds: float = 0.0
    finish: str = "stop"


@dataclass(frozen=True)
class Meet:
    """A reply once the barrier's number of requests has arrived; HTTP 500 if they do not."""

    barrier: threading.Barrier
    reply: Reply | Status


@dataclass(frozen=True)
class Held:
    """A reply once the test releases it."""

    released: threading.Event
    reply: Reply


@dataclass(frozen=True)
class Status:
    """An HTTP error; {authorization} in the message becomes the request's own header."""

    code: int
    message: str = "scripted failure"
    headers: dict[str, str] = field(default_factory=dict)
    param: str | None = None


@dataclass(frozen=True)
class Hang:
    """Silence after some pieces, until the client disconnects.

    Without pieces not even a status is sent, unless `begun`.
    """

    after: int = 0
    begun: bool = False


@dataclass(frozen=True)
class Drop:
    """The connection is closed or reset inside a chunk, after some pieces."""

    after: int = 1
    reset: bool = False


@dataclass(frozen=True)
class Cut:
    """The body ends cleanly before the model has finished: no finish_reason, no [DONE].

    Without framing, the body ends with the connection, as in HTTP/1.0.
    """

    after: int = 1
    framed: bool = True


@dataclass(frozen=True)
class Endless:
    """Pieces until the client disconnects, one every few milliseconds."""

    piece: str = "word "


@dataclass(frozen=True)
class Drip:
    """Comments that keep the connection alive, but no answer, until the client disconnects."""


@dataclass(frozen=True)
class Malformed:
    """Malformed JSON after some good pieces of a stream."""

    after: int = 1


@dataclass(frozen=True)
class TooFew:
    """Embeddings for all texts but the last."""


@dataclass(frozen=True)
class Events:
    """A stream of these events' data, and nothing else."""

    data: tuple[str, ...]


@dataclass(frozen=True)
class Body:
    """A body with status 200, whatever was asked for."""

    text: str
    kind: str = "application/json"


Behaviour = Events | Body | Reply | Meet | Held | Status | Hang | Drop | Cut | Endless | Drip | Malformed | TooFew
