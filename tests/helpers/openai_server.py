"""A real HTTP server on 127.0.0.1 that speaks the OpenAI protocol, and fails on request.

    with serve() as server:
        server.script += [Status(500), Reply("Cats purr [1].")]
        settings = Settings(openai_base_url=server.url, ...)

Each POST takes the next behaviour from `script`; when that is empty, `choose` picks one by the body, using
`role_of` and `template_of`. Every request is recorded with the server's behaviour.
"""

import base64
import contextlib
import hashlib
import json
import re
import select
import socket
import socketserver
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rag_core.prompts import templates
from rag_core.prompts.prompt import ANSWER, JUDGE_PASSAGE

from .behaviours import (
    Behaviour,
    Body,
    Cut,
    Drip,
    Drop,
    Endless,
    Events,
    Hang,
    Held,
    Malformed,
    Meet,
    Reply,
    Status,
    TooFew,
)

DIMENSIONS = 8
MODELS = ("gpt-4o", "my-local-model", "text-embedding-3-small")
DEFAULT = "Cats purr when they are happy [1]."
SECONDS = 20  # timeout for requests that must arrive
HELD_S = 120  # timeout for a reply that the test must release
TEMPLATES = (
    templates.ANALYSIS, *templates.MULTI_QUERY, *templates.ORIGINAL, *templates.IMPROVED, templates.TRANSFORM, templates.HYPOTHETICAL,
    JUDGE_PASSAGE, ANSWER,
)  # fmt: skip


@dataclass(frozen=True)
class Request:
    """A client's request, and the server's behaviour."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    behaviour: Behaviour

    @property
    def role(self) -> str:
        """The role of the model."""
        return role_of(self.body)

    @property
    def refused(self) -> bool:
        """Whether the answer was an HTTP error."""
        done = self.behaviour.reply if isinstance(self.behaviour, Meet) else self.behaviour
        return isinstance(done, Status)

    @property
    def messages(self) -> list[tuple[str, str]]:
        """(role, content) of each chat message."""
        return [(message["role"], message["content"]) for message in self.body["messages"]]


def role_of(body: dict[str, Any]) -> str:
    """The role of a request, by its system message: "rewrite", "judge", "answer"; otherwise empty."""
    system = body.get("messages", [{"content": ""}])[0]["content"]
    return next((template.purpose for template in TEMPLATES if _instructs(template.system, system)), "")


def _instructs(template: str, system: str) -> bool:
    """Whether a system message is from this template, for any corpus profile."""
    pattern = re.sub(r"\\{(?:about|readers)\\}", ".*", re.escape(template))
    return re.fullmatch(pattern, system) is not None


def template_of(body: dict[str, Any]) -> str:
    """The name of the template a request was filled from, by its message; empty if unknown."""
    content = body["messages"][1]["content"]
    return next((template.name for template in TEMPLATES if _made_from(template.text, content)), "")


def _made_from(text: str, content: str) -> bool:
    return all(words in content for words in re.split(r"\{\w+\}", text))


def pieces_of(text: str) -> list[str]:
    """A text as the server streams it: word by word."""
    return re.findall(r"\S+\s*|\s+", text)


def vector_of(text: str) -> list[float]:
    """The server's embedding of a text, not normalised."""
    return [float(byte) - 127.5 for byte in hashlib.sha256(text.encode()).digest()[:DIMENSIONS]]


class OpenAIServer(ThreadingHTTPServer):
    """The server; start it with `serve`.

    Attributes:
        requests: every POST, in the order of arrival.
        most: requests that were here at the same time, at most, by role.
        answered: released once for every request that has been answered.
        gone: set when a client left an unfinished stream or a silent server.
        vector: the embedding of a text.
        arrange: what becomes of the rows of embeddings.
        key: when set, other keys are refused with 401.
        embedding_usage: the usage it tells of so many tokens, one a word.
    """

    daemon_threads = True
    request_queue_size = 128  # of the operating system; the default of 5 holds simultaneous clients up for 1 s

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.script: list[Behaviour] = []
        self.choose = lambda body: Reply()
        self.embedding_usage = lambda tokens: {"prompt_tokens": tokens, "total_tokens": tokens}
        self.vector = vector_of
        self.arrange = lambda rows: rows
        self.key: str | None = None
        self.most: Counter[str] = Counter()
        self._now: Counter[str] = Counter()
        self.gone = threading.Event()
        self.answered = threading.Semaphore(0)
        self.closing = threading.Event()
        self.faults: list[BaseException] = []
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        """What OPENAI_BASE_URL is set to."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def server_bind(self) -> None:
        """Without HTTPServer's look-up of the host's name."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def shutdown_request(self, request: Any) -> None:
        """Close at once, so that a connection to be reset is not ended in order first."""
        self.close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves is no fault of the server."""
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):
            self.faults.append(error)

    def next(self, path: str, headers: dict[str, str], body: dict[str, Any]) -> Behaviour:
        """Keep a request, and say what to do with it."""
        with self._lock:
            behaviour = self.script.pop(0) if self.script else self.choose(body)
            if self.key and headers.get("authorization") != f"Bearer {self.key}":
                behaviour = Status(401, "Incorrect API key provided: {authorization}")
            self.requests.append(Request(path, headers, body, behaviour))
            return behaviour

    @contextlib.contextmanager
    def counted(self, role: str) -> Iterator[None]:
        """While a request is being answered."""
        with self._lock:
            self._now[role] += 1
            self.most[role] = max(self.most[role], self._now[role])
        try:
            yield
        finally:
            with self._lock:
                self._now[role] -= 1
            self.answered.release()


@contextlib.contextmanager
def serve() -> Iterator[OpenAIServer]:
    """A running server; its own errors fail the test at the end."""
    server = OpenAIServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
    assert not server.faults, server.faults


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body would wait 40 ms for the receipt of its headers
    server: OpenAIServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        if self.path != "/v1/models":
            return self._error(Status(404, f"no {self.path}"))
        return self._json({"object": "list", "data": [{"id": name, "object": "model"} for name in MODELS]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        behaviour = self.server.next(self.path, headers, body)
        with self.server.counted(role_of(body)):
            if isinstance(behaviour, Meet):
                behaviour = self._met(behaviour)
            if isinstance(behaviour, Held):
                behaviour.released.wait(HELD_S)
                behaviour = behaviour.reply
            try:
                self._act(body, behaviour)
            except ConnectionError:  # also before the first byte
                self.server.gone.set()
                raise

    def _met(self, meet: Meet) -> Behaviour:
        try:
            meet.barrier.wait(SECONDS)
        except threading.BrokenBarrierError:
            return Status(500, "the other requests did not come")
        return meet.reply

    def _act(self, body: dict[str, Any], behaviour: Behaviour) -> None:
        if isinstance(behaviour, Reply):
            time.sleep(behaviour.seconds)
        if isinstance(behaviour, Status):
            return self._error(behaviour)
        if isinstance(behaviour, Body):
            return self._send(behaviour.text.encode(), headers={"Content-Type": behaviour.kind})
        if behaviour == Hang():
            return self._wait_until_gone()
        if self.path == "/v1/embeddings":
            return self._embeddings(body, behaviour)
        if self.path == "/v1/chat/completions":
            return self._stream(body, behaviour) if body.get("stream") else self._chat(body, behaviour)
        return self._error(Status(404, f"no {self.path}"))

    def _embeddings(self, body: dict[str, Any], behaviour: Behaviour) -> None:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        if isinstance(behaviour, Malformed):
            return self._send(b'{"object": "list", "data": [')
        if isinstance(behaviour, TooFew):
            texts = texts[:-1]
        rows: list[dict[str, Any]] = []
        for index, text in enumerate(texts):
            vector: Any = self.server.vector(text)
            if body.get("encoding_format") == "base64":
                vector = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
            rows.append({"object": "embedding", "index": index, "embedding": vector})
        tokens = sum(len(text.split()) for text in texts)
        usage = self.server.embedding_usage(tokens)
        return self._json({"object": "list", "model": body["model"], "data": self.server.arrange(rows), "usage": usage})

    def _chat(self, body: dict[str, Any], behaviour: Behaviour) -> None:
        if not isinstance(behaviour, Reply):
            return self._send(b'{"id": "x", "choices": [{')
        choice = {"index": 0, "message": {"role": "assistant", "content": behaviour.text}}
        return self._json(
            {
                **_head(body, "chat.completion"),
                "choices": [{**choice, "finish_reason": behaviour.finish}],
                **_usage(behaviour),
            }
        )

    def _stream(self, body: dict[str, Any], behaviour: Behaviour) -> None:
        framed = not isinstance(behaviour, Cut) or behaviour.framed
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header(*(("Transfer-Encoding", "chunked") if framed else ("Connection", "close")))
        self.end_headers()
        head = _head(body, "chat.completion.chunk")

        def say(delta: dict[str, str], finish: str | None = None) -> None:
            data = {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
            self._event(json.dumps(data), framed)

        if isinstance(behaviour, Events):
            for data in behaviour.data:
                self._event(data)
            self.wfile.write(b"0\r\n\r\n")
            return None
        if getattr(behaviour, "after", 1):
            say({"role": "assistant", "content": ""})
        if isinstance(behaviour, Endless | Drip):
            while not self._gone(wait=0.005):
                if isinstance(behaviour, Endless):
                    say({"content": behaviour.piece})
                else:
                    self._write(b": still here\n\n", framed)
            self.server.gone.set()
            return None
        good = getattr(behaviour, "after", None)
        text = behaviour.text if isinstance(behaviour, Reply) else DEFAULT
        for piece in pieces_of(text)[:good]:
            say({"content": piece})
        match behaviour:
            case Reply():
                say({}, behaviour.finish)
                if behaviour.usage and body.get("stream_options", {}).get("include_usage"):
                    told = json.dumps({**head, "choices": [], **_usage(behaviour)})
                    if isinstance(behaviour.usage, str):
                        told = f'{told[:-1]}, "usage": {behaviour.usage}}}'
                    self._event(told)
                self._event("[DONE]")
            case Malformed():
                self._event('{"id": "x", "choices": [{"delta"')
            case Hang():
                return self._wait_until_gone()
            case Drop():
                return self._break_off(behaviour.reset)
        if framed:
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.close_connection = True
        return None

    def _event(self, data: str, framed: bool = True) -> None:
        self._write(f"data: {data}\n\n".encode(), framed)

    def _write(self, event: bytes, framed: bool) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event) if framed else event)

    def _break_off(self, reset: bool) -> None:
        self.wfile.write(b'40\r\ndata: {"id"')
        self.close_connection = True
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _wait_until_gone(self) -> None:
        while not self._gone(wait=0.02):
            pass
        self.server.gone.set()

    def _gone(self, wait: float) -> bool:
        """Whether the client has closed the connection, or the server is about to."""
        waiting = select.poll()  # select() takes no descriptor past 1,023, which a process of tests reaches
        waiting.register(self.connection, select.POLLIN)
        readable = waiting.poll(wait * 1000)
        self.close_connection = True
        try:
            left = bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""
        except ConnectionError:
            left = True
        return left or self.server.closing.is_set()

    def _error(self, status: Status) -> None:
        message = status.message.format(authorization=self.headers["Authorization"])
        error = {"message": message, "type": "scripted", "param": status.param, "code": None}
        self._json({"error": error}, status.code, status.headers)

    def _json(self, value: object, code: int = 200, headers: dict[str, str] | None = None) -> None:
        self._send(json.dumps(value).encode(), code, headers)

    def _send(self, body: bytes, code: int = 200, headers: dict[str, str] | None = None) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _head(body: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": body["model"]}


def _usage(reply: Reply) -> dict[str, Any]:
    if reply.usage is None or isinstance(reply.usage, str):
        return {}
    sent, received = reply.usage
    return {"usage": {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}}
