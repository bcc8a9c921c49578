"""Updates of an index that are killed at one of their moments: a touch of a file, or a request to a server."""

import os
import re
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import httpx

from rag_core.documents.documents import Document
from rag_core.indexing import CorpusIndex, CorpusStore, SourceFiles, stores
from rag_core.values.settings import MILVUS_SCHEME, Settings

from .processes import run
from .small import DOCUMENTS, WordEmbedder

FILE, REQUEST = "file", "request"
LOCAL = Settings()


def documents_of(version: int) -> list[Document]:
    """Documents of which one says the version."""
    return [*DOCUMENTS[1:], Document("v", "Version", "en", f"This is version number{version} of all.")]


def version_served(index: CorpusIndex) -> int:
    """The version whose passage an index has; fails when it has none or several."""
    (passage,) = [one for one in index.passages.values() if one.doc_id == "v"]
    (found,) = re.findall(r"number(\d+) ", passage.text)
    return int(found)


def writer_moments(home: Path, version: int, settings: Settings = LOCAL) -> list[str]:
    """Make an update in another process: its moments, each a FILE or a REQUEST."""
    code, moments = run(_update, home, version, None, settings)
    assert code == 0
    return list(moments)


def kill_writer(home: Path, version: int, moment: int, settings: Settings = LOCAL) -> int | None:
    """An update in another process that is killed at a moment, counted from 0; its exit code."""
    return run(_update, home, version, moment, settings)[0]


def _update(sender: Connection, home: Path, version: int, killed_at: int | None, settings: Settings) -> None:
    passed: list[str] = []

    def moment(what: str) -> None:
        if len(passed) == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
        passed.append(what)

    def touched(event: str, given: tuple[object, ...]) -> None:
        if event in ("open", "os.mkdir", "os.rename", "os.remove") and str(given[0]).startswith(str(home)):
            moment(FILE)

    def send(client: httpx.Client, *given: Any, **named: Any) -> httpx.Response:
        moment(REQUEST)
        response = sent(client, *given, **named)
        moment(REQUEST)  # the server has done it, and nobody was told
        return response

    sent = httpx.Client.send
    httpx.Client.send = send  # type: ignore[method-assign]
    if settings.vectors.get_secret_value().startswith(MILVUS_SCHEME):
        _intercept_grpc(moment)
    store = CorpusStore(home, "animals", WordEmbedder(), stores=stores.stores_of(settings))
    sys.addaudithook(touched)
    store.update(SourceFiles("test", documents_of(version)))
    sender.send(passed)


def _intercept_grpc(moment: Callable[[str], None]) -> None:
    """Count each request to Milvus twice: before it is sent, and once it was answered."""
    import grpc

    class Counted(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
        def intercept_unary_unary(self, continuation: Callable[..., Any], details: object, request: object) -> Any:
            moment(REQUEST)
            call = continuation(details, request)
            call.exception()  # waits for the answer
            moment(REQUEST)
            return call

    opened = grpc.insecure_channel
    grpc.insecure_channel = lambda *given, **named: grpc.intercept_channel(opened(*given, **named), Counted())
