"""Vectors of passages and sentences, remembered: what was embedded at indexing is not embedded again."""

import functools
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..language.analysis import language_of, tokens
from ..runtime.services import Embedder, EmbedderOver, TextKind
from ..values.errors import RagError
from ..values.types import ModelCall, Passage, Vectors
from .quotable import blocks


class MeteredEmbedder(EmbedderOver):
    """An embedding model that adds its calls to a list, including those of failures."""

    def __init__(self, embedder: Embedder, calls: list[ModelCall]) -> None:
        super().__init__(embedder)
        self._calls = calls

    def embed(
        self, texts: Sequence[str], kind: TextKind = "query", languages: Sequence[str] = ()
    ) -> tuple[Vectors, tuple[ModelCall, ...]]:
        try:
            vectors, calls = super().embed(texts, kind, languages)
        except RagError as error:
            self._calls += error.calls
            raise
        self._calls += calls
        return vectors, calls


CACHE_SIZE = 32_768  # vectors; at 384 dimensions 50 MB
CACHED_TERMS = 8192  # texts
TITLE = 0.5  # weight of a title's vector added to those of its sentences, which it says the subject of

Stored = Callable[[Sequence[str]], Mapping[str, Vectors]]  # texts as read -> (d,) vectors, of those stored
Keep = Callable[[Mapping[str, Vectors]], None]  # stores more of them


class RememberingEmbedder(EmbedderOver):
    """An embedding model that remembers `size` vectors by the text as read. Thread-safe.

    One thread embeds at a time, and reuses what another has just embedded, or `stored` has. What is embedded as a
    passage, which passages and their sentences and titles are, goes to `keep`; a question or an answer does not.
    """

    def __init__(
        self,
        embedder: Embedder,
        stored: Stored = lambda texts: {},
        keep: Keep = lambda vectors: None,
        size: int = CACHE_SIZE,
    ) -> None:
        super().__init__(embedder)
        self._read = functools.lru_cache(maxsize=size)(embedder.read)
        self._stored = stored
        self._keep = keep
        self._size = size
        self._vectors: OrderedDict[tuple[TextKind, str], Vectors] = OrderedDict()
        self._lock = threading.Lock()
        self._embedding = threading.Lock()

    def read(self, text: str, language: str = "") -> str:
        """As of the model; a language is detected each time, for what it is depends on the corpus (`assuming`)."""
        return self._read(text, language or language_of(text))

    def embed(
        self, texts: Sequence[str], kind: TextKind = "query", languages: Sequence[str] = ()
    ) -> tuple[Vectors, tuple[ModelCall, ...]]:
        """(n, d) L2-normalised vectors of n texts, and the calls for those embedded now."""
        pairs = list(zip(texts, languages or [""] * len(texts), strict=True))
        read = [self.read(*pair) for pair in pairs]
        found = self._recall(kind, read)
        calls: tuple[ModelCall, ...] = ()
        if len(found) < len(set(read)):
            with self._embedding:
                found |= self._recall(kind, [text for text in read if text not in found])
                missing = {text: pair for text, pair in zip(read, pairs, strict=True) if text not in found}
                fresh: dict[str, Vectors] = {}
                if kind == "passage":
                    fresh |= self._stored([*missing])
                left = [pair for text, pair in missing.items() if text not in fresh]
                if left:
                    written, spoken = zip(*left, strict=True)
                    vectors, calls = super().embed(written, kind, spoken)
                    new = dict(zip((text for text in missing if text not in fresh), vectors, strict=True))
                    if kind == "passage":
                        self._keep(new)
                    fresh |= new
                with self._lock:
                    self._vectors.update(((kind, text), vector) for text, vector in fresh.items())
                    while len(self._vectors) > self._size:
                        self._vectors.popitem(last=False)
                found |= fresh
        return np.array([found[text] for text in read], np.float32), calls

    def _recall(self, kind: TextKind, texts: Sequence[str]) -> dict[str, Vectors]:
        with self._lock:
            found = {text: self._vectors[kind, text] for text in texts if (kind, text) in self._vectors}
            for text in found:
                self._vectors.move_to_end((kind, text))
        return found


def sentences_of(passage: Passage) -> tuple[str, ...]:
    """The sentences of a passage, as answers quote them."""
    language = passage.language or language_of(passage.text)
    return tuple(said for block in blocks(passage.text, language) for said in block.sentences)


def compared_texts(passage: Passage) -> tuple[str, ...]:
    """What the offline engine embeds of a passage besides all of it: its sentences and its title, if any."""
    return (*sentences_of(passage), *filter(None, [passage.full_title]))


def under_title(sentences: Vectors, title: Vectors) -> Vectors:
    """(n, d) vectors of n sentences read under their title (d,): "Take it at night" is about its subject.

    All are L2-normalised. On the dev questions the sentence nearest to the question is then more often the one
    that answers it (0.67 of 333 sections; 0.62 without the title).
    """
    titled = sentences + TITLE * title
    normal: Vectors = titled / np.linalg.norm(titled, axis=-1, keepdims=True).clip(1e-9)
    return normal


def titles_of(embedder: Embedder, passages: Sequence[Passage]) -> tuple[Vectors, tuple[ModelCall, ...]]:
    """(n, d) vectors of the titles of n passages, zeros where there is none, and the calls for those embedded now."""
    rows = [row for row, passage in enumerate(passages) if passage.full_title]
    if not rows:
        return np.zeros((len(passages), 1), np.float32), ()
    vectors, calls = embedder.embed(
        [passages[row].full_title for row in rows], "passage", [passages[row].language for row in rows]
    )
    found = np.zeros((len(passages), vectors.shape[1]), np.float32)
    found[rows] = vectors
    return found, calls


@functools.lru_cache(maxsize=CACHED_TERMS)
def term_counts(text: str, language: str) -> Counter[str]:
    """Term frequencies of a text, with the index's analyser; not to be changed."""
    return Counter(tokens(text, language))
