"""The process that reads files: one request a line on stdin, one reply each on stdout, as JSON.

A reply is its length in eight bytes, then {"documents": [...], "reason": why the file failed as `parts_of` writes it,
or "", "broken": whether this process should be replaced}.
"""

import json
import math
import os
import resource
import signal
import sys
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any, BinaryIO

from ...values.message import parts_of
from ..documents import Document
from ..limits import ReadingLimits
from .formats import read_within, too_large

_GRACE = 5  # seconds until a worker that was not killed ends by itself


def main(limits: ReadingLimits) -> None:
    """Serve requests until stdin ends, which it does when the other process ends."""
    replies = os.fdopen(os.dup(1), "wb")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches both; the other process decides
    with suppress(ValueError, OSError):  # not every system can limit it
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    _send(replies, {"ready": True})
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)  # the formats' libraries may print
    os.dup2(silent, 2)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        used = resource.getrusage(resource.RUSAGE_SELF)
        most = math.ceil(used.ru_utime + used.ru_stime + limits.seconds) + _GRACE
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        documents, reason, broken = read_within(Path(request["path"]), request["name"], limits)
        try:
            _send(replies, _reply(documents, reason, broken=broken))
        except MemoryError:  # nothing of it was sent yet
            _send(replies, _reply([], too_large(limits), broken=True))


def _reply(documents: list[Document], reason: str, *, broken: bool) -> dict[str, Any]:
    return {"documents": [*map(astuple, documents)], "reason": parts_of(reason), "broken": broken}


def _send(replies: BinaryIO, reply: dict[str, Any]) -> None:
    # Half of a surrogate pair, which a PDF can contain, becomes "?"
    content = json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace")
    replies.write(len(content).to_bytes(8, "big") + content)
    replies.flush()
