"""Removing one's own documents: a file, or a corpus with all its files."""

from __future__ import annotations

from ..indexing import UploadFolder, find_file, find_forgettable, forget_corpus, forget_documents, stores_of
from ..values.settings import Settings
from .adding import check_own_corpus
from .engines import Engines


def remove_file(corpus: str, root: str, file: str, settings: Settings, engines: Engines) -> list[str]:
    """Remove the documents of one file from every index, and the file if it was uploaded.

    With the last file goes the corpus. Returns notes for the user.

    Args:
        root: with `file`, as `IndexedDocument` has them.

    Raises:
        ConfigError: it is the built-in corpus.
        DataError: the corpus has no such file.
        IndexBusy, StorageError: another process writes the index, or the disk cannot be written.
    """
    check_own_corpus(corpus)
    with UploadFolder(settings.home, corpus).changing():
        found = find_file(settings.home, corpus, root, file)
        if not found.others:
            forget_corpus(settings.home, corpus, stores_of(settings))
            return []
        return forget_documents(
            settings.home, found, engines.embedder, engines.enricher, stores=stores_of(settings)
        )


def remove_corpus(corpus: str, settings: Settings) -> None:
    """Remove a corpus with its indexes and uploaded files.

    Raises:
        RagError: as for `remove_file`.
    """
    check_own_corpus(corpus)
    with UploadFolder(settings.home, corpus).changing():
        for found in find_forgettable(settings.home, corpus):
            forget_corpus(settings.home, found.corpus, stores_of(settings))
