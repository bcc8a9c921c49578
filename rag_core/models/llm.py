"""Language models behind LlamaIndex's interface, streamed and billed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..context import Embedder
from ..errors import ConfigError, ProviderError
from ..pricing import PriceList
from ..prompts import Prompt
from ..settings import Settings
from ..types import ModelCall
from .openai_errors import AGAIN, explained, give_up_on_waits, rejects_usage
from .tokenizer import count_tokens

if TYPE_CHECKING:
    import httpx
    from llama_index.core.llms import LLM, ChatMessage, ChatResponse

CONTEXT_WINDOW = 32_768  # assumed for models LlamaIndex has no table entry for


class LlamaLlm:
    """A LlamaIndex model as the context's Llm.

    Args:
        reads_fields: the model is handed the prompt's fields beside its text (the offline engine).
        line: where the model's HTTP responses can be picked up.
    """

    def __init__(
        self,
        model: LLM,
        name: str,
        prices: PriceList,
        *,
        reads_fields: bool = False,
        line: Line | None = None,
    ) -> None:
        self.name = name
        self.model = model
        self._prices = prices
        self._reads_fields = reads_fields
        self._line = line or Line()
        self._secret = str(getattr(model, "api_key", None) or "")

    def stream(self, prompt: Prompt, stop: Callable[[], bool]) -> Iterator[str | ModelCall]:
        """Yield the reply piece by piece, then the bill.

        A stopped stream is closed at once, which ends the request; what was read is billed by the
        tokenizer, since the provider then sends no usage.

        Raises:
            ProviderError: the provider refused, failed or did not answer in time.
        """
        from llama_index.core.llms import ChatMessage

        text = prompt.render()
        messages = [ChatMessage(role="system", content=prompt.system), ChatMessage(role="user", content=text)]
        said: list[str] = []
        usage: dict[str, Any] = {}
        response = None
        finished = self._reads_fields  # the offline engine cannot break off
        extra = {"fields": prompt.fields} if self._reads_fields else {}
        try:
            for chunk in self._chunks(messages, extra):
                response = response or self._line.response  # made by this thread just now
                if chunk.delta:
                    said.append(chunk.delta)
                    yield chunk.delta
                if "prompt_tokens" in chunk.additional_kwargs:
                    usage = chunk.additional_kwargs
                finished = finished or _is_last(chunk.raw)
                if stop():
                    break
            else:
                if not finished:
                    raise ProviderError("the answer broke off before its end", AGAIN)
        except Exception as error:
            raise explained(error, self.name, self._secret) from None if self._secret else error
        finally:
            if response is not None:
                response.close()  # ends the request, also when nobody reads on
        yield self._bill(prompt, text, "".join(said), usage)

    def _chunks(self, messages: Sequence[ChatMessage], extra: dict[str, Any]) -> Iterator[ChatResponse]:
        """The streamed reply; a server that cannot tell usage is not asked for it again."""
        try:
            yield from self.model.stream_chat(messages, **extra)
            return
        except Exception as error:
            if not rejects_usage(error):
                raise
        self.model.additional_kwargs.pop("stream_options", None)  # type: ignore[attr-defined]  # OpenAI's
        yield from self.model.stream_chat(messages, **extra)

    def _bill(self, prompt: Prompt, text: str, said: str, usage: dict[str, Any]) -> ModelCall:
        if usage:
            sent, received = int(usage["prompt_tokens"]), int(usage["completion_tokens"])
        else:
            sent = count_tokens(prompt.system + text, self.name)
            received = count_tokens(said, self.name)
        cost = self._prices.cost_usd(self.name, sent, received)
        return ModelCall(
            prompt.purpose, self.name, sent, received, cost, "provider" if usage else "tokenizer"
        )


class Line(threading.local):
    """The last HTTP response of each thread, so that a stopped stream can be closed at once.

    Closing LlamaIndex's generator does not do it: the response stays open until it is collected.
    """

    response: httpx.Response | None = None

    def pick_up(self, response: httpx.Response) -> None:
        """An event hook of httpx: a response has begun."""
        self.response = response


def _is_last(raw: object) -> bool:
    """Whether a streamed chunk says that the model has finished."""
    choices = getattr(raw, "choices", None) or ()
    return any(getattr(choice, "finish_reason", None) for choice in choices)


def load_openai(settings: Settings, model: str, prices: PriceList) -> LlamaLlm:
    """An OpenAI model, or any model of an OpenAI-compatible server, at temperature 0.

    One retry: a silent server ends the call after about twice `settings.timeout`, three times when it
    first asks to wait; a wait longer than the timeout ends it at once. Between two pieces of a stream
    the same timeout holds.

    Raises:
        ConfigError: neither a key nor a base URL is set.
    """
    if settings.openai_api_key is None and settings.openai_base_url is None:
        raise ConfigError(
            f"The model {model} needs a provider.",
            "Set OPENAI_API_KEY or OPENAI_BASE_URL, or RAG_LLM=offline.",
        )
    from openai import DefaultHttpxClient

    line = Line()
    shared: dict[str, Any] = {
        "model": model,
        "temperature": 0.0,
        "api_key": settings.openai_api_key.get_secret_value() if settings.openai_api_key else "none",
        "timeout": settings.timeout,
        "max_retries": 1,
        "http_client": DefaultHttpxClient(
            event_hooks={"response": [line.pick_up, give_up_on_waits(settings.timeout)]}
        ),
        "additional_kwargs": {"stream_options": {"include_usage": True}},
    }
    if settings.openai_base_url is not None:
        from llama_index.llms.openai_like import OpenAILike

        return LlamaLlm(
            OpenAILike(
                api_base=settings.openai_base_url,
                is_chat_model=True,
                context_window=CONTEXT_WINDOW,
                is_function_calling_model=False,
                **shared,
            ),
            model,
            prices,
            line=line,
        )
    from llama_index.llms.openai import OpenAI

    return LlamaLlm(OpenAI(**shared), model, prices, line=line)


def load_llm(settings: Settings, model: str, prices: PriceList, embedder: Embedder) -> LlamaLlm:
    """The engine the settings ask for: a provider's model, or the offline engine in its place."""
    if settings.uses_openai:
        return load_openai(settings, model, prices)
    return load_offline(prices, embedder)


def load_offline(prices: PriceList, embedder: Embedder) -> LlamaLlm:
    """The offline engine."""
    from .offline import NAME, OfflineLLM

    return LlamaLlm(OfflineLLM(embedder), NAME, prices, reads_fields=True)
