"""Word by word similarity of texts, from the model's input embeddings; no text passes through the network."""

import functools
import re
import threading

import numpy as np
from numpy.typing import NDArray

from ..language.analysis import stop_words
from ..models.minilm import MiniLM

CACHED_TEXTS = 16_384

_LETTER = re.compile(r"\w")


class WordPieces:
    """Compares texts by the word pieces of the bundled model. Thread-safe.

    Late interaction (Khattab and Zaharia, "ColBERT", SIGIR 2020) compares token vectors of the last layer. Those
    of the first are fixed by the word piece, so nothing has to be computed or stored for a passage; on the dev
    questions the scorer ranks within 0.004 nDCG@10 of the last layer's (tests/benchmarks/test_rerankers.py).
    """

    def __init__(self, model: MiniLM) -> None:
        self._model = model
        self._vocabulary = model.vocabulary
        self._mean = model.mean_of_words()
        # the vectors of the pieces met so far, side by side: what was never written takes no memory
        self._table = np.zeros(model.word_table.shape, np.float32)
        self._rows = np.full(len(self._table), -1)  # of each piece in it
        self._met, self._meeting = 0, threading.Lock()
        # judged for the label, for the evidence and for the answer
        self.similarity = functools.lru_cache(maxsize=CACHED_TEXTS)(self._similarity)
        self._pieces = functools.lru_cache(maxsize=CACHED_TEXTS)(self._read)
        self._passed_over = functools.cache(self._without_content)

    def _similarity(self, question: str, passage: str, language: str = "en") -> float:
        """Mean over the question's pieces of the cosine to the passage's nearest piece (MaxSim), -1 to 1."""
        return float(self.nearest(question, passage, language).mean())

    def nearest(self, question: str, passage: str, language: str = "en") -> NDArray[np.float32]:
        """(pieces,) cosines of the question's pieces to the passage's nearest; one 0.0 without pieces.

        The language's stop words and punctuation are left out, unless there is nothing else.
        """
        asked, found = self._pieces(question, language), self._pieces(passage, language)
        if not len(asked) or not len(found):
            return np.zeros(1, np.float32)
        nearest: NDArray[np.float32] = (self._directions(asked) @ self._directions(found).T).max(axis=1)
        return nearest

    def _directions(self, pieces: NDArray[np.int64]) -> NDArray[np.float32]:
        """(pieces, 384) input vectors less the vocabulary's mean, rows L2-normalised."""
        with self._meeting:
            new = pieces[self._rows[pieces] < 0]
            if len(new):
                centred = self._model.word_table[new] - self._mean
                rows = self._rows[new] = np.arange(self._met, self._met + len(new))
                self._table[rows] = centred / np.maximum(np.linalg.norm(centred, axis=1, keepdims=True), 1e-12)
                self._met += len(new)
        directions: NDArray[np.float32] = self._table[self._rows[pieces]]
        return directions

    def _read(self, text: str, language: str) -> NDArray[np.int64]:
        """The pieces of a text that count; each once, since more do not change the nearest."""
        words = dict.fromkeys(text.split(" "))  # no piece spans a space, so each word is read once
        pieces = set(self._model.pieces(" ".join(words)))
        return np.array(sorted(pieces - self._passed_over(language) or pieces), np.int64)

    def _without_content(self, language: str) -> frozenset[int]:
        """The pieces that are stop words or punctuation; the rest of a word ("##…") is content."""
        stop = stop_words(language)
        return frozenset(
            number
            for number, written in enumerate(self._vocabulary)
            if not written.startswith("##") and (written in stop or not _LETTER.search(written))
        )
