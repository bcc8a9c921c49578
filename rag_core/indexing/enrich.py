"""Contexts for passages, by a language model or by the offline engine.

Query System with Contextual Retrieval, Contextual Enrichment; Anthropic, "Introducing Contextual Retrieval", 2024.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from ..language.thesaurus import Thesaurus
from ..offline.contexts import RECIPE, offline_contexts
from ..prompts.prompt import ENRICH, Block, Prompt
from ..runtime.services import Llm
from ..values.errors import RagError, attach_calls_to_errors
from ..values.pricing import PriceList
from ..values.types import ModelCall, Passage
from .key_value_cache import KeyValueCache, text_key

OFFLINE = "offline"  # begins the key of every offline enricher
MAX_CONTEXT_WORDS = 60  # plus a passage of 200 word pieces, this stays within the 256 MiniLM reads
MAX_DOCUMENT = 24_000  # characters of a document sent with a passage, about 6,000 tokens
DOCUMENT_START = 4_000  # of which from the start of a longer document; the rest surrounds the passage
CONCURRENCY = 8  # calls at a time
BATCH = 16  # calls between saves; if a batch fails completely, enrichment stops
CHARACTERS_PER_TOKEN = 4  # roughly, for estimates
REPLY_TOKENS = 60  # roughly, for estimates

CountProgress = Callable[[int, int], None]  # (done, total)


@dataclass(frozen=True, slots=True)
class DocumentPassages:
    """A document and its passages, in order."""

    document: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Enriched:
    """Contexts, and what they took.

    Args:
        contexts: one a passage, in order; empty where there is none.
        calls: those made now; contexts that are known cost nothing.
        reason: why passages have no context; empty when all have one.
    """

    contexts: tuple[str, ...]
    calls: tuple[ModelCall, ...] = ()
    reason: str = ""

    @property
    def without_context(self) -> int:
        """How many passages could not be given a context."""
        return sum(not context for context in self.contexts) if self.reason else 0


@dataclass(frozen=True, slots=True)
class EnrichmentEstimate:
    """What is about to be asked of a model.

    Args:
        known: passages whose context was written before and costs nothing.
        cost_usd: US dollars, about; None when the model's price is unknown.
    """

    model: str
    calls: int
    known: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None


class Enricher(Protocol):
    """Writes the contexts of passages; `key` names its engine and recipe, part of an index's identity."""

    @property
    def key(self) -> str:
        """Engine and recipe."""
        ...

    def enrich(self, documents: Sequence[DocumentPassages], progress: CountProgress) -> Enriched:
        """One context for each passage of each source."""
        ...


class OfflineEnricher:
    """Contexts without a language model: instant, free, the same every time."""

    def __init__(self, thesaurus: Thesaurus) -> None:
        self._thesaurus = thesaurus
        self.key = f"{OFFLINE}/{RECIPE}/{thesaurus.digest}"

    def enrich(self, documents: Sequence[DocumentPassages], progress: CountProgress) -> Enriched:
        """One context for each passage of each source."""
        contexts: list[str] = []
        for done, source in enumerate(documents):
            progress(done, len(documents))
            contexts += offline_contexts(source.document, source.passages, self._thesaurus)
        return Enriched(tuple(contexts))


class LlmEnricher:
    """Contexts by a language model, several at a time; each is kept as it comes and never paid twice.

    A call that fails leaves its passage plain. When every call of a batch fails, no more are made.

    Args:
        kept: file of the contexts written so far, of all models and corpora.
        announce: told what is about to be asked, before the first call.
    """

    def __init__(
        self,
        llm: Llm,
        prices: PriceList,
        kept: Path,
        announce: Callable[[EnrichmentEstimate], None] = lambda what: None,
    ) -> None:
        self.key = f"{llm.name}/{ENRICH.name}"
        self._llm = llm
        self._prices = prices
        self._kept = KeyValueCache(kept, "contexts", "written contexts")
        self._announce = announce

    def enrich(self, documents: Sequence[DocumentPassages], progress: CountProgress) -> Enriched:
        """One context for each passage of each source.

        Raises:
            StorageError: the file of kept contexts cannot be used.
            Stopped: `progress` raised it. Both carry the calls that were made.
        """
        prompts = [_prompt(source.document, passage) for source in documents for passage in source.passages]
        keys = [text_key("\0".join((self._llm.name, prompt.system, prompt.render()))) for prompt in prompts]
        calls: list[ModelCall] = []
        reason = ""
        with attach_calls_to_errors(calls), self._kept.open() as database:
            held = self._kept.read(database, keys)
            missing = {key: prompt for key, prompt in zip(keys, prompts, strict=True) if key not in held}
            if missing:
                self._announce(self._estimate(missing, known=len(held)))
            asked = list(missing)
            with ThreadPoolExecutor(CONCURRENCY) as pool:
                for start in range(0, len(asked), BATCH):
                    progress(start, len(asked))
                    batch = asked[start : start + BATCH]
                    replies = list(pool.map(self._ask, (missing[key] for key in batch)))
                    calls += [call for reply in replies for call in reply.calls]
                    written = {
                        key: reply.text.encode()
                        for key, reply in zip(batch, replies, strict=True)
                        if reply.text
                    }
                    self._kept.write(database, written.items())
                    held.update(written)
                    reason = reason or next((reply.reason for reply in replies if reply.reason), "")
                    if not written:
                        break
        return Enriched(tuple(held.get(key, b"").decode() for key in keys), tuple(calls), reason)

    def _ask(self, prompt: Prompt) -> _Reply:
        said: list[str] = []
        calls: list[ModelCall] = []
        try:
            for item in self._llm.stream(prompt, lambda: False):
                if isinstance(item, ModelCall):
                    calls.append(item)
                else:
                    said.append(item)
        except Exception as error:  # of any provider; one passage must not lose the others
            reason = error.message if isinstance(error, RagError) else f"{type(error).__name__}: {error}"
            return _Reply("", tuple(calls), reason)
        text = " ".join("".join(said).split()[:MAX_CONTEXT_WORDS])
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


def _prompt(document: str, passage: Passage) -> Prompt:
    return ENRICH.fill(
        title=passage.full_title, document=Block(_around(document, passage)), passage=Block(passage.text)
    )


def _around(document: str, passage: Passage) -> str:
    """A document, or of a long one its beginning and what stands around a passage."""
    if len(document) <= MAX_DOCUMENT:
        return document
    room = MAX_DOCUMENT - DOCUMENT_START
    at = max(document.find(passage.text[:80]), 0)
    start = max(DOCUMENT_START, at - room // 2)
    return f"{document[:DOCUMENT_START]}\n…\n{document[start : start + room]}"
