"""Word by word similarity of texts, from the model's input embeddings; no text passes through the network."""

from __future__ import annotations

import copy
import functools
import math
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..language.analysis import tokens
from ..models.embedding import LlamaEmbedder

CACHED_TEXTS = 16_384
FIRST_WORD = 1996  # in the vocabulary; letters, digits and signs come before


class WordPieces:
    """Compares texts by the word pieces of the bundled model. Thread-safe.

    Late interaction (Khattab and Zaharia, "ColBERT", SIGIR 2020) compares token vectors of the last layer. Those
    of the first are fixed by the word piece, so nothing has to be computed or stored for a passage; on the dev
    questions the scorer ranks within 0.004 nDCG@10 of the last layer's (tests/benchmarks/test_rerankers.py).
    """

    def __init__(self, embedder: LlamaEmbedder) -> None:
        network: Any = embedder.model._model  # type: ignore[attr-defined]  # private: the SentenceTransformer
        self._tokenizer = copy.deepcopy(network.tokenizer)  # the original is not to be shared between threads
        weights = network[0].auto_model.get_input_embeddings().weight.detach().numpy()
        centred = weights - weights.mean(axis=0)
        self._vectors = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)
        self._lock = threading.Lock()
        self._pieces = functools.lru_cache(maxsize=CACHED_TEXTS)(self._read)
        self.rarity = functools.lru_cache(maxsize=CACHED_TEXTS)(self._rarity)
        self._content = functools.cache(self._content_pieces)

    def similarity(self, question: str, passage: str, language: str = "en") -> float:
        """Mean over the question's pieces of the cosine to the passage's nearest piece (MaxSim), -1 to 1.

        Stop words and punctuation are left out, unless there is nothing else. 0.0 for a text without pieces.

        Args:
            language: whose stop words are left out.
        """
        asked, found = self._pieces(question, language), self._pieces(passage, language)
        if not len(asked) or not len(found):
            return 0.0
        return float((self._vectors[asked] @ self._vectors[found].T).max(axis=1).mean())

    def _rarity(self, word: str) -> float:
        """How rare an English word is, 0 to 1, by its place in the vocabulary; 1 for a word of several pieces.

        The vocabulary begins with the most frequent words.
        """
        with self._lock:
            pieces = self._tokenizer(word.lower(), add_special_tokens=False, verbose=False)["input_ids"]
        if len(pieces) != 1:
            return 1.0
        place, most = max(pieces[0] - FIRST_WORD, 0), len(self._tokenizer) - FIRST_WORD
        return math.log1p(place) / math.log1p(most)

    def _read(self, text: str, language: str) -> NDArray[np.int64]:
        """The pieces of a text that count; each once, since more do not change the nearest."""
        with self._lock:
            pieces = np.array(
                self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"], np.int64
            )
            content = pieces[self._content(language)[pieces]]
        return np.unique(content if len(content) else pieces)

    def _content_pieces(self, language: str) -> NDArray[np.bool_]:
        """(vocabulary,) mask of word pieces that are content, not stop words or punctuation; "##" pieces are."""
        pieces = self._tokenizer.convert_ids_to_tokens(range(len(self._tokenizer)))
        return np.array([piece.startswith("##") or bool(tokens(piece, language)) for piece in pieces])
