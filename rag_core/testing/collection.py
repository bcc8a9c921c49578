"""A dozen passages in memory, with a deterministic embedder, reranker and language model."""

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..documents.asked import Asked
from ..indexing.bm25 import Bm25Index
from ..language.analysis import tokens
from ..models.rehearsal import filled
from ..offline.asked import AskedIndex
from ..prompts.prompt import Prompt
from ..runtime.context import Context
from ..runtime.run import Run
from ..runtime.services import Services, TextKind
from ..values.labels import LabelRules
from ..values.types import Hit, ModelCall, Passage, Query, Ranking, Scale, Vectors

Reply = str | Exception | Callable[[Prompt], str]

_TEXTS = (
    ("Cats", "Cats sleep most of the day. They purr when they are happy."),
    ("Cats", "Cats hunt mice at night and rest in a warm basket."),
    ("Kittens", "Kittens drink milk. Kittens open their eyes after ten days."),
    ("Dogs", "Dogs bark at strangers and guard the house at night."),
    ("Dogs", "Dogs need a walk each day and fresh water."),
    ("Puppies", "Puppies sleep in a basket near the door."),
    ("Cats and dogs", "Cats and dogs can live in one house when they meet young."),
    ("Cats and dogs", "Cats and dogs fight when food is short. Feed them apart."),
    ("Birds", "Birds sing at dawn. Ducks swim and hens lay eggs."),
    ("Fish", "Fish swim in schools and never close their eyes."),
    # two with the same words: every score of theirs is a tie
    ("Horses", "Horses sleep on their feet in the stable."),
    ("Horses", "Horses sleep, on their feet, in the stable."),
    ("Ponies", "Horses sleep on their feet in the stable."),  # the same text in another document
)
PASSAGES = tuple(
    Passage(f"p{n:02d}", f"{title.lower().replace(' ', '-')}", title, text)
    for n, (title, text) in enumerate(_TEXTS, start=1)
)
_WORDS = ("basket", "night", "water", "house", "milk", "mice", "door", "food")


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


class BagOfWords:
    """An `Embedder`: words hashed to 256 axes and counted, L2-normalised. Equal words, equal vectors."""

    name = weights = key = "bag-of-words"
    server = ""
    local = True
    dimensions = 256

    def __init__(self) -> None:
        self.count: Callable[[str], int] = lambda text: len(text.split())

    def read(self, text: str, language: str = "") -> str:
        return text

    def embed(
        self, texts: Sequence[str], kind: TextKind = "query", languages: Sequence[str] = ()
    ) -> tuple[Vectors, tuple[ModelCall, ...]]:
        vectors = np.full((len(texts), self.dimensions), 1e-3, np.float32)
        for row, text in enumerate(texts):
            for word in _words(text):
                vectors[row, hashlib.sha256(word.encode()).digest()[0]] += 1
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors, (ModelCall("embed", self.name, sum(map(self.count, texts)), 0, 0.0, "tokenizer"),)


class MemoryIndex:
    """An `Index` of passages in memory: exact cosine search, and BM25 (Okapi)."""

    def __init__(self, passages: Sequence[Passage] = PASSAGES, embedder: BagOfWords | None = None) -> None:
        self.name = f"memory, {len(passages)} passages"
        self.passages = {passage.id: passage for passage in passages}
        texts = [passage.indexed_text for passage in passages]
        vectors, _ = (embedder or BagOfWords()).embed(texts, "passage")
        self._vectors = dict(zip(self.passages, vectors, strict=True))
        self._bm25 = Bm25Index.fit([tokens(text, "en") for text in texts])

    def dense(self, vector: Vectors, k: int) -> list[Hit]:
        scored = {name: float(held @ vector) for name, held in self._vectors.items()}
        return self._best(scored, k, "cosine")

    def lexical(self, text: str, k: int, k1: float, b: float) -> list[Hit]:
        names = list(self.passages)
        places, scores = self._bm25.best(tokens(text, "en"), k, k1, b)
        found = zip((names[place] for place in places), scores.tolist(), strict=True)
        return self._best(dict(found), k, "bm25")

    def document_frequency(self, text: str) -> int:
        return self._bm25.document_frequency(tokens(text, "en"))

    def vectors(self, ids: Sequence[str]) -> Vectors:
        return np.array([self._vectors[name] for name in ids], np.float32).reshape(len(ids), -1)

    def _best(self, scores: Mapping[str, float], k: int, scale: Scale) -> list[Hit]:
        best = sorted(scores, key=lambda name: (-scores[name], name))[:k]
        return [Hit(self.passages[name], scores[name], scale) for name in best]


class WordOverlap:
    """A reranker: how many words of the query a passage has."""

    name = key = "word-overlap"
    scale: Scale = "cross_encoder"

    def score(self, query: str, hits: Sequence[Hit]) -> tuple[list[float], ModelCall]:
        scores = [float(len({*_words(query)} & {*_words(hit.passage.indexed_text)})) for hit in hits]
        return scores, ModelCall("rerank", self.name, 10 * len(hits), 0, 0.0, "tokenizer")


class ScriptedLlm:
    """A language model that replies from a script or by rule, word by word, and keeps every prompt it was sent.

    By rule an answer quotes the first source and cites it; a judge's score is the share of the question's words that
    the source has; any other prompt gets its question back with one more word, which depends on the template, its
    temperature and its other fields.

    Args:
        replies: what to reply, in order, the last again and again; none: by rule. A reply is a text, a function of
            the prompt, or an exception to raise.
        templates: template name -> its only reply.
        cost_usd: of each call; None: unknown.
        offline: whether it stands for the offline engine.
    """

    name = key = "scripted"

    def __init__(
        self,
        *replies: Reply,
        templates: Mapping[str, Reply] | None = None,
        cost_usd: float | None = 0.25,
        offline: bool = False,
    ) -> None:
        self.replies: list[Reply] = list(replies) or [_by_rule]
        self.templates = dict(templates or {})
        self.cost_usd = cost_usd
        self.offline = offline
        self.prompts: list[Prompt] = []
        self._lock = threading.Lock()

    def stream(self, prompt: Prompt, stop: Callable[[], bool]) -> Iterator[str | ModelCall]:
        """Yield the reply word by word until stopped, then the bill: 100 tokens in, one out per word."""
        with self._lock:
            self.prompts.append(prompt)
            reply = self.templates.get(prompt.template.name)
            if not reply:
                reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        sent = 0
        for word in re.findall(r"\S+\s*", reply(prompt) if callable(reply) else reply):
            if stop():
                break
            sent += 1
            yield word
        yield ModelCall(prompt.purpose, self.name, 100, sent, self.cost_usd, "provider")


def _by_rule(prompt: Prompt) -> str:
    question, sources = str(prompt.fields.get("question", "")), prompt.fields.get("sources", ())
    found = {word for hit in sources for word in _words(hit.passage.indexed_text)}
    shared = {*_words(question)} & found
    if prompt.template.reply is not None or prompt.purpose == "judge":
        score = round(100 * len(shared) / max(1, len({*_words(question)})))
        shape = prompt.template.reply.model_fields if prompt.template.reply else {}
        reply = {name: filled(one.annotation, score, f"A score of {score}.") for name, one in shape.items()}
        return json.dumps(reply or {"score": score, "reason": f"{len(shared)} words shared."})
    if sources:
        first = next(iter(sources)).passage.text.partition(". ")[0].rstrip(".")
        return f"{first} [1]."
    others = sorted((name, str(value)) for name, value in prompt.fields.items() if name != "question")
    seed = f"{prompt.template.name} {prompt.template.temperature:g} {others}"
    return f"{question.rstrip('?')} {_WORDS[hashlib.sha256(seed.encode()).digest()[0] % len(_WORDS)]}"


def sample_services(passages: Sequence[Passage] = PASSAGES, llm: ScriptedLlm | None = None) -> Services:
    """Services on which every built-in strategy runs, over these passages; `llm` answers, rewrites and judges."""
    embedder, model = BagOfWords(), llm or ScriptedLlm()
    asked = [Asked(one.id, one.language, f"What about {one.text}") for one in passages]
    vectors = embedder.embed([one.question for one in asked])[0]
    enriched = [replace(one, context=f"From a leaflet on pets: {one.title}.") for one in passages]
    return Services(
        index=MemoryIndex(passages, embedder),
        enriched=MemoryIndex(enriched, embedder),
        asked=AskedIndex(asked, lambda: [vectors], embedder, {one.id: one for one in passages}),
        embedder=embedder,
        llms=dict.fromkeys(("answer", "rewrite", "judge"), model),
        labels=LabelRules({}),
        reranker=WordOverlap(),
        workers=1,
    )


def sample_context(services: Services | None = None, run: Run | None = None) -> Context:
    """What one stage sees, over `sample_services()` by default."""
    return Context(services or sample_services(), run or Run())


def ranking_of(
    scores: Mapping[str, float],
    *,
    query: str = "question",
    weight: float = 1.0,
    retriever: str = "",
    scale: Scale = "cosine",
) -> Ranking:
    """A ranking of made-up passages with these scores, best first; each passage's id is its text."""
    hits = [Hit(Passage(text, text, "", text), score, scale) for text, score in scores.items()]
    return Ranking.sort(Query(query, weight=weight), hits, "given", retriever)
