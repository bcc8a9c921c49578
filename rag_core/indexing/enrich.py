"""Contexts for passages, from a language model or the offline engine, and the questions that passages answer.

Query System with Contextual Retrieval, Contextual Enrichment; Anthropic, "Introducing Contextual Retrieval", 2024.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from ..documents.asked import Asked, change_asked, content_of, read_questions
from ..language.analysis import LANGUAGES, words_of
from ..language.questions import MAX_QUESTION, check_question
from ..language.thesaurus import Thesaurus
from ..prompts.prompt import CONTEXT_PROMPT, QUESTIONS_PROMPT, Block, Fields, Prompt, Template
from ..prompts.replies import COMPLETE, Restart
from ..prompts.templates import check_length
from ..runtime.run import stop_flag, using
from ..runtime.services import Llm
from ..runtime.spending import sent_once
from ..values.errors import InputError, RagError, Stopped, attach_calls_to_errors
from ..values.pricing import PriceList
from ..values.types import ModelCall, Passage
from .vectors import KeyValueCache, text_key
from .write_report import WriteReport

CACHE = "contexts.sqlite"  # in vectors/
OFFLINE = "offline"  # prefix of every offline enricher's key
MAX_CONTEXT_WORDS = 60  # longer ones would push much of a passage past what a model reads
MAX_DOCUMENT = 24_000  # characters of a document sent with a passage, about 6,000 tokens
DOCUMENT_START = 4_000  # of which from the start of a longer document; the rest surrounds the passage
CONCURRENCY = 8  # calls at a time
BATCH = 16  # calls between saves; if a batch fails completely, enrichment stops
CHARACTERS_PER_TOKEN = 4  # roughly, for estimates
REPLY_TOKENS = 60  # roughly, for estimates
EACH = 5  # questions of a passage: LlamaIndex's default; nDCG@10 rises little after them
QUESTION_TOKENS = 100  # roughly, for estimates
_NUMBER = re.compile(r"^\s*(?:\d{1,2}[.)]|[-*•])\s*")

RECIPE = "key-terms+thesaurus/1"  # part of an enriched index's identity: change it with the code below
KEY_TERMS = 8  # per document
CONCEPT_NAMES = 4  # per passage, in the other language
TITLE_WEIGHT = 2  # how often title and headings count

_Key = TypeVar("_Key")
CountProgress = Callable[[int, int], None]  # (done, total)


@dataclass(frozen=True, slots=True)
class DocumentPassages:
    """A document's text and its passages, in order."""

    document: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Enriched:
    """One context per passage, in order ("" where there is none, for a reason), and the calls made now."""

    contexts: tuple[str, ...]
    calls: tuple[ModelCall, ...] = ()
    reason: str = ""

    @property
    def without_context(self) -> int:
        return sum(not context for context in self.contexts) if self.reason else 0


@dataclass(frozen=True, slots=True)
class EnrichmentEstimate:
    """What a model would write, and its approximate US dollars, None if unknown; `known` passages have it already."""

    model: str
    calls: int
    known: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    what: str = "Contexts"


class Enricher(Protocol):
    """Writes contexts for passages; `key` is part of an index's identity."""

    @property
    def key(self) -> str: ...

    @property
    def own_prompt(self) -> str:
        """The user message that replaces the standard one; empty for the standard one."""

    def enrich(self, documents: Sequence[DocumentPassages], progress: CountProgress) -> Enriched:
        """One context for each passage of each document, in order."""


class OfflineEnricher:
    """Contexts without a model: the document's most frequent terms, and other-language names of the passage's concepts."""

    own_prompt = ""

    def __init__(self, thesaurus: Thesaurus) -> None:
        self._thesaurus = thesaurus
        self.key = f"{OFFLINE}/{RECIPE}/{thesaurus.digest}"

    def enrich(self, documents: Sequence[DocumentPassages], progress: CountProgress) -> Enriched:
        contexts: list[str] = []
        for done, source in enumerate(documents):
            progress(done, len(documents))
            contexts += offline_contexts(source.document, source.passages, self._thesaurus)
        return Enriched(tuple(contexts))


def offline_contexts(document: str, passages: Sequence[Passage], thesaurus: Thesaurus) -> list[str]:
    """The context of each passage of a document, one line each; may be empty."""
    terms = {
        language: key_terms(document, language, KEY_TERMS) for language in {passage.language for passage in passages}
    }
    return [
        " ".join(
            f"{', '.join(part)}."
            for part in (terms[passage.language], other_names(passage, thesaurus, CONCEPT_NAMES))
            if part
        )
        for passage in passages
    ]


def key_terms(text: str, language: str, most: int) -> list[str]:
    """The most frequent terms of a text, each in its most frequent form; ties go to the earliest."""
    words = [
        (word.stem, text[word.start : word.end].lower())
        for word in words_of(text, language)
        if not word.stop and len(word.form) > 1 and not word.form.isdigit()
    ]
    stems = _most_frequent((stem for stem, _ in words), most)
    return [_most_frequent((form for stem, form in words if stem == term), 1)[0] for term in stems]


def other_names(passage: Passage, thesaurus: Thesaurus, most: int) -> list[str]:
    """The other-language names of the concepts a passage names most often."""
    text = "\n".join([passage.full_title] * TITLE_WEIGHT + [passage.text])
    named = _most_frequent((found.concept.id for found in thesaurus.find(text, passage.language)), most)
    others = [code for code in LANGUAGES if code != passage.language] if passage.language in LANGUAGES else []
    return [thesaurus.concepts[identity].preferred(code) for identity in named for code in others]


def _most_frequent(items: Iterable[str], most: int) -> list[str]:
    return [item for item, _ in Counter(items).most_common(most)]


class LlmEnricher:
    """Contexts from a language model, several at a time; each is cached and never paid for twice.

    If a call fails, its passage has no context. If every call of a batch fails, enrichment stops. Raises ConfigError if
    the text lacks the passage, or has another field.

    Args:
        cache: file of cached contexts, shared by all models and corpora.
        announce: receives the estimate before the first call.
        text: the user message, with {passage}, and {title} and {document} if it needs them; empty for our own.
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
        """One context for each passage of each document; raises StorageError or Stopped, with the calls made so far."""
        prompts = [
            _prompt(self._template, source.document, passage) for source in documents for passage in source.passages
        ]
        keys = [text_key("\0".join((self._llm.name, prompt.system, prompt.render()))) for prompt in prompts]
        calls: list[ModelCall] = []
        reason = ""
        with attach_calls_to_errors(calls), self._cache.open() as database:
            contexts = self._cache.read(database, keys)
            missing = {key: prompt for key, prompt in zip(keys, prompts, strict=True) if key not in contexts}
            if missing:
                told = estimate("Contexts", self._llm, self._prices, missing.values(), len(contexts), REPLY_TOKENS)
                self._announce(told)
            for texts, why in replies(self._llm, missing, _shortened, progress, calls):
                written = {key: text.encode() for key, text in texts.items()}
                self._cache.write(database, written.items())
                contexts.update(written)
                reason = reason or why
        return Enriched(tuple(contexts.get(key, b"").decode() for key in keys), tuple(calls), reason)


def replies(
    llm: Llm,
    prompts: Mapping[_Key, Prompt],
    tidy: Callable[[str], str],
    progress: CountProgress,
    calls: list[ModelCall],
) -> Iterator[tuple[dict[_Key, str], str]]:
    """Tidied replies, BATCH at a time, and why one of the others is empty; ends after a batch of none.

    Raises Stopped, once what was written is kept. `calls` receives the calls made.
    """
    keys, stopped = list(prompts), stop_flag.get()
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        for start in range(0, len(keys), BATCH):
            progress(start, len(keys))
            batch = keys[start : start + BATCH]
            found = list(pool.map(lambda key: _ask(llm, prompts[key], tidy, stopped), batch))
            calls += [call for _, made, _ in found for call in made]
            texts = {key: text for key, (text, _, _) in zip(batch, found, strict=True) if text}
            yield texts, next((reason for _, _, reason in found if reason), "")
            if stopped():
                raise Stopped
            if not texts:
                break


def _ask(
    llm: Llm, prompt: Prompt, tidy: Callable[[str], str], stopped: Callable[[], bool]
) -> tuple[str, list[ModelCall], str]:
    """The reply, its calls, and why it is empty."""
    pieces: list[str] = []
    calls: list[ModelCall] = []
    try:
        with using(sent_once, True):  # the bill has one call for each
            for item in llm.stream(prompt, stopped):
                if isinstance(item, ModelCall):
                    calls.append(item)
                else:
                    if isinstance(item, Restart):
                        pieces.clear()
                    pieces.append(item)
    except Exception as error:  # one passage's failure must not lose the others
        reason = error.message if isinstance(error, RagError) else f"{type(error).__name__}: {error}"
        return "", calls, reason
    if calls and calls[-1].finish != COMPLETE:
        return "", calls, f"{llm.name}'s reply was incomplete ({calls[-1].finish})"
    text = tidy("".join(pieces))
    return text, calls, "" if text else f"{llm.name} wrote nothing"


def estimate(
    what: str, llm: Llm, prices: PriceList, prompts: Collection[Prompt], known: int, reply_tokens: int
) -> EnrichmentEstimate:
    """The expected cost of a model's replies to these prompts."""
    characters = sum(len(prompt.system) + len(prompt.render()) for prompt in prompts)
    sent, received = characters // CHARACTERS_PER_TOKEN, reply_tokens * len(prompts)
    cost = prices.cost_usd(llm.name, sent, received)
    return EnrichmentEstimate(llm.name, len(prompts), known, sent, received, cost, what)


def _shortened(text: str) -> str:
    return " ".join(text.split()[:MAX_CONTEXT_WORDS])


def context_template(text: str) -> Template:
    """The prompt for contexts with this user message, or our own; raises ConfigError if it is invalid."""
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
    if len(document) <= MAX_DOCUMENT:
        return document
    room = MAX_DOCUMENT - DOCUMENT_START
    at = max(document.find(passage.text[:80]), 0)
    start = max(DOCUMENT_START, at - room // 2)
    return f"{document[:DOCUMENT_START]}\n…\n{document[start : start + room]}"


def write_questions(
    path: Path,
    passages: Iterable[Passage],
    llm: Llm,
    prices: PriceList,
    announce: Callable[[EnrichmentEstimate], None],
    progress: CountProgress,
    each: int = EACH,
) -> WriteReport:
    """Ask a model for `each` questions of each passage that has none in the file at `path`; a changed text has none.

    Kept after each batch, so that a run that was killed goes on where it was. `announce` receives the estimate before
    the first call, and may raise. Raises as `change_asked`, and Stopped, with the calls made so far.
    """
    by_id = {one.id: one for one in passages}
    done = {content_of(one.passage) for one in read_questions(path)}
    missing = {
        name: QUESTIONS_PROMPT.fill(context_str=Block(f"{one.full_title}\n\n{one.text}"), num_questions=each)
        for name, one in by_id.items()
        if content_of(name) not in done
    }
    known = len(by_id) - len(missing)
    if not missing:
        return WriteReport(known, 0)
    announce(estimate("Questions", llm, prices, missing.values(), known, QUESTION_TOKENS))
    calls: list[ModelCall] = []
    reason, asked = "", 0
    with attach_calls_to_errors(calls):
        for texts, why in replies(llm, missing, str.strip, progress, calls):
            new = [
                Asked(name, by_id[name].language, one)
                for name, text in texts.items()
                for one in questions_in(text)[:each]
            ]
            _keep(path, new)
            answered = len({one.passage for one in new})
            asked += answered
            reason = reason or why or ("" if answered == len(texts) else f"{llm.name} wrote no question")
    return WriteReport(len(by_id), 0, llm.name, tuple(calls), len(missing) - asked, reason)


def _keep(path: Path, new: Sequence[Asked]) -> None:
    """Keep questions, in place of those of an earlier text at the same place."""
    places = {_place(one) for one in new}
    change_asked(path, lambda old: [*(one for one in old if _place(one) not in places), *new])


def _place(asked: Asked) -> str:
    return asked.passage.rpartition(":")[0]


def questions_in(reply: str) -> list[str]:
    """The questions in a model's reply, a line each, without numbers; at most EACH."""
    found = []
    for line in reply.splitlines():
        text = _NUMBER.sub("", line).strip(' *"“”')
        if "?" in text and len(text) <= MAX_QUESTION:
            try:
                found.append(check_question(text))
            except InputError:
                continue
    return list(dict.fromkeys(found))[:EACH]
