"""The offline engine in a language model's place, without LlamaIndex: its import takes longer than an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..models.events import start_chat_event
from ..models.openai.errors import to_provider_error
from ..models.reply import Reply
from ..models.tokenizer import count_fallback
from ..prompts.prompt import Prompt
from ..values.pricing import PriceList
from ..values.types import ModelCall
from . import NAME
from .engine import OfflineEngine


class OfflineLlm:
    """The offline engine as an Llm: it replies to a prompt's fields; `configuration` hashes what else it depends on."""

    name = NAME
    provider = "offline"
    offline = True

    def __init__(self, engine: OfflineEngine, prices: PriceList, configuration: str = "") -> None:
        self.key = f"{NAME} at {self.provider}{configuration and f', {configuration}'}"
        self._engine = engine
        self._prices = prices

    def stream(self, prompt: Prompt, stop: Callable[[], bool]) -> Iterator[str | ModelCall]:
        """Yield the reply by sections, then its embedding calls and its own; ProviderError comes after these."""
        text, reply = prompt.render(), Reply(says_end=False)
        inside: list[ModelCall] = []  # its embeddings, which a provider may bill
        end_event = start_chat_event(prompt.system, text)
        try:
            for part in self._engine.reply(prompt.template.name, prompt.fields, prompt.sample, inside):
                if piece := reply.take(part):
                    yield piece
                if stop() or reply.full:
                    break
            else:
                if piece := reply.take("", last=True):
                    yield piece
        except Exception as error:
            if not stop():
                yield from inside
                if reply.text:
                    yield self._bill(prompt, text, reply)
                raise to_provider_error(error, NAME) from error
        finally:
            end_event(reply.text, ())
        yield from inside
        yield self._bill(prompt, text, reply)

    def _bill(self, prompt: Prompt, text: str, reply: Reply) -> ModelCall:
        sent, received = count_fallback([prompt.system + text, reply.text])
        cost = self._prices.cost_usd(NAME, sent, received)
        return ModelCall(prompt.purpose, NAME, sent, received, cost, "tokenizer", finish=reply.finish)
