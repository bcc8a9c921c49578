"""Dry-run stand-ins for models and index: they send nothing, but count and price an upper bound.

No passage is found twice or dropped, no rewrite duplicates another, every structured reply is refused once and retried.
"""

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from ..prompts.prompt import Prompt
from ..runtime.services import Embedder, EmbedderOver, Reranker, TextKind
from ..values.pricing import PriceList
from ..values.types import Hit, ModelCall, Passage, Scale, Vectors
from .embedding import PROVIDER_BATCH, LlamaEmbedder
from .tokenizer import count_tokens

REPLY_TOKENS = 200  # assumed per reply; few are longer
MAX_DEPTH = 100  # most passages per search that any control requests


class RehearsedLlm:
    """A billed model's name and price, with replies that cause the most calls."""

    offline = False

    def __init__(self, name: str, prices: PriceList) -> None:
        self.name = self.key = name
        self._prices = prices

    def stream(self, prompt: Prompt, stop: Callable[[], bool]) -> Iterator[str | ModelCall]:
        """Yield a reply, then a call that costs more than nearly all real ones."""
        refused = prompt.fields.get("refused") == ""  # a retry is possible and not yet used
        yield "" if refused else _reply(prompt)
        sent = count_tokens(prompt.system + prompt.render(), self.name)
        cost = self._prices.cost_usd(self.name, sent, REPLY_TOKENS)
        yield ModelCall(prompt.purpose, self.name, sent, REPLY_TOKENS, cost, "tokenizer")


class RehearsedOffline:
    """The offline engine: replies are free, but rewrites embed the question for a search."""

    offline = True

    def __init__(self, name: str, embedder: Embedder) -> None:
        self.name = self.key = name
        self._embedder = embedder

    def stream(self, prompt: Prompt, stop: Callable[[], bool]) -> Iterator[str | ModelCall]:
        yield _reply(prompt)
        if prompt.purpose == "rewrite":
            yield from self._embedder.embed([str(prompt.fields["question"])])[1]
        yield ModelCall(prompt.purpose, self.name, 0, 0, 0.0, "tokenizer")


def _reply(prompt: Prompt) -> str:
    """A reply in the requested shape with top scores; otherwise text unique to the template."""
    if prompt.template.reply is None:
        return f"{prompt.template.name} {prompt.fields.get('question', '')}"
    question = f"{prompt.fields.get('question', '')} again"
    fields = prompt.template.reply.model_fields.items()
    return json.dumps({name: filled(field.annotation, 100, question) for name, field in fields})


def filled(annotation: Any, number: int, text: str) -> object:
    """A value for a field of a reply: the number, the last of several choices, or the text."""
    if annotation in (int, float):
        return number
    return get_args(annotation)[-1] if get_args(annotation) else text


class RehearsedEmbedder(EmbedderOver):
    """An embedding model's name and price; all texts are nearly alike, so that no threshold drops one."""

    _embedder: LlamaEmbedder

    def __init__(self, embedder: LlamaEmbedder, dimensions: int) -> None:
        super().__init__(embedder)
        self.local = embedder.local
        self.server = embedder.server
        self._dimensions = dimensions

    def embed(
        self, texts: Sequence[str], kind: TextKind = "query", languages: Sequence[str] = ()
    ) -> tuple[Vectors, tuple[ModelCall, ...]]:
        """(n, d) vectors, and a call for each request to the real model."""
        texts = [self.read(*pair) for pair in zip(texts, languages or [""] * len(texts), strict=True)]
        size = 1 if kind == "query" else PROVIDER_BATCH
        bills = [self._embedder.bill(texts[start : start + size]) for start in range(0, len(texts), size)]
        return np.array([self._vector(text) for text in texts], np.float32), tuple(bills)

    def _vector(self, text: str) -> Vectors:
        """Close to the first axis, like the vectors of `RehearsedIndex`, but different for each text."""
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
        vector = 1e-4 * np.random.default_rng(seed).normal(size=self._dimensions)
        vector[0] = 1.0
        unit: Vectors = (vector / np.linalg.norm(vector)).astype(np.float32)
        return unit


class RehearsedReranker:
    """A reranker's name and scale, without the work."""

    def __init__(self, reranker: Reranker) -> None:
        self.name = reranker.name
        self.key = reranker.key
        self.scale: Scale = reranker.scale

    def score(self, query: str, hits: Sequence[Hit]) -> tuple[list[float], ModelCall]:
        return [1.0] * len(hits), ModelCall("rerank", self.name, 0, 0, 0.0, "tokenizer")


class RehearsedIndex:
    """An index where every search finds different passages, as long as the longest real ones."""

    def __init__(self, name: str, passages: Iterable[Passage], dimensions: int) -> None:
        self.name = name
        self._dimensions = dimensions
        self._longest = sorted(passages, key=lambda passage: (-len(passage.indexed_text), passage.id))[:MAX_DEPTH]

    def dense(self, vector: Vectors, k: int) -> list[Hit]:
        return self._found(("dense", vector.tobytes()), k, "cosine")

    def lexical(self, text: str, k: int, k1: float, b: float) -> list[Hit]:
        return self._found(("lexical", text, k1, b), k, "bm25")

    def document_frequency(self, text: str) -> int:
        return len(self._longest)

    def vectors(self, ids: Sequence[str]) -> Vectors:
        return np.eye(1, self._dimensions, dtype=np.float32).repeat(len(ids), axis=0)

    def _found(self, search: Hashable, k: int, scale: Scale) -> list[Hit]:
        search_id = hashlib.sha256(repr(search).encode()).hexdigest()[:12]
        return [
            Hit(replace(passage, id=name, doc_id=name, text=f"{name} {passage.text}"), 1.0, scale)
            for name, passage in ((f"{search_id}:{place:03d}", one) for place, one in enumerate(self._longest[:k]))
        ]
