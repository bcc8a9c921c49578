"""The questions that a corpus's passages are known to answer, opened to be searched."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np

from ..documents.asked import Asked, placed, read_asked
from ..documents.documents import BUILTIN
from ..indexing import CorpusIndex, VectorCache
from ..offline.asked import AskedIndex
from ..offline.memory import RememberingEmbedder
from ..values.owner_only import private_file
from ..values.settings import Settings
from ..values.types import Vectors
from .engines import Engines, vector_files


def asked_folders(settings: Settings, corpus: str) -> list[Path]:
    """Where the questions of a corpus are: of the built-in one with its documents, and in the state folder."""
    builtin = [settings.data / "asked"] if corpus == BUILTIN else []
    return [*builtin, settings.home / "corpora" / corpus / "asked"]


def open_asked(settings: Settings, corpus: str, index: CorpusIndex, engines: Engines) -> AskedIndex | None:
    """The known questions of an index's passages; None if there are none.

    They are compared by the bundled model, whatever the corpus is embedded with: it costs nothing, and what weighs the
    comparison was fitted on it.

    Raises:
        DataError: a file of questions is malformed.
    """
    rows = [one for folder in asked_folders(settings, corpus) for one in read_asked(folder)]
    asked, _, _ = placed(rows, index.passages) if rows else ([], [], [])
    if not asked:
        return None
    embedder = engines.scorer.embedder
    opened = AskedIndex(
        asked, lambda: _vectors(settings, asked, opened.key, embedder), embedder, index.passages
    )
    return opened


def _vectors(settings: Settings, asked: list[Asked], key: str, embedder: RememberingEmbedder) -> Vectors:
    """(n, d) vectors of the questions, from a file that is mapped into memory; made if there is none."""
    path = settings.home / "vectors" / f"asked-{key}.npy"
    with suppress(OSError, ValueError):
        return np.asarray(np.load(path, mmap_mode="r"))
    cached, shipped = vector_files(settings, embedder.weights)
    texts = [(one.question, one.language) for one in asked]
    vectors, _, _ = VectorCache(cached, embedder, shipped).vectors(texts, lambda done, total: None)
    with suppress(OSError):  # without the file it is made again next time
        draft = path.with_suffix(".new")
        private_file(draft)
        with draft.open("wb") as file:
            np.save(file, vectors)
        draft.replace(path)
    return vectors
