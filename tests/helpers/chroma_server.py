"""Servers of stores on loopback, as `chroma run` and `milvus-lite server` start them."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import chromadb

from .ports import free_port


def collections(port: int) -> set[str]:
    """The numbers of the generations that a server has a collection of."""
    with chromadb.HttpClient("127.0.0.1", port) as client:
        return {one.name.rpartition("-gen-")[2] for one in client.list_collections()}


@contextmanager
def chroma_server(folder: Path, port: int | None = None) -> Iterator[tuple[int, int]]:
    """A server that keeps what it has in a folder: its process id and port."""
    port = port or free_port()
    code = "import sys; from chromadb.cli.cli import app; sys.exit(app())"
    command = [
        sys.executable, "-c", code, "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port),
    ]  # fmt: skip
    with _listening(command, port) as process:
        yield process, port


@contextmanager
def milvus_server(folder: Path, port: int | None = None) -> Iterator[tuple[int, int]]:
    """Milvus Lite as a server that keeps what it has in a folder: its process id and port."""
    port = port or free_port()
    where = ["--data-dir", str(folder), "--host", "127.0.0.1", "--port", str(port)]
    with _listening([sys.executable, "-m", "milvus_lite.cmdline", "server", *where], port) as process:
        yield process, port


@contextmanager
def _listening(command: Sequence[str], port: int) -> Iterator[int]:
    """A server on a port, once it listens: its process id."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:  # until it listens; the test's own limit ends the wait
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if process.poll() is not None:
                    raise RuntimeError("the server ended") from None
                time.sleep(0.05)
        yield process.pid
    finally:
        process.terminate()
        process.wait(timeout=60)
