"""What the fake OpenAI server does with a request: replies and faults."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Reply:
    """A whole answer. `usage` is (prompt tokens, completion tokens), or None when the server tells none.

    It begins after so many seconds.
    """

    text: str = "Cats purr [1]."
    usage: tuple[int, int] | None = (1000, 200)
    seconds: float = 0.0


@dataclass(frozen=True)
class Meet:
    """An answer that is given once so many requests are here at the same time; HTTP 500 when they do not come."""

    barrier: threading.Barrier
    reply: Reply | Status


@dataclass(frozen=True)
class Status:
    """An HTTP error; {authorization} in the message becomes the request's own header."""

    code: int
    message: str = "scripted failure"
    headers: dict[str, str] = field(default_factory=dict)
    param: str | None = None


@dataclass(frozen=True)
class Hang:
    """Silence, after so many pieces, until the client leaves.

    Without pieces not even a status comes, unless it has begun.
    """

    after: int = 0
    begun: bool = False


@dataclass(frozen=True)
class Drop:
    """The connection breaks inside a chunk, after so many pieces: closed, or reset."""

    after: int = 1
    reset: bool = False


@dataclass(frozen=True)
class Cut:
    """The body ends in good order before the model has finished: no finish_reason, no [DONE].

    Unframed, the body ends with the connection, as HTTP/1.0 servers do it.
    """

    after: int = 1
    framed: bool = True


@dataclass(frozen=True)
class Endless:
    """Pieces until the client disconnects."""


@dataclass(frozen=True)
class Drip:
    """No piece of an answer, but comments that keep the connection alive, until the client disconnects."""


@dataclass(frozen=True)
class Malformed:
    """Broken JSON, after so many good pieces of a stream."""

    after: int = 1


@dataclass(frozen=True)
class TooFew:
    """Embeddings for all texts but the last."""


Behaviour = Reply | Meet | Status | Hang | Drop | Cut | Endless | Drip | Malformed | TooFew
