"""Reads files in a process that may hang, crash or run out of memory without harm to this one."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ...language.analysis import language_of
from ...values.errors import MissingResource
from ...values.message import Message, from_parts
from ...values.sources import Source
from ..documents import Document
from ..limits import READING, ReadingLimits
from ..markdown import Mark
from .formats import read_within

START_SECONDS = 60.0  # a busy machine may need many
DETECT = 100_000  # characters of a document whose language is detected
_TICK = 0.1  # seconds between calls of `waiting`
# Without rag_core/__init__.py, which imports far more than the readers need. -P keeps the current folder,
# which may be the one to index, off the module path.
_START = """
import sys, types
package = types.ModuleType("rag_core")
package.__path__ = [sys.argv[1]]
sys.modules["rag_core"] = package
from rag_core.documents.limits import ReadingLimits
from rag_core.documents.reading.worker import main
import json
main(ReadingLimits(**json.loads(sys.argv[2])))
"""
_PACKAGE = Path(__file__).parents[2]


class _Ended(Exception):
    """The process ended without a reply."""


class GuardedReader:
    """One process that reads files one after the other; a context manager, whose end ends the process.

    It starts with the first file, and again after a file that it did not survive. A plain subprocess: those of
    multiprocessing import the caller's main module, or fork a process that has threads. `waiting` is called often
    while a file is read, and may raise to stop.
    """

    def __init__(self, limits: ReadingLimits = READING, waiting: Callable[[], None] = lambda: None) -> None:
        self._limits = limits
        self._waiting = waiting
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> GuardedReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def read(self, path: Path, name: str) -> tuple[list[Document], str]:
        """The documents of a file, and why it or some rows could not be read, or empty; raises MissingResource."""
        request = json.dumps({"path": str(path), "name": name}).encode() + b"\n"
        process = self._running()
        try:
            assert process.stdin
            process.stdin.write(request)
            process.stdin.flush()
            reply = self._receive(process, self._limits.seconds)
        except TimeoutError:
            self.close()
            return [], Message("reading it takes longer than {most:g} seconds", most=self._limits.seconds)
        except (_Ended, OSError):
            return [], self._how_it_ended(process)
        except BaseException:
            self.close()
            raise
        if reply["broken"]:
            self.close()
        return [_document(fields) for fields in reply["documents"]], from_parts(reply["reason"])

    def close(self) -> None:
        process, self._process = self._process, None
        if process:
            process.kill()
            process.communicate()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process and self._process.poll() is None:
            return self._process
        self.close()
        arguments = [sys.executable, "-P", "-c", _START, str(_PACKAGE), json.dumps(asdict(self._limits))]
        secret = ("OPENAI_", "RAG_")  # not for a process that reads what strangers wrote
        try:
            pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
            env = {key: value for key, value in os.environ.items() if not key.startswith(secret)}
            self._process = subprocess.Popen(arguments, env=env, **pipes)
            self._receive(self._process, START_SECONDS)
        except (_Ended, OSError) as error:
            said = self._process.communicate()[1].decode(errors="replace") if self._process else str(error)
            self.close()
            reason = said.strip()[-300:] or error
            what = Message("The process that reads files cannot start: {reason}", reason=reason)
            step = Message("Check that this machine has free memory and processes, then try again.")
            raise MissingResource(what, step) from error
        except BaseException:
            self.close()
            raise
        return self._process

    def _receive(self, process: subprocess.Popen[bytes], seconds: float) -> Any:
        """One reply; raises TimeoutError if it takes longer, _Ended if the process ended or replied too much."""
        deadline = time.monotonic() + seconds
        assert process.stdout
        source = process.stdout.fileno()
        received = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(source, selectors.EVENT_READ)
            while len(received) < 8 or len(received) < 8 + int.from_bytes(received[:8], "big"):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError
                if not selector.select(min(left, _TICK)):
                    self._waiting()
                    continue
                part = os.read(source, 1 << 20)
                received += part
                if not part or len(received) > 16 * self._limits.characters + (1 << 20):
                    raise _Ended
        return json.loads(received[8:])

    def _how_it_ended(self, process: subprocess.Popen[bytes]) -> str:
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
        self.close()
        number = -(process.returncode or 0)
        how = f" ({signal.Signals(number).name})" if number in set(signal.Signals) else ""
        return Message("the process that read it ended{how}", how=how)


def read_unguarded(path: Path, name: str, limits: ReadingLimits = READING) -> tuple[list[Document], str]:
    """As `GuardedReader.read`, in this process and without its limits of time and memory: for our own files."""
    documents, reason, _ = read_within(path, name, limits)
    return [_with_language(document) for document in documents], reason


def _document(fields: list[Any]) -> Document:
    sent: Any = Document(*fields)
    sources = tuple(Source(*source) for source in sent.sources)
    marks = tuple(Mark(heading, tuple(keys), tuple(others)) for heading, keys, others in sent.marks)
    pairs = {name: tuple(map(tuple, getattr(sent, name))) for name in ("questions", "metadata")}
    told = replace(sent, sources=sources, marks=marks, hidden=tuple(sent.hidden), pieces=(), **pairs)
    return _with_language(told)


def _with_language(document: Document) -> Document:
    return document if document.language else replace(document, language=language_of(document.text[:DETECT]))
