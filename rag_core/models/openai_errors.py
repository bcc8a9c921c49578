"""What a provider's failure means, and what to do about it."""

from __future__ import annotations

from ..errors import ProviderError


def explained(error: Exception, model: str) -> ProviderError:
    """The failure in one sentence, with the next step."""
    import openai

    what, step = f"{type(error).__name__}: {error}", "Run `rag doctor`."
    match error:
        case openai.AuthenticationError():
            what, step = "the key was refused", "Check OPENAI_API_KEY."
        case openai.NotFoundError():
            what, step = "the server does not have this model", "Check RAG_ANSWER_MODEL and RAG_EMBEDDING."
        case openai.RateLimitError():
            what, step = "the provider's rate limit or quota is reached", "Wait, or check your plan."
        case openai.APITimeoutError():
            what, step = "no answer in time", "Try again, or raise RAG_TIMEOUT."
        case openai.APIConnectionError():
            what, step = "the server cannot be reached", "Check OPENAI_BASE_URL and the network."
        case openai.BadRequestError():
            what, step = f"the request was refused ({error.message})", "Check the model's limits."
        case openai.InternalServerError():
            what, step = f"the server failed (HTTP {error.status_code})", "Try again later."
    return ProviderError(f"Model {model}: {what}.", step)
