"""Language models from LlamaIndex, with streaming and billing: those of the settings, and a caller's own object."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from ..prompts.prompt import Prompt
from ..prompts.replies import COMPLETE, INCOMPLETE_STEP, Restart
from ..runtime.spending import payer, spent
from ..values.errors import ConfigError, ProviderError, SettingsError
from ..values.message import Message
from ..values.pricing import PriceList
from ..values.settings import Role, Server, Settings
from ..values.types import ModelCall
from .events import start_chat_event
from .openai.errors import OPENAI_SERVER, TRY_AGAIN, api_key_of, rejected_option, to_provider_error
from .openai.transport import Call, CallTracker
from .reply import Reply
from .tokenizer import count_tokens

if TYPE_CHECKING:
    from llama_index.core.llms import LLM, ChatMessage, ChatResponse

CONTEXT_WINDOW = 32_768  # assumed for models unknown to LlamaIndex
NO_TEMPERATURE = Message("the server does not accept a temperature; the model's default was used")
SCHEMA = "response_format"
# what servers say to a schema that they cannot follow, often without naming it
SCHEMA_REFUSED = (400, 422, 500)
STILL_REASONING = Message("the reply ended before the model had finished its reasoning")
# share, and tokens, that a server reports unread before it is noted: tokenizers differ by less, and no context is so small
UNREAD = 1 / 3, 256
# What ends a model's name: how it is packed or offered, as in llama3.2:latest, small.Q4_K_M.gguf or llama-3.1-8b:free, and
# before that its version, as in gpt-4o-2024-08-06 or mistral-large-2411
_OFFER = re.compile(
    r"(?:[-:]latest|-v\d:\d|:(?:free|nitro|floor|online|extended|\d\d?)|[-.:@](?:i?q\d\w*|b?f\d\d|gguf))+$"
)
_VERSION = re.compile(r"[-:@](\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{3,8})$")
_AZURE = ".azure.com"  # there a model is asked for by the name that its deployment was given
SENSELESS_USAGE = Message("the server's token counts make no sense; tokens were counted here")


class LlamaLlm:
    """A LlamaIndex model as the context's Llm.

    Args:
        openai: whether it uses OpenAI's protocol, which tells usage and why a reply ended, and so which are incomplete.
        tracker: tracks its HTTP client's requests, counted for the payer; None when there is no such client.
        keep_settings: whether to keep a custom model's temperature and request no format.
        configuration: hash of settings that prompts do not state.

    Attributes:
        provider: "openai", the host of another server, or a LlamaIndex package.
        key: model and server, to distinguish models with the same name on different servers.
    """

    offline = False

    def __init__(
        self,
        model: LLM,
        name: str,
        prices: PriceList,
        *,
        openai: bool = False,
        tracker: CallTracker | None = None,
        keep_settings: bool = False,
        server: Server | None = None,
        provider: str = "unknown",
        configuration: str = "",
        named_by: str = "",
    ) -> None:
        self.name = name
        self.provider = server.host if server else provider
        self.key = f"{name} at {server.address if server else provider}{configuration and f', {configuration}'}"
        self._server = server or OPENAI_SERVER
        self._named_by = named_by
        self.model = model
        self._prices = prices
        self._openai = openai
        self._tracker = tracker or CallTracker()
        self._counts_requests = tracker is not None
        self._keep_settings = keep_settings
        self._refused: set[str] = set()  # options
        self._begins_inside = False  # whether replies have begun with reasoning that no tag opened
        self._secret = api_key_of(model)

    def stream(self, prompt: Prompt, stop: Callable[[], bool]) -> Iterator[str | ModelCall]:
        """Yield the reply in pieces, then a call for each request that the provider did not refuse.

        A `Restart` takes the reply's place once all so far turns out to be the model's reasoning. The last call has the
        provider's usage, and whether the reply is complete (`ModelCall.finish`); the tokenizer counts requests without
        usage: retried, incomplete or stopped. Stopping closes the connection at once. A reply longer than
        `reply.MAX_REPLY` is not read to its end. Raises ProviderError, after the calls, if the provider failed or the
        reply is nothing but reasoning; LimitReached if a budget does not allow a request.
        """
        if not self._counts_requests:
            payer.get().start_call()
        from llama_index.core.llms import ChatMessage

        text = prompt.render()
        messages = [ChatMessage(role="user", content=text)]
        if prompt.system:
            messages.insert(0, ChatMessage(role="system", content=prompt.system))
        reply = Reply(says_end=self._openai, begins_inside=self._begins_inside)
        call = self._tracker.call = Call(stop)
        end_event = start_chat_event(prompt.system, text)
        try:
            for chunk in self._chunks(messages, self._options(prompt)):
                if (piece := reply.take(chunk.delta)) or isinstance(piece, Restart):
                    yield piece
                reply.note(chunk.raw, chunk.additional_kwargs)
                if stop() or reply.full:
                    break
            else:
                if piece := reply.take("", last=True):
                    yield piece
                if not reply.finish and not reply.reasoning.inside:
                    raise ProviderError(Message("the reply ended early"), TRY_AGAIN)
            if reply.no_answer and not stop():
                raise ProviderError(STILL_REASONING, INCOMPLETE_STEP)
        except Exception as error:
            # after Stop, the broken connection is ours; after the reply's end, only the usage is missing
            if not stop() and not (self._openai and reply.finish and not reply.no_answer):
                yield from (self._bill(prompt, text) for _ in range(call.unanswered))
                if reply.whole or call.accepted:
                    yield self._bill(prompt, text, reply)
                failure = to_provider_error(error, self.name, self._secret, self._server, self._named_by)
                raise failure from None if self._secret else error
        finally:
            self._begins_inside |= reply.reasoning.unopened
            end_event(reply.text, reply.usage(len(prompt.system) + len(text)) or ())
            if call.response is not None:
                call.response.close()  # also when the consumer stops reading
        yield from (self._bill(prompt, text) for _ in range(call.unanswered))
        if reply.whole or reply.finish or call.accepted:
            yield self._bill(prompt, text, reply)

    def _options(self, prompt: Prompt) -> dict[str, Any]:
        options: dict[str, Any] = {"stream_options": {"include_usage": True}} if self._openai else {}
        if self._keep_settings:
            return options
        options["temperature"] = prompt.template.temperature
        if prompt.template.reply:
            schema = prompt.template.reply.model_json_schema()
            json_schema = {"name": prompt.template.reply.__name__, "strict": True, "schema": schema}
            # OpenAI's strict structured output
            options[SCHEMA] = {"type": "json_schema", "json_schema": json_schema}
        return options

    def _chunks(self, messages: Sequence[ChatMessage], options: dict[str, Any]) -> Iterator[ChatResponse]:
        """The streamed reply; retried without any option that the server or model rejects.

        A schema is left out too when the server gives another reason, or none; from then on if that helped.
        """
        suspected: set[str] = set()
        while True:
            without = options.keys() & (self._refused | suspected)
            try:
                for chunk in self.model.stream_chat(messages, **_leaving_out(without, options)):
                    self._refused |= suspected
                    yield chunk
                return
            except Exception as error:
                sent = options.keys() - without
                if refused := rejected_option(error, sent):
                    self._refused.add(refused)
                elif SCHEMA in sent and getattr(error, "status_code", None) in SCHEMA_REFUSED:
                    suspected.add(SCHEMA)
                else:
                    raise

    def _bill(self, prompt: Prompt, text: str, reply: Reply | None = None) -> ModelCall:
        """The call for one request, noted as spent; without a reply, one that got none."""
        reported = reply.usage(len(prompt.system) + len(text)) if reply else None
        counted = count_tokens(prompt.system + text, self.name)
        sent, received = reported or (counted, count_tokens(reply.whole if reply else "", self.name))
        notes = [NO_TEMPERATURE] if "temperature" in self._refused else []
        if reply and reply.reports_usage and not reported:
            notes.append(SENSELESS_USAGE)
        if reply and reported and not reply.cached and counted - sent > max(counted * UNREAD[0], UNREAD[1]):
            notes.append(
                Message(
                    "the server read {read} of about {sent} tokens, so that instructions or passages may be missing; raise "
                    "the length of its context (num_ctx in Ollama)",
                    read=sent,
                    sent=counted,
                )
            )
        if reply and reply.model and _AZURE not in self.provider and not _is_same(reply.model, self.name):
            notes.append(Message("the server says that its model {other} answered", other=reply.model))
        call = ModelCall(
            prompt.purpose,
            self.name,
            sent,
            received,
            self._prices.cost_usd(self.name, sent, received),
            "provider" if reported else "tokenizer",
            Message.joined(notes, "; ") if notes else "",
            reply.finish if reply else COMPLETE,
        )
        spent([call])
        return call


def _is_same(name: str, other: str) -> bool:
    """Whether two names can be of one model: with the same letters and figures, and not of two versions."""
    (letters, version), (others, other_version) = map(_letters_and_version, (name, other))
    return letters == others and (version == other_version or not (version and other_version))


def _letters_and_version(name: str) -> tuple[str, str]:
    # below a folder, or as in us.anthropic.claude
    last = re.split(r"[/\\]|[a-z]+\.(?=[a-z])", _OFFER.sub("", name.casefold().rstrip("/\\")))[-1]
    letters, *version = _VERSION.split(last)
    return re.sub(r"[\W_]", "", letters), "".join(version)


def _leaving_out(names: Set[str], options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options with some marked as omitted; LlamaIndex would fill a missing one with its default."""
    if not names:
        return options
    from openai import omit

    return {name: omit if name in names else option for name, option in options.items()}


def load_openai(settings: Settings, model: str, prices: PriceList, role: Role = "answer") -> LlamaLlm:
    """A role's model on OpenAI or an OpenAI-compatible server; prompts set the temperature.

    Every call ends. With one retry, an unanswered call fails after about 2x `settings.timeout`; 3x if asked to wait first,
    at once if for more than 1x. The timeout also applies between two pieces of a reply, which is cut off after 10x.
    """
    server = settings.server(role)
    if server is None:
        raise SettingsError(
            Message("The model {model} needs a provider.", model=model),
            Message("Set OPENAI_API_KEY or OPENAI_BASE_URL, or RAG_LLM=offline."),
        )

    # whole, before its parts: of two threads that import parts of it at once, one can meet a half-made module
    import llama_index.core  # noqa: F401
    from llama_index.llms.openai import OpenAI

    from .openai.client import client_options

    # the tokenizer takes up to a second to load, and Stop must not wait for it
    threading.Thread(target=count_tokens, args=("", model), daemon=True).start()
    tracker = CallTracker()
    shared = {"model": model, **client_options(settings, server.key, tracker)}
    if server.url is not None:
        from llama_index.llms.openai_like import OpenAILike

        client: OpenAI = OpenAILike(
            api_base=server.url,
            is_chat_model=True,
            context_window=CONTEXT_WINDOW,
            is_function_calling_model=False,
            **shared,
        )
    else:
        client = OpenAI(**shared)
    return LlamaLlm(client, model, prices, openai=True, tracker=tracker, server=server, named_by=settings.naming(model))


def wrap_custom_llm(model: Any, prices: PriceList) -> LlamaLlm:
    """Wrap a LlamaIndex LLM, an object with `stream_chat`, or a LangChain model; it keeps its temperature.

    OpenAI models are asked for usage; where a model reports none, the tokenizer counts. ConfigError for any other object.
    """
    kind = type(model)
    of_langchain = any(base.__module__.startswith("langchain_core.language_models") for base in kind.__mro__)
    if isinstance(model, type) or not (of_langchain or callable(getattr(model, "stream_chat", None))):
        raise ConfigError(
            f"A model of type {kind.__name__} cannot be used: it has no stream_chat.",
            "Pass a LlamaIndex LLM, such as llama_index.llms.openai.OpenAI(model='gpt-4o'), or a LangChain chat model.",
        )
    from llama_index.llms.openai import OpenAI

    openai = isinstance(model, OpenAI)  # and OpenAILike
    kept = model.model_dump(exclude={"api_key"}) if isinstance(model, BaseModel) else repr(model)
    configuration = json.dumps(kept, sort_keys=True, default=repr)
    server = Server(str(model.api_base), None) if openai else None
    return LlamaLlm(
        cast(Any, _OfLangChain(model) if of_langchain else model),
        model_name_of(model),
        prices,
        keep_settings=True,
        openai=openai,
        server=server,
        provider=provider_name_of(model),
        configuration=hashlib.sha256(configuration.encode()).hexdigest()[:8],
    )


class _OfLangChain:
    """A LangChain chat model with LlamaIndex's `stream_chat`; neither library knows of the other."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def stream_chat(self, messages: Sequence[ChatMessage]) -> Iterator[ChatResponse]:
        """The reply in pieces, with the tokens that the provider counted."""
        from llama_index.core.base.llms.types import ChatMessage, ChatResponse

        for chunk in self._model.stream([(one.role.value, one.content) for one in messages]):
            used = chunk.usage_metadata or {}
            names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
            counted = {ours: used[theirs] for ours, theirs in names.items() if theirs in used}
            piece = ChatMessage(role="assistant", content=str(chunk.text))
            yield ChatResponse(message=piece, delta=str(chunk.text), additional_kwargs=counted)


def model_name_of(model: Any) -> str:
    """A model's own name, or its class name."""
    for attribute in ("model", "model_name"):  # first: OpenAI's metadata raises for unknown model names
        name = getattr(model, attribute, None)
        if isinstance(name, str) and name:
            return name
    name = getattr(getattr(model, "metadata", None), "model_name", "unknown")
    return type(model).__name__ if name == "unknown" else str(name)


def provider_name_of(model: object) -> str:
    """The provider of a model with an unknown server, from its LlamaIndex or LangChain package, such as "ollama"."""
    parts = type(model).__module__.split(".")
    return parts[2] if parts[:2] == ["llama_index", "llms"] else parts[0].removeprefix("langchain_")
