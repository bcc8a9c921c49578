"""Provider errors: what they mean, what to do about them, and when to retry."""

from __future__ import annotations

import email.utils
import json
import math
import time
from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING

from ...values.errors import ProviderError
from ...values.settings import Server

if TYPE_CHECKING:
    import httpx

TRY_AGAIN = "Try again."
PLACEHOLDER_KEY = "none"  # sent to servers that need no key
OPENAI_SERVER = Server(None, None)
CHOSEN = "Check its name where it was chosen: in the column's settings, or after --model."
MIN_KEY_LENGTH = 8  # characters


def to_provider_error(
    error: Exception,
    model: str,
    secret: str = "",
    server: Server = OPENAI_SERVER,
    named_by: str = "",
) -> ProviderError:
    """A ProviderError for a failure: one sentence and the next step.

    Args:
        secret: the key; removed if the server's message repeats it.
        server: names the settings to check.
        named_by: the settings that name the model; empty if none does, as for one chosen for a column.
    """
    import httpx
    import openai

    if isinstance(error.__cause__, ProviderError):  # ours, which OpenAI's client takes for a lost connection
        error = error.__cause__
    what, step = f"{type(error).__name__}: {error}", "Run `rag doctor`."
    match error:
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            what, step = "the key was refused", f"Check {server.key_setting}."
        case openai.NotFoundError():
            what = "the server does not have this model"
            step = f"Check {named_by}." if named_by else CHOSEN
        case openai.RateLimitError():
            wait = retry_after(error.response)
            what = "the provider's rate limit or quota was reached"
            step = f"Wait{f' {math.ceil(wait)} s' if wait else ''}, or check your plan."
        case openai.APITimeoutError() | httpx.TimeoutException():
            what, step = "the request timed out", "Try again, or raise RAG_TIMEOUT."
        case openai.APIConnectionError():
            what, step = "the server cannot be reached", f"Check {server.url_setting} and the network."
        case openai.BadRequestError() | openai.UnprocessableEntityError():
            what, step = f"the request was refused ({error.message})", "Check the model's limits."
        case openai.InternalServerError():
            wait = retry_after(error.response)
            what = f"the server failed (HTTP {error.status_code})"
            step = f"Try again {f'in {math.ceil(wait)} s' if wait else 'later'}."
        case httpx.TransportError():
            what, step = f"the connection was lost ({type(error).__name__})", TRY_AGAIN
        case json.JSONDecodeError():
            what, step = "the server's reply was malformed JSON", TRY_AGAIN
        case ProviderError():
            what, step = error.message, error.next_step
    if secret:
        what = what.replace(secret, "…")
    return ProviderError(f"Model {model}: {what}.", step)


def rejected_option(error: Exception, options: Collection[str]) -> str | None:
    """The option that made a server reject a request; None when the reason was something else.

    Taken from the error's `param`, or else the first option named in its message.
    """
    if getattr(error, "status_code", None) not in (400, 422):
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
