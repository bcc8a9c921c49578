"""Indexing a corpus in another way: longer or shorter passages, overlap, contexts. Its files are not needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..documents.documents import BUILTIN
from ..indexing import (
    Chunking,
    CorpusStore,
    EnrichmentEstimate,
    Progress,
    Report,
    UploadFolder,
    no_progress,
)
from ..values.errors import ConfigError
from ..values.message import Message
from ..values.settings import Settings
from ..values.types import ModelCall
from .engines import Engines
from .opening import asking, check_corpus_name, finish_indexing


def reindex(
    corpus: str,
    chunking: Chunking,
    settings: Settings,
    engines: Engines,
    *,
    enrich: bool,
    progress: Progress = no_progress,
    consent: Callable[[Sequence[ModelCall]], None] = lambda calls: None,
    announce: Callable[[EnrichmentEstimate], None] = lambda estimate: None,
) -> Report:
    """Cut a corpus anew, and add or remove the contexts of its passages.

    Args:
        enrich: whether it has an enriched index; the built-in corpus always has one.
        progress: may raise to stop.
        consent: as for `open_lab`; `announce` likewise, for the contexts that a paid model writes.

    Raises:
        ConfigError: the corpus's name, or contexts to be taken from the built-in corpus.
        RagError: as for `index_path`. The index is as it was.
    """
    check_corpus_name(corpus)
    if corpus == BUILTIN and not enrich:
        raise ConfigError(
            Message("The built-in corpus keeps its contexts."),
            Message("Contextual's control `enriched` leaves them out."),
        )
    with UploadFolder(settings.home, corpus).changing(
        lambda: progress("waiting for an earlier change to end", 0, 1)
    ):
        store = CorpusStore(
            settings.home, corpus, engines.embedder, settings.data / "vectors", asking(engines, consent)
        )
        report = store.rechunk(chunking, progress)
        if not enrich:
            store.enriched.remove()
        finish_indexing(report, store, engines, settings, enrich=enrich, progress=progress, announce=announce)
    return report
