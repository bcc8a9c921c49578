"""Token-level encodings of texts by the bundled model, and similarities between them.

Late interaction: Khattab and Zaharia, "ColBERT: Efficient and Effective Passage Search via Contextualized
Late Interaction over BERT", SIGIR 2020. This model was trained for one vector per text, not for late
interaction; tests/benchmarks/test_rerankers.py measures how well it does anyway.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..language.analysis import tokens
from ..models.embedding import LlamaEmbedder

Halves = NDArray[np.float16]  # half the memory; scores agree to three decimals

READ_IN = "en"  # the language of a gloss
WINDOW = 24  # tokens, about a sentence; windows overlap by half
CACHE_MB = 640  # NFCorpus, 3,633 abstracts, takes 500 MB, the built-in passages 115


@dataclass(frozen=True, slots=True, eq=False)
class EncodedText:
    """A text encoded by the model.

    Args:
        vector: (d,) embedding of the text, L2-normalised.
        words: (n, d) vectors of its tokens, rows L2-normalised, without stop words and punctuation.
        windows: (w, d) mean vectors of runs of WINDOW tokens, rows L2-normalised.
        terms: term frequencies, with the index's analyser.
        tokens: number of word pieces.
    """

    vector: NDArray[np.float32]
    words: Halves
    windows: Halves
    terms: Counter[str]
    tokens: int

    @property
    def megabytes(self) -> float:
        """Approximate memory; a term with its count takes about 150 bytes."""
        return (self.vector.nbytes + self.words.nbytes + self.windows.nbytes + 150 * len(self.terms)) / 2**20


def max_sim(question: EncodedText, passage: EncodedText) -> float:
    """Mean over the question's tokens of the cosine to the passage's nearest token (ColBERT's MaxSim).

    ColBERT uses the sum; the mean gives the same order and is comparable between questions. 0.0 for a text
    without tokens.
    """
    if not len(question.words) or not len(passage.words):
        return 0.0
    cosines = question.words.astype(np.float32) @ passage.words.astype(np.float32).T
    return float(cosines.max(axis=1).mean())


def best_window(question: EncodedText, passage: EncodedText) -> float:
    """Highest cosine of the question to a run of WINDOW tokens of the passage.

    A passage is as good as its best part: Callan, "Passage-level evidence in document retrieval", SIGIR 1994.
    0.0 for a passage without tokens.
    """
    if not len(passage.windows):
        return 0.0
    return float((passage.windows.astype(np.float32) @ question.vector).max())


class TokenEncoder:
    """Encodes texts as a local sentence-transformers model reads them, with an LRU cache; their terms, as they are.

    Thread-safe: one thread encodes at a time, and reuses what another has just encoded.

    Args:
        megabytes: memory limit of the cache.
    """

    def __init__(self, embedder: LlamaEmbedder, megabytes: float = CACHE_MB) -> None:
        self.embedder = embedder
        self._megabytes = megabytes
        self._cache: OrderedDict[tuple[str, str], EncodedText] = OrderedDict()
        self._used = 0.0
        self._content: dict[str, NDArray[np.bool_]] = {}
        self._lock = threading.Lock()
        self._encoding = threading.Lock()

    def encode(self, texts: Sequence[tuple[str, str]]) -> list[EncodedText]:
        """Encodings of (text, language) pairs, in order."""
        found = self._recall(texts)
        if len(found) < len(set(texts)):
            with self._encoding:
                found |= self._recall([text for text in texts if text not in found])
                fresh = self._encode([text for text in dict.fromkeys(texts) if text not in found])
                self._keep(fresh)
            found |= fresh
        return [found[text] for text in texts]

    def _recall(self, texts: Sequence[tuple[str, str]]) -> dict[tuple[str, str], EncodedText]:
        with self._lock:
            found = {text: self._cache[text] for text in texts if text in self._cache}
            for text in found:
                self._cache.move_to_end(text)
        return found

    def _keep(self, fresh: Mapping[tuple[str, str], EncodedText]) -> None:
        with self._lock:
            for text, encoded in fresh.items():
                self._cache[text] = encoded
                self._used += encoded.megabytes
            while self._used > self._megabytes and self._cache:
                _, oldest = self._cache.popitem(last=False)
                self._used -= oldest.megabytes

    def _encode(self, texts: Sequence[tuple[str, str]]) -> dict[tuple[str, str], EncodedText]:
        if not texts:
            return {}
        with self.embedder.exclusive(len(texts)) as model:
            # private: HuggingFaceEmbedding has no public access to token vectors
            network: Any = model._model  # type: ignore[attr-defined]  # the SentenceTransformer
            read = [self.embedder.read(*text) for text in texts]
            features = network.encode(read, output_value=None, show_progress_bar=False)
            special = network.tokenizer.all_special_ids
            languages = [
                language if as_is == text else READ_IN
                for (text, language), as_is in zip(texts, read, strict=True)
            ]
            for language in set(languages) - set(self._content):
                self._content[language] = _content(network.tokenizer, language)
        return {
            text: _encoded(text, row, special, self._content[language])
            for text, row, language in zip(texts, features, languages, strict=True)
        }


def _content(tokenizer: Any, language: str) -> NDArray[np.bool_]:
    """(vocabulary,) mask of word pieces that are content, not stop words or punctuation; "##" pieces are."""
    pieces = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    return np.array([piece.startswith("##") or bool(tokens(piece, language)) for piece in pieces])


def _encoded(
    text: tuple[str, str], features: Mapping[str, Any], special: Sequence[int], content: NDArray[np.bool_]
) -> EncodedText:
    read = features["attention_mask"].numpy().astype(bool)
    pieces = features["input_ids"].numpy()[read]
    states = features["token_embeddings"].numpy()[read]
    inner = ~np.isin(pieces, special)
    kept = inner & content[pieces]
    return EncodedText(
        vector=_normalised(features["sentence_embedding"].numpy()),
        words=_normalised(states[kept if kept.any() else inner]).astype(np.float16),
        windows=_normalised(_window_means(states[inner])).astype(np.float16),
        terms=Counter(tokens(*text)),
        tokens=int(inner.sum()),
    )


def _window_means(states: NDArray[np.float32]) -> NDArray[np.float32]:
    """(w, d) means of runs of WINDOW rows, starting every WINDOW / 2 rows; the last ends with the text."""
    last = max(len(states) - WINDOW, 0)
    starts = sorted({*range(0, last, WINDOW // 2), last}) if len(states) else []
    means = [states[start : start + WINDOW].mean(axis=0) for start in starts]
    return np.array(means, np.float32).reshape(len(means), states.shape[1])


def _normalised(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: NDArray[np.float32] = vectors / np.maximum(length, 1e-12)
    return unit
