"""Contexts for passages, from a language model or the offline engine.

Query System with Contextual Retrieval, Contextual Enrichment; Anthropic, "Introducing Contextual Retrieval", 2024.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ..language.thesaurus import Thesaurus
from ..offline.contexts import RECIPE, offline_contexts
from ..prompts.prompt import CONTEXT_PROMPT, Block, Fields, Prompt, Template
from ..prompts.replies import COMPLETE, Restart
from ..prompts.templates import check_length
from ..runtime.run import stop_flag
from ..runtime.services import Llm
from ..values.errors import RagError, Stopped, attach_calls_to_errors
from ..values.pricing import PriceList
from ..values.types import ModelCall, Passage
from .key_value_cache import KeyValueCache, text_key

CACHE = "contexts.sqlite"  # in vectors/
OFFLINE = "offline"  # prefix of every offline enricher's key
MAX_CONTEXT_WORDS = 60  # longer ones would push much of a passage past what a model reads
MAX_DOCUMENT = 24_000  # characters of a document sent with a passage, about 6,000 tokens
DOCUMENT_START = 4_000  # of which from the start of a longer document; the rest surrounds the passage
CONCURRENCY = 8  # calls at a time
BATCH = 16  # calls between saves; if a batch fails completely, enrichment stops
CHARACTERS_PER_TOKEN = 4  # roughly, for estimates
REPLY_TOKENS = 60  # roughly, for estimates

CountProgress = Callable[[int, int], None]  # (done, total)


@dataclass(frozen=True, slots=True)
class DocumentPassages:
    """A document's text and its passages, in order."""

    document: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Enriched:
    """Contexts, and the calls behind them.

    Args:
        contexts: one per passage, in order; empty where there is none.
        calls: the calls made now; cached contexts cost nothing.
        reason: why some passages have no context; empty when all have one.
    """

    contexts: tuple[str, ...]
    calls: tuple[ModelCall, ...] = ()
    reason: str = ""

    @property
    def without_context(self) -> int:
        """Number of passages whose context failed."""
        return sum(not context for context in self.contexts) if self.reason else 0


@dataclass(frozen=True, slots=True)
class EnrichmentEstimate:
    """The expected size and cost of an enrichment.

    Args:
        known: passages with a cached context, at no cost.
        cost_usd: approximate US dollars; None when the model's price is unknown.
    """

    model: str
    calls: int
    known: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


class Enricher(Protocol):
    """Writes contexts for passages; `key` is part of an index's identity."""

    @property
    def key(self) -> str:
        """Engine and recipe."""
        ...

    @property
    def own_prompt(self) -> str:
        """The user message that replaces the standard one; empty for the standard one."""
        ...

    def enrich(self, documents: Sequence[DocumentPassages], progress: CountProgress) -> Enriched:
        """One context for each passage of each document."""
        ...


class OfflineEnricher:
    """Contexts without a language model: instant, free and deterministic."""

    own_prompt = ""

    def __init__(self, thesaurus: Thesaurus) -> None:
        self._thesaurus = thesaurus
        self.key = f"{OFFLINE}/{RECIPE}/{thesaurus.digest}"

    def enrich(self, documents: Sequence[DocumentPassages], progress: CountProgress) -> Enriched:
        """One context for each passage of each document."""
        contexts: list[str] = []
        for done, source in enumerate(documents):
            progress(done, len(documents))
            contexts += offline_contexts(source.document, source.passages, self._thesaurus)
        return Enriched(tuple(contexts))


class LlmEnricher:
    """Contexts from a language model, several at a time; each is cached and never paid for twice.

    If a call fails, its passage has no context. If every call of a batch fails, enrichment stops.

    Args:
        cache: file of cached contexts, shared by all models and corpora.
        announce: receives the estimate before the first call.
        text: the user message, with {passage}, and {title} and {document} if it needs them; empty for our own.

    Raises:
        ConfigError: the text lacks the passage, or has another field.
    """

    def __init__(
        self,
        llm: Llm,
        prices: PriceList,
        cache: Path,
        announce: Callable[[EnrichmentEstimate], None] = lambda what: None,
        text: str = "",
    ) -> None:
        self._template = context_template(text)
        digest = hashlib.sha256(self._template.text.encode()).hexdigest()[:8]
        self.own_prompt = "" if self._template == CONTEXT_PROMPT else self._template.text
        self.key = f"{llm.name}/{CONTEXT_PROMPT.name}{f'-{digest}' if self.own_prompt else ''}"
        self._llm = llm
        self._prices = prices
        self._cache = KeyValueCache(cache, "contexts", "cached contexts")
        self._announce = announce

    def enrich(self, documents: Sequence[DocumentPassages], progress: CountProgress) -> Enriched:
        """One context for each passage of each document.

        Raises:
            StorageError: the cache file cannot be used.
            Stopped: raised by `progress`. Both carry the calls made so far.
        """
        prompts = [
            _prompt(self._template, source.document, passage)
            for source in documents
            for passage in source.passages
        ]
        keys = [text_key("\0".join((self._llm.name, prompt.system, prompt.render()))) for prompt in prompts]
        calls: list[ModelCall] = []
        reason = ""
        with attach_calls_to_errors(calls), self._cache.open() as database:
            contexts = self._cache.read(database, keys)
            missing = {key: prompt for key, prompt in zip(keys, prompts, strict=True) if key not in contexts}
            if missing:
                self._announce(self._estimate(missing, known=len(contexts)))
            keys_to_write = list(missing)
            stopped = stop_flag.get()
            with ThreadPoolExecutor(CONCURRENCY) as pool:
                for start in range(0, len(keys_to_write), BATCH):
                    progress(start, len(keys_to_write))
                    batch = keys_to_write[start : start + BATCH]
                    replies = list(pool.map(lambda key: self._ask(missing[key], stopped), batch))
                    calls += [call for reply in replies for call in reply.calls]
                    written = {
                        key: reply.text.encode()
                        for key, reply in zip(batch, replies, strict=True)
                        if reply.text
                    }
                    self._cache.write(database, written.items())
                    if stopped():
                        raise Stopped
                    contexts.update(written)
                    reason = reason or next((reply.reason for reply in replies if reply.reason), "")
                    if not written:
                        break
        return Enriched(tuple(contexts.get(key, b"").decode() for key in keys), tuple(calls), reason)

    def _ask(self, prompt: Prompt, stopped: Callable[[], bool]) -> _Reply:
        pieces: list[str] = []
        calls: list[ModelCall] = []
        try:
            for item in self._llm.stream(prompt, stopped):
                if isinstance(item, ModelCall):
                    calls.append(item)
                else:
                    if isinstance(item, Restart):
                        pieces.clear()
                    pieces.append(item)
        except Exception as error:  # one passage's failure must not lose the others
            reason = error.message if isinstance(error, RagError) else f"{type(error).__name__}: {error}"
            return _Reply("", tuple(calls), reason)
        if calls and calls[-1].finish != COMPLETE:
            return _Reply("", tuple(calls), f"{self._llm.name}'s reply was incomplete ({calls[-1].finish})")
        text = " ".join("".join(pieces).split()[:MAX_CONTEXT_WORDS])
        return _Reply(text, tuple(calls), "" if text else f"{self._llm.name} wrote nothing")

    def _estimate(self, missing: Mapping[bytes, Prompt], known: int) -> EnrichmentEstimate:
        characters = sum(len(prompt.system) + len(prompt.render()) for prompt in missing.values())
        sent, received = characters // CHARACTERS_PER_TOKEN, REPLY_TOKENS * len(missing)
        cost = self._prices.cost_usd(self._llm.name, sent, received)
        return EnrichmentEstimate(self._llm.name, len(missing), known, sent, received, cost)


@dataclass(frozen=True, slots=True)
class _Reply:
    text: str
    calls: tuple[ModelCall, ...]
    reason: str = ""


def context_template(text: str) -> Template:
    """The prompt for contexts with this user message; our own for none.

    Raises:
        ConfigError: the text is too long, lacks the passage, or has another field.
    """
    if not text.strip():
        return CONTEXT_PROMPT
    check_length(CONTEXT_PROMPT.name, text)
    template = replace(CONTEXT_PROMPT, text=text.strip())
    Fields(("passage",), ("title", "document")).check("Enrichment", template)
    return template


def _prompt(template: Template, document: str, passage: Passage) -> Prompt:
    return template.fill(
        title=passage.full_title, document=Block(_around(document, passage)), passage=Block(passage.text)
    )


def _around(document: str, passage: Passage) -> str:
    """A document; for a long one, its start and the text around a passage."""
    if len(document) <= MAX_DOCUMENT:
        return document
    room = MAX_DOCUMENT - DOCUMENT_START
    at = max(document.find(passage.text[:80]), 0)
    start = max(DOCUMENT_START, at - room // 2)
    return f"{document[:DOCUMENT_START]}\n…\n{document[start : start + room]}"
