"""The process that reads files: one request a line on stdin, one reply each on stdout, as JSON.

A reply is its length in eight bytes, then {"documents": [...], "reason": why the file failed, or "", "broken":
whether this process should be replaced}.
"""

from __future__ import annotations

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

from ...values.errors import DataError
from ..limits import LimitExceeded, ReadingLimits, megabytes, shorten
from .formats import read_file

MAX_REASON = 300  # characters
_GRACE = 5  # seconds after which a worker that nobody kills ends itself


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
        _limit_time(limits)
        reply = _read(Path(request["path"]), request["name"], limits)
        try:
            _send(replies, reply)
        except MemoryError:  # nothing of it was sent yet
            _send(replies, _too_large(limits))


def _limit_time(limits: ReadingLimits) -> None:
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = math.ceil(used.ru_utime + used.ru_stime + limits.seconds) + _GRACE
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _read(path: Path, name: str, limits: ReadingLimits) -> dict[str, Any]:
    documents = []
    parts = characters = 0
    try:
        for document in read_file(path, name, limits):
            parts += 1 + document.text.count("\n#")
            characters += len(document.text)
            if parts > limits.parts:
                raise LimitExceeded(f"it has more than {limits.parts:,} rows or sections")
            if characters > limits.characters:
                raise LimitExceeded(f"it has more than {limits.characters:,} characters of text")
            documents.append(astuple(document))
        return _reply(documents)
    except LimitExceeded as error:
        return _reply([], str(error))
    except DataError as error:  # of one row; those above it are good
        return _reply(documents, error.message)
    except MemoryError:
        return _too_large(limits)
    except RecursionError:
        return _reply([], "it is nested too deeply", broken=True)
    except Exception as error:  # the formats' libraries raise anything on a broken file
        return _reply(documents, _described(error))


def _too_large(limits: ReadingLimits) -> dict[str, Any]:
    return _reply([], f"reading it takes more than {megabytes(limits.memory)} of memory", broken=True)


def _reply(documents: list[Any], reason: str = "", *, broken: bool = False) -> dict[str, Any]:
    return {"documents": documents, "reason": shorten(reason, MAX_REASON), "broken": broken}


def _described(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())


def _send(replies: BinaryIO, reply: dict[str, Any]) -> None:
    # Half of a surrogate pair, which a PDF can contain, becomes "?"
    content = json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace")
    replies.write(len(content).to_bytes(8, "big") + content)
    replies.flush()
