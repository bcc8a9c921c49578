"""Successful responses of servers that speak OpenAI's protocol in their own way, put into the words of its client."""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import httpx
from bs4 import BeautifulSoup

from ...prompts.replies import COMPLETE, excerpt
from ...values.errors import ProviderError
from ...values.message import Message
from .errors import TRY_AGAIN, told

CHECK_URL = Message("Check the server's URL; most end with /v1.")
DONE = b"data: [DONE]\n\n"
MANY = 20  # characters that no model writes twice in a row and nothing else
_FIELD = re.compile(rb"\s*(?:data|event|id|retry)?:")  # of a server-sent event
_HOP = ("content-encoding", "content-length", "transfer-encoding")  # not true of what is passed on


def readable(response: httpx.Response, *, streamed: bool) -> httpx.Response:
    """A response as OpenAI's client reads it; raises ProviderError, while it is streamed, for an error or a page."""
    if not response.is_success:
        return response
    if not streamed:
        _reply_in(response.content)
        return response
    headers = {name: value for name, value in response.headers.items() if name not in _HOP}
    return httpx.Response(
        response.status_code,
        headers=headers,
        stream=_Events(response),
        request=response.request,
        extensions=response.extensions,
    )


class _Events(httpx.SyncByteStream):
    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    def __iter__(self) -> Iterator[bytes]:
        return events(self._response.iter_bytes())

    def close(self) -> None:
        self._response.close()


def events(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a stream of events, or of a whole reply as one; raises ProviderError for others."""
    lines = _lines(pieces)
    first = next((line for line in lines if line.strip()), b"").removeprefix(b"\xef\xbb\xbf")
    if first and not _FIELD.match(first):
        reply = _as_chunk(_reply_in(b"\n".join([first, *lines])))
        _raise_refusal(_said(reply, "refusal"))
        yield _event(reply)
        yield DONE
        return
    finished, parted, answer, refusal = False, False, "", ""
    for line in itertools.chain([first], lines):
        data = line[5:].strip() if line.startswith(b"data:") else b""
        if data.startswith(b"[DONE]") and not finished:
            _raise_refusal(refusal)
            yield _event({"choices": [{"index": 0, "delta": {}, "finish_reason": COMPLETE}]})
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError):  # also what is no data; the client says what is malformed
            chunk = None
        if isinstance(chunk, dict):
            chunk = _chunk(chunk, answer, parted or finished)
            piece = _said(chunk, "content")
            parted |= bool(answer and piece)
            answer += piece
            refused = _said(chunk, "refusal")
            refusal = refused if refused.startswith(refusal) else refusal + refused
            finished |= any(choice.get("finish_reason") for choice in chunk["choices"])
            if finished:
                _raise_refusal(refusal)
            line = b"data: " + json.dumps(chunk).encode()
        yield line + b"\n"
    _raise_refusal(refusal)


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Lines as events have them; httpx would also split at U+2028, which JSON may have in a string."""
    begun: list[bytes] = []
    for piece in pieces:
        *whole, rest = piece.split(b"\n")
        for line in whole:
            yield b"".join([*begun, line]).removesuffix(b"\r")
            begun = []
        begun.append(rest)
    if last := b"".join(begun):
        yield last


def _event(chunk: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def _reply_in(body: bytes) -> dict[str, Any]:
    """The reply that is a body; raises ProviderError if it is none."""
    text = body.decode("utf-8", "replace").strip()
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if text.startswith(("{", "[")):
            raise ProviderError(Message("the server's reply was malformed JSON"), TRY_AGAIN) from None
        words = BeautifulSoup(text, "html.parser").get_text(" ") if text.startswith("<") else text
        raise _instead(words, CHECK_URL) from None
    if not isinstance(value, dict) or value.get("error") or not ("choices" in value or "data" in value):
        raise _instead(told(value), TRY_AGAIN)
    return value


def _instead(words: str, step: Message) -> ProviderError:
    return ProviderError(Message("instead of a reply, the server said {words}", words=excerpt(words)), step)


def _said(chunk: dict[str, Any], field: str) -> str:
    deltas = [choice["delta"] for choice in chunk["choices"]]
    return "".join(text for one in deltas if isinstance(one, dict) and isinstance(text := one.get(field), str))


def _raise_refusal(words: str) -> None:
    if words.strip():
        step = Message("Ask in other words, or use another model.")
        raise ProviderError(Message("the model refused to answer: {words}", words=excerpt(words)), step)


def _chunk(chunk: dict[str, Any], answer: str = "", parted: bool = False) -> dict[str, Any]:
    """A chunk with a list of choices and text; one that repeats `answer`, all before it, adds none. Raises ProviderError.

    Before the end of the reply this must be `parted`: a model can begin with a piece twice.
    """
    choices = chunk.get("choices")
    if chunk.get("error") or (choices is None and any(chunk.get(name) for name in ("message", "detail"))):
        raise _instead(told(chunk), TRY_AGAIN)
    kept = (
        [_choice(choice, answer, parted) for choice in choices if isinstance(choice, dict)]
        if isinstance(choices, list)
        else []
    )
    return {**chunk, "choices": kept}


def _choice(choice: dict[str, Any], answer: str, parted: bool) -> dict[str, Any]:
    reason, message = choice.get("finish_reason"), choice.get("message") or {}
    # some send the whole message instead of deltas, or once more at the end
    delta = choice.get("delta") or (not answer and message) or {}
    if isinstance(delta, dict):
        content = _text(delta.get("content"))
        again = reason or (parted and len(answer) > MANY)
        if again and isinstance(content, str) and len(answer) < len(content) + MANY:
            content = "" if content.strip() == answer.strip() else content
        refusals = (one.get("refusal") or _text(one.get("content"), "refusal") for one in (delta, message))
        delta = {**delta, "content": content, "refusal": next(filter(None, refusals), None)}
    return {**choice, "delta": delta, "finish_reason": None if reason in ("", "null") else reason}


def _text(content: object, field: str = "text") -> object:
    """Content as text: of a list of parts, those that have the field and are not the model's thoughts."""
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return content if field == "text" else None
    parts = (part if isinstance(part, dict) else {"text": part} for part in content)
    texts = (part.get(field) for part in parts if part.get("type", field) in (field, "output_text"))
    return "".join(text for text in texts if isinstance(text, str))


def _as_chunk(reply: dict[str, Any]) -> dict[str, Any]:
    chunk = _chunk(reply)
    ended = [{**choice, "finish_reason": choice["finish_reason"] or COMPLETE} for choice in chunk["choices"]]
    return {**chunk, "choices": ended}
