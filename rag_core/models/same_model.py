"""Whether a server still has the embedding model that an index was made with."""

import threading
import weakref
from collections.abc import Sequence

import numpy as np

from ..runtime.services import Embedder, EmbedderOver, TextKind
from ..values.errors import ProviderError
from ..values.message import Message
from ..values.types import ModelCall, Vectors

PROBE = "A midwife measures the blood pressure; la matrona mide la presión arterial: 140/90 mmHg."
SAME = 0.999  # cosine of the probe's vectors from one model, which differ by rounding


class ProbedEmbedder(EmbedderOver):
    """A server's embedding model, asked first for one sentence's vector: its name does not say which model answers.

    Args:
        expected: the sentence's vector from the model that made the index; empty if it was never asked for.
        what: the index, for messages.
        renew: how to make it again with the model that answers now.
    """

    def __init__(self, embedder: Embedder, expected: Sequence[float], what: str, renew: str) -> None:
        super().__init__(embedder)
        self._expected = np.asarray(expected, np.float32)
        self._what = what
        self._renew = renew

    def embed(
        self, texts: Sequence[str], kind: TextKind = "query", languages: Sequence[str] = ()
    ) -> tuple[Vectors, tuple[ModelCall, ...]]:
        """(n, d) L2-normalised vectors of n texts, and the calls; ProviderError for another model."""
        bills: tuple[ModelCall, ...] = ()
        if self._expected.size:
            found, bills = probe(self._embedder)
            if not same(found, self._expected):
                raise another_model(self.name, self._what, self._renew, bills)
        vectors, calls = super().embed(texts, kind, languages)
        return vectors, (*bills, *calls)


_probed: weakref.WeakKeyDictionary[Embedder, Vectors] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def probe(embedder: Embedder) -> tuple[Vectors, tuple[ModelCall, ...]]:
    """The (d,) vector of the probe sentence, and the call for it: one for each model and process."""
    with _lock:
        if embedder in _probed:
            return _probed[embedder], ()
        vectors, calls = embedder.embed([PROBE], "passage", ["en"])
        _probed[embedder] = vectors[0]
        return vectors[0], calls


def same(vector: Vectors, other: Vectors) -> bool:
    """Whether two vectors of the probe sentence are from the same model."""
    return vector.shape == other.shape and float(vector @ other) >= SAME


def another_model(name: str, what: str, renew: str, calls: tuple[ModelCall, ...]) -> ProviderError:
    """The error for a model that is not the one that made an index; `renew` completes "Or …"."""
    said = {"name": name, "what": what}
    other = Message("The model {name} is not the one that made {what}: it gives other vectors.", **said)
    step = Message("Use that model again (RAG_EMBEDDING and OPENAI_BASE_URL). Or {renew}.", renew=renew)
    return ProviderError(other, step, calls)
