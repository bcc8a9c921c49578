"""Documents taken out of every index, with the questions and rooms whose results have their text."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from .. import indexing
from ..documents.documents import Document
from ..indexing import Progress, no_progress
from ..indexing.forgetting import Forgettable
from ..lab.adding import check_own_corpus
from ..lab.engines import load_engines
from ..values.settings import Settings, read_settings
from .exam.folder import drop_written
from .exam.store import Exams
from .history.store import History
from .panel.store import Rooms

if TYPE_CHECKING:
    from llama_index.core.schema import Document as LlamaDocument


def remove(
    documents: str | Path | Iterable[str | Document | LlamaDocument],
    corpus: str,
    *,
    settings: Settings | None = None,
    progress: Progress = no_progress,
) -> list[str]:
    """Take documents out of a corpus, with the questions and rooms whose results have their text, as `rag forget` does.

    With the last document goes the corpus. Returns what was done, in sentences. Raises ConfigError for the built-in
    corpus, DataError if the corpus has none of that path or not all of these documents (nothing was removed),
    StorageError if the disk cannot be written, and IndexBusy if another process writes the index.

    Args:
        documents: a file or folder that was indexed, which need no longer exist; or documents, or their ids.
    """
    settings = settings or read_settings()
    check_own_corpus(corpus)
    if isinstance(documents, str | Path):
        path = os.path.abspath(os.path.expanduser(documents))
        indexed = indexing.find_forgettable(settings.home, path)
        ids = [name for one in indexed if one.corpus == corpus for name in one.documents]
    else:
        ids = [_id(one) for one in documents]
    return [*Removal.of([indexing.find_documents(settings.home, corpus, ids)], settings).carry_out(progress)]


def _id(given: str | Document | LlamaDocument) -> str:
    if isinstance(given, str):
        return given
    return given.id if isinstance(given, Document) else given.doc_id


@dataclass(frozen=True, slots=True)
class Removal:
    """What is to be removed: documents, and the keys of the questions and rooms that have text of them."""

    settings: Settings
    found: Sequence[Forgettable]
    questions: Sequence[str]
    rooms: Sequence[str]

    @classmethod
    def of(cls, found: Sequence[Forgettable], settings: Settings) -> Self:
        history, rooms = History.opened(settings), Rooms.opened(settings)
        questions: set[str] = set()
        codes: set[str] = set()
        for one in found:
            documents = one.documents if one.others else None
            questions.update(history.showing(one.corpus, documents) if history else ())
            codes.update(rooms.showing(one.corpus, documents) if rooms else ())
        return cls(settings, found, sorted(questions), sorted(codes))

    def carry_out(self, progress: Progress = no_progress) -> Iterator[str]:
        # First: once the documents are forgotten, nothing tells which questions have their text
        if self.questions and (history := History.opened(self.settings)):
            count = history.forget(self.questions)
            yield f"history: {count:,} question{'' if count == 1 else 's'} deleted."
        if self.rooms and (rooms := Rooms.opened(self.settings)):
            yield f"rooms deleted: {rooms.forget(self.rooms)}."
        if exams := Exams.opened(self.settings):
            touched = [exams.take_out(one.corpus, one.documents if one.others else None) for one in self.found]
            drop_written(self.settings.home)
            if any(touched):
                yield f"exams that lost passages or went: {sum(touched)}."
        home, stores = self.settings.home, indexing.stores_of(self.settings)
        for one in self.found:
            notes: list[str] = []
            if one.others:
                engines = load_engines(self.settings, lambda what: progress(what, 0, 1))
                models = engines.embedder, engines.enricher
                notes = indexing.forget_documents(home, one, *models, progress, stores)
            else:
                indexing.forget_corpus(home, one.corpus, stores)
            yield from (f"{one.corpus}: forgotten.", *notes)
