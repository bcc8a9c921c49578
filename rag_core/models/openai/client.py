"""The HTTP client for providers: every call ends, soon after the user stops it, and its replies are limited."""

import functools
import logging
import os
import ssl
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

import httpcore
import httpx
import openai
from pydantic import SecretStr

from ...runtime.spending import payer, sent_once
from ...values.errors import ProviderError, SettingsError, Stopped
from ...values.message import Message
from ...values.settings import Settings
from .dialects import readable
from .errors import PLACEHOLDER_KEY, PROXIES, TRY_AGAIN, retry_after, those_set
from .transport import Call, CallTracker

T = TypeVar("T")

CHECKED_EVERY = 0.05  # seconds between looks at the stop flag
FOREVER = 24 * 3600.0  # seconds, where no timeout is set

Stop = Callable[[], bool]


class StoppableBackend(httpcore.NetworkBackend):
    """The ordinary network, whose every wait looks at the stop flag of the thread's call."""

    def __init__(self, inner: httpcore.NetworkBackend, stopped: Stop) -> None:
        self._inner = inner
        self._stopped = stopped

    def connect_tcp(self, host: str, port: int, *more: Any, **options: Any) -> httpcore.NetworkStream:
        return _connected(lambda: self._inner.connect_tcp(host, port, *more, **options), self._stopped)


class StoppableStream(httpcore.NetworkStream):
    """A connection; see `StoppableBackend`."""

    def __init__(self, inner: httpcore.NetworkStream, stopped: Stop) -> None:
        self._inner = inner
        self._stopped = stopped

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        deadline = time.monotonic() + (FOREVER if timeout is None else timeout)
        while True:
            if self._stopped():
                raise Stopped
            left = deadline - time.monotonic()
            try:
                return self._inner.read(max_bytes, max(0.001, min(CHECKED_EVERY, left)))
            except httpcore.ReadTimeout:
                if left <= CHECKED_EVERY:
                    raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        _unless_stopped(lambda: self._inner.write(buffer, timeout), self._stopped)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _connected(lambda: self._inner.start_tls(ssl_context, server_hostname, timeout), self._stopped)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def _connected(connect: Callable[[], httpcore.NetworkStream], stopped: Stop) -> StoppableStream:
    return StoppableStream(_unless_stopped(connect, stopped, lambda late: late.close()), stopped)


def wait(seconds: float, stopped: Stop) -> None:
    """Sleep; raises Stopped if the user stopped the run."""
    deadline = time.monotonic() + seconds
    while True:
        if stopped():
            raise Stopped
        left = deadline - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(CHECKED_EVERY, left))


def _unless_stopped(work: Callable[[], T], stopped: Stop, clean_up: Callable[[T], None] | None = None) -> T:
    """Do what cannot be interrupted on a thread, left there when the user stops; `clean_up` gets what comes too late."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # raised below, where it is waited for
            done.set_exception(error)

    Thread(target=run, daemon=True).start()
    while not futures.wait([done], CHECKED_EVERY).done:
        if stopped():
            if clean_up:
                done.add_done_callback(lambda late: None if late.exception() else clean_up(late.result()))
            raise Stopped
    return done.result()


MAX_REPLY_TIMEOUTS = 10  # a response is cut off after this many timeouts
ATTEMPTS = 2  # at a request
BACK_OFF = 0.5  # seconds before the second, unless the provider asks for another wait
RETRIED = (408, 409, 429)  # HTTP statuses, beside those of server faults
MOST_REDIRECTS = 3
CORRECT_IT = Message("Correct it, or unset it.")
MAX_BODY = 64_000_000  # bytes of a response; more than any batch of vectors

# the DEBUG lines of OpenAI's client have the whole request, and so the question
logging.getLogger("openai._base_client").addFilter(lambda record: record.levelno > logging.DEBUG)


@functools.cache
def _certificates(file: str, folder: str) -> ssl.SSLContext:
    """The certificates that all clients trust, read once by these variables: it takes longer than all else. SettingsError."""
    try:
        folders = [] if file else folder.split(os.pathsep)
        # OpenSSL ignores those that are missing
        if folder and folders and not any(map(os.path.isdir, folders)):
            raise NotADirectoryError("no such folder")
        return httpx.create_ssl_context()
    except OSError as error:  # also a file that has no certificate
        name, path = ("SSL_CERT_FILE", file) if file else ("SSL_CERT_DIR", folder)
        if error.filename and error.filename == os.environ.get("SSLKEYLOGFILE"):
            name, path = "SSLKEYLOGFILE", error.filename
        what = Message("{name} cannot be read ({reason}): {path}.", name=name, reason=error, path=path)
        raise SettingsError(what, CORRECT_IT) from error


def client_options(settings: Settings, key: SecretStr | None, calls: CallTracker) -> dict[str, Any]:
    """What a LlamaIndex model of OpenAI's is made with, so that its requests are tracked in `calls`."""
    return {
        "api_key": key.get_secret_value() if key else PLACEHOLDER_KEY,
        "timeout": settings.timeout,
        "max_retries": 0,  # the client's own
        "http_client": ProviderClient(calls, settings.timeout, MAX_REPLY_TIMEOUTS * settings.timeout),
    }


class ProviderClient(openai.DefaultHttpxClient):
    """OpenAI's HTTP client with its own retry, which stops with the run.

    OpenAI's retries would go out after the user has stopped, so they must be switched off (`max_retries=0`). Raises
    SettingsError if a proxy or certificates of the environment cannot be used.

    Args:
        calls: tracks the requests; its call says whether to stop.
        longest_wait: seconds; a provider that asks for a longer wait gets no second request.
        longest_response: seconds from its first to its last byte. The read timeout applies between two pieces
            only, and a server can keep a connection alive forever with comments (": ping").
    """

    def __init__(self, calls: CallTracker, longest_wait: float, longest_response: float) -> None:
        try:
            super().__init__(
                verify=_certificates(os.environ.get("SSL_CERT_FILE", ""), os.environ.get("SSL_CERT_DIR", "")),
                event_hooks={"request": [calls.on_request], "response": [calls.on_response, self._limit]},
                follow_redirects=False,
            )
        except (ImportError, ValueError, httpx.InvalidURL) as error:
            raise _of_proxy(error) from error
        self._calls = calls
        self._longest_wait = longest_wait
        self._longest_response = longest_response
        for transport in (self._transport, *self._mounts.values()):  # direct, and by proxy
            if isinstance(transport, httpx.HTTPTransport):
                pool = transport._pool  # httpx has no option for it
                pool._network_backend = StoppableBackend(pool._network_backend, calls.stopped)

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request, and once more after a passing failure; redirects are followed on its host.

        Raises Stopped; LimitReached; httpx.TransportError without a response; ProviderError for an error or a page.
        """
        for attempt in range(1, ATTEMPTS + 1):
            if self._calls.stopped():
                raise Stopped
            payer.get().start_call()
            try:
                response = super().send(request, **options)
                for _ in range(MOST_REDIRECTS):
                    if (moved := _moved(response)) is None:
                        break
                    response.close()
                    response = super().send(moved, **options)
            except httpx.TransportError:
                if attempt == ATTEMPTS or (sent_once.get() and self._calls.call.unanswered):
                    raise
                seconds: float | None = BACK_OFF
            else:
                seconds = self._wait_before_retry(response)
                if seconds is None or attempt == ATTEMPTS:
                    return readable(response, streamed=bool(options.get("stream")))
                response.close()
            wait(seconds or 0.0, self._calls.stopped)
        raise AssertionError("the last attempt returns or raises")

    def _wait_before_retry(self, response: httpx.Response) -> float | None:
        again = response.status_code in RETRIED or response.status_code >= 500
        if {"true": True, "false": False}.get(response.headers.get("x-should-retry", ""), again):
            asked = retry_after(response) or 0.0
            return None if asked > self._longest_wait else asked if asked > 0 else BACK_OFF
        return None

    def _limit(self, response: httpx.Response) -> None:
        assert isinstance(response.stream, httpx.SyncByteStream)  # the client is not asynchronous
        response.stream = _LimitedStream(response.stream, self._calls, time.monotonic() + self._longest_response)


def _moved(response: httpx.Response) -> httpx.Request | None:
    """The same request where a server moved it, None to another host; httpx would turn the POST into a GET."""
    old, location = response.request, response.headers.get("location")
    if not (response.is_redirect and location):
        return None
    url = old.url.join(location)
    if url.host != old.url.host or (old.url.scheme, url.scheme) == ("https", "http"):
        return None
    headers = {name: value for name, value in old.headers.items() if name != "host"}
    return httpx.Request(old.method, url, headers=headers, content=old.content, extensions=old.extensions)


def _of_proxy(error: Exception) -> SettingsError:
    reason, step = error.args[0] if error.args else error, CORRECT_IT
    if isinstance(error, ImportError):
        reason, step = (
            Message("a SOCKS proxy needs the package socksio"),
            Message("Install it with pip, or unset the proxy."),
        )
    said = {"names": ", ".join(those_set((*PROXIES, "NO_PROXY"))), "reason": reason}
    return SettingsError(Message("The proxy of {names} cannot be used ({reason}).", **said), step)


class _LimitedStream(httpx.SyncByteStream):
    """A response's body, read as part of its call, up to a size and a time."""

    def __init__(self, stream: httpx.SyncByteStream, calls: CallTracker, deadline: float) -> None:
        self._stream = stream
        self._calls = calls
        self._call: Call = calls.call
        self._deadline = deadline

    def __iter__(self) -> Iterator[bytes]:
        pieces = iter(self._stream)
        size = 0
        while True:
            self._calls.call = self._call  # the thread may have made another call since the last piece
            piece = next(pieces, None)
            if piece is None:
                return
            if time.monotonic() > self._deadline:
                raise httpx.ReadTimeout("the response took too long")
            size += len(piece)
            if size > MAX_BODY:
                what = Message("the response is larger than {size} MB", size=MAX_BODY // 1_000_000)
                raise ProviderError(what, TRY_AGAIN)
            yield piece

    def close(self) -> None:
        self._stream.close()
