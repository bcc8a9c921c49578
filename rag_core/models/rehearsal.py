"""Stand-ins for billed models: they count and price what would be sent, and send nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..context import Embedder, Kind, Llm
from ..pricing import PriceList
from ..prompts import Prompt
from ..types import ModelCall, Vectors
from .tokenizer import count_tokens

REPLY_TOKENS = 50  # least length assumed of a reply; seed 001 counts about as many for a rewrite


class RehearsedLlm:
    """The offline engine's replies under a billed model's name and price."""

    offline = False

    def __init__(self, name: str, prices: PriceList, offline: Llm) -> None:
        self.name = name
        self._prices = prices
        self._offline = offline

    def stream(self, prompt: Prompt, stop: Callable[[], bool]) -> Iterator[str | ModelCall]:
        """Yield a reply, then the bill the real model would have sent for about as long a one."""
        reply = "".join(piece for piece in self._offline.stream(prompt, stop) if isinstance(piece, str))
        yield reply
        sent = count_tokens(prompt.system + prompt.render(), self.name)
        received = max(count_tokens(reply, self.name), REPLY_TOKENS)
        cost = self._prices.cost_usd(self.name, sent, received)
        yield ModelCall(prompt.purpose, self.name, sent, received, cost, "tokenizer")


class RehearsedEmbedder:
    """Random vectors under a billed embedding model's name and price; equal texts give equal vectors."""

    local = False

    def __init__(self, embedder: Embedder, dimensions: int, prices: PriceList) -> None:
        self.name = embedder.name
        self.key = embedder.key
        self.count = embedder.count
        self._dimensions = dimensions
        self._prices = prices

    def embed(self, texts: Sequence[str], kind: Kind = "query") -> tuple[Vectors, ModelCall]:
        """(n, d) L2-normalised vectors, and the bill the real model would have sent."""
        seeds = [int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]) for text in texts]
        drawn = [np.random.default_rng(seed).normal(size=self._dimensions) for seed in seeds]
        vectors = np.array([vector / np.linalg.norm(vector) for vector in drawn], np.float32)
        tokens = sum(self.count(text) for text in texts)
        cost = self._prices.cost_usd(self.name, tokens, 0)
        return vectors, ModelCall("embed", self.name, tokens, 0, cost, "tokenizer")
