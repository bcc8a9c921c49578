"""Provider errors: what they mean, what to do about them, and when to retry."""

from __future__ import annotations

import email.utils
import json
import math
import os
import re
import time
import urllib.request
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from ...values.errors import LimitReached, ProviderError, RagError, whose_fault
from ...values.message import Message
from ...values.settings import Server

if TYPE_CHECKING:
    import httpx
    import openai

TRY_AGAIN = Message("Try again.")
# environment variables
PROXIES, CERTIFICATES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"), ("SSL_CERT_FILE", "SSL_CERT_DIR")
PLACEHOLDER_KEY = "none"  # sent to servers that need no key
OPENAI_SERVER = Server(None, None)
CHOSEN = Message("Check its name where it was chosen: in the column's settings, or after --model.")
MIN_KEY_LENGTH = 8  # characters


def to_provider_error(
    error: Exception, model: str, secret: str = "", server: Server = OPENAI_SERVER, named_by: str = ""
) -> RagError:
    """A ProviderError with the next step, or a LimitReached, without the key; `named_by`: settings naming the model."""
    import httpx
    import openai

    if isinstance(error.__cause__, LimitReached):  # OpenAI's client takes what is ours for a lost connection
        return error.__cause__
    if isinstance(error.__cause__, ProviderError):
        error = error.__cause__
    told_us = " ".join(str(error).split())
    what: str = Message("the call failed")
    if told_us:
        what = Message("the call failed ({reason})", reason=told_us)
    step = whose_fault(error) or Message("Run `rag doctor`.")  # theirs: a program's own model
    match error:
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            what, step = Message("the key was refused"), check(server.key_setting)
        case openai.NotFoundError() if not _names_model(told(error.body), model):
            what = Message("the server has nothing at this address (HTTP 404)")
            step = Message("Check {setting}; most servers' URLs end with /v1.", setting=server.url_setting)
        case openai.NotFoundError():
            what = Message("the server does not have this model")
            step = check(named_by) if named_by else CHOSEN
        case openai.RateLimitError():
            what = Message("the provider's rate limit or quota was reached")
            step = Message("Wait, or check your plan.")
            if wait := retry_after(error.response):
                step = Message("Wait {seconds} s, or check your plan.", seconds=math.ceil(wait))
        case openai.APITimeoutError() | httpx.TimeoutException():
            what, step = Message("the request timed out"), Message("Try again, or raise RAG_TIMEOUT.")
        case openai.APIConnectionError():
            what = Message("the server cannot be reached")
            suspects = ", ".join([server.url_setting, *_between(error)])
            step = Message("Check {setting} and the network.", setting=suspects)
        case openai.APIStatusError() if error.response.has_redirect_location:
            what = Message("the server has moved to {address}", address=error.response.headers["location"])
            step = check(server.url_setting)
        case openai.APIStatusError(status_code=400 | 413 | 422):
            what = Message("the request was refused ({reason})", reason=told(error.body) or error.message)
            step = Message("Check the model's limits.")
        case openai.InternalServerError():
            what = Message("the server failed (HTTP {status})", status=error.status_code)
            step = Message("Try again later.")
            if wait := retry_after(error.response):
                step = Message("Try again in {seconds} s.", seconds=math.ceil(wait))
        case httpx.TransportError():
            what, step = Message("the connection was lost"), TRY_AGAIN
        case json.JSONDecodeError():
            what, step = Message("the server's reply was malformed JSON"), TRY_AGAIN
        case ProviderError():
            what, step = error.message, error.next_step
    said = Message("Model {model}: {what}.", model=model, what=what)
    return ProviderError(said.cleaned(lambda text: text.replace(secret, "…")) if secret else said, step)


def those_set(names: Iterable[str]) -> list[str]:
    """The environment variables that are set, in capital or small letters."""
    return [name for name in names if os.environ.get(name) or os.environ.get(name.lower())]


def _between(error: openai.APIConnectionError) -> list[str]:
    """The environment variables that may keep a request from its server."""
    proxied = [] if urllib.request.proxy_bypass(error.request.url.host) else those_set(PROXIES)
    trusted = those_set(CERTIFICATES) or CERTIFICATES[:1]
    return [*proxied, *(trusted if "CERTIFICATE" in str(error.__cause__) else ())]


def _names_model(words: str, model: str) -> bool:
    return model.casefold() in words.casefold() or re.search(r"\bmodel\b", words, re.IGNORECASE) is not None


def told(body: object) -> str:
    """A server's own words, from the forms that errors have."""
    if isinstance(body, Mapping):
        for name in ("error", "message", "detail"):
            if body.get(name):
                return told(body[name])
    return body if isinstance(body, str) else "" if body is None else json.dumps(body)


def check(setting: str) -> Message:
    """The next step where a setting is likely to be wrong."""
    return Message("Check {setting}.", setting=setting)


def rejected_option(error: Exception, options: Collection[str]) -> str | None:
    """The option that made a server reject a request, by the error's `param` or its message; None for another reason."""
    if getattr(error, "status_code", None) not in (400, 422, 500, 501):
        return None
    message = f"{getattr(error, 'param', None) or ''} {error}"
    return min((option for option in options if option in message), key=message.index, default=None)


def api_key_of(model: object) -> str:
    """A model's key; empty for a short one, which is a placeholder ("none", "x") and could occur in any word."""
    key = str(getattr(model, "api_key", None) or "")
    return key if len(key) >= MIN_KEY_LENGTH else ""


def retry_after(response: httpx.Response) -> float | None:
    """The wait in seconds that a response asks for: OpenAI's retry-after-ms, or Retry-After (RFC 9110, section 10.2.3)."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            wait = unit * float(response.headers[name])
            return wait if math.isfinite(wait) and wait > 0 else None
    with suppress(TypeError, ValueError, OverflowError):  # no date, or none that exists
        date = email.utils.parsedate_tz(response.headers.get("retry-after", ""))
        wait = email.utils.mktime_tz(date) - time.time()
        return wait if wait > 0 else None
    return None
