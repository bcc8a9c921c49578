"""What a provider's failure means, and what to do about it."""

from __future__ import annotations

import json

from ..errors import ProviderError

AGAIN = "Try again."


def explained(error: Exception, model: str, secret: str = "") -> ProviderError:
    """The failure in one sentence, with the next step.

    Args:
        secret: the key; taken out should the server repeat it.
    """
    import httpx
    import openai

    what, step = f"{type(error).__name__}: {error}", "Run `rag doctor`."
    match error:
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            what, step = "the key was refused", "Check OPENAI_API_KEY."
        case openai.NotFoundError():
            what, step = "the server does not have this model", "Check RAG_ANSWER_MODEL and RAG_EMBEDDING."
        case openai.RateLimitError():
            what, step = "the provider's rate limit or quota is reached", "Wait, or check your plan."
        case openai.APITimeoutError() | httpx.TimeoutException():
            what, step = "no answer in time", "Try again, or raise RAG_TIMEOUT."
        case openai.APIConnectionError():
            what, step = "the server cannot be reached", "Check OPENAI_BASE_URL and the network."
        case openai.BadRequestError():
            what, step = f"the request was refused ({error.message})", "Check the model's limits."
        case openai.InternalServerError():
            what, step = f"the server failed (HTTP {error.status_code})", "Try again later."
        case httpx.TransportError():
            what, step = f"the connection broke off ({type(error).__name__})", AGAIN
        case json.JSONDecodeError():
            what, step = "the server's reply could not be understood (broken JSON)", AGAIN
        case ProviderError():
            what, step = error.message, error.next_step
    if secret:
        what = what.replace(secret, "…")
    return ProviderError(f"Model {model}: {what}.", step)
