"""Embeddings that were computed once: unchanged text is never embedded again, also after a crash.

Vectors of the built-in documents are shipped in `data/vectors/`, one file per embedding model, so that
the first start embeds nothing.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from ..runtime.services import Embedder
from ..values.errors import DataError, RagError
from ..values.types import ModelCall, Vectors
from .key_value_cache import KeyValueCache, text_key

BATCH = 64  # texts embedded between two saves
Progress = Callable[[int, int], None]  # (done, total)
BeforeEmbedding = Callable[[Sequence[Sequence[str]]], None]


def read_shipped(path: Path) -> dict[bytes, bytes]:
    """Shipped vectors by key; empty when there is no file for this model.

    Raises:
        DataError: the file is not what `write_shipped` wrote.
    """
    if not path.is_file():
        return {}
    try:
        with np.load(path) as held:
            keys, vectors = held["keys"], held["vectors"].astype(np.float32)
            return {key.tobytes(): vector.tobytes() for key, vector in zip(keys, vectors, strict=True)}
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(
            f"The shipped vectors {path} cannot be read: {error}.", "Run `rag index --vectors`."
        ) from error


def write_shipped(path: Path, texts: Sequence[str], vectors: Vectors) -> None:
    """Write vectors, ordered by key so that the same collection gives the same file."""
    rows = sorted(zip(map(text_key, texts), vectors, strict=True), key=lambda row: row[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        path,
        keys=np.array([np.frombuffer(key, np.uint8) for key, _ in rows]),
        vectors=np.array([vector for _, vector in rows], np.float32),
    )


class VectorCache:
    """Vectors by SHA-256 of their text, in one SQLite file per embedding model.

    Args:
        shipped: vectors that need no computing, looked at first.
        before: receives the texts that are about to be embedded, request by request; it may refuse by raising.
    """

    def __init__(
        self,
        path: Path,
        embedder: Embedder,
        shipped: Path | None = None,
        before: BeforeEmbedding = lambda requests: None,
    ) -> None:
        self._before = before
        self._kept = KeyValueCache(path, "vectors", "computed vectors")
        self._embedder = embedder
        self._shipped = shipped

    def vectors(self, texts: Sequence[str], progress: Progress) -> tuple[Vectors, int, tuple[ModelCall, ...]]:
        """(n, d) vectors of n texts, how many had to be embedded, and the bills; those are kept at once.

        Raises:
            StorageError: the file cannot be written.
            ProviderError: the model failed; like every error from here it carries the bills till then.
        """
        calls: list[ModelCall] = []
        try:
            vectors, fresh = self._vectors(texts, progress, calls)
        except RagError as error:
            error.calls = tuple(dict.fromkeys([*calls, *error.calls]))
            raise
        return vectors, fresh, tuple(calls)

    def _vectors(
        self, texts: Sequence[str], progress: Progress, calls: list[ModelCall]
    ) -> tuple[Vectors, int]:
        keys = [text_key(text) for text in texts]
        with self._kept.open() as database:
            held = read_shipped(self._shipped) if self._shipped else {}
            held.update(self._kept.read(database, [key for key in keys if key not in held]))
            missing = [
                (key, text) for key, text in dict(zip(keys, texts, strict=True)).items() if key not in held
            ]
            missing.sort(key=lambda item: len(item[1]))  # batches of like length waste no padding
            batches = [missing[start : start + BATCH] for start in range(0, len(missing), BATCH)]
            if batches:
                self._before([[text for _, text in batch] for batch in batches])
            for place, batch in enumerate(batches):
                progress(place * BATCH, len(missing))
                fresh, made = self._embedder.embed([text for _, text in batch], "passage")
                calls += made
                rows = [(key, vector.tobytes()) for (key, _), vector in zip(batch, fresh, strict=True)]
                self._kept.write(database, rows)
                held.update(rows)
            progress(len(missing), len(missing))
        return np.array([np.frombuffer(held[key], np.float32) for key in keys]), len(missing)
