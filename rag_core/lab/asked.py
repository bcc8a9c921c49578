"""The questions that a corpus's passages are known to answer: opened to be searched, taught, and forgotten again."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain

import numpy as np

from ..documents.asked import (
    BESIDE,
    OUTSIDE,
    TAUGHT,
    Asked,
    asked_folder,
    change_asked,
    drop_asked,
    placed,
    read_asked,
    read_questions,
)
from ..documents.documents import BUILTIN
from ..indexing import CorpusIndex, CorpusStore, SourceFiles, VectorCache
from ..language.analysis import language_of
from ..language.questions import check_question
from ..offline.asked import AskedIndex, asked_key
from ..offline.memory import RememberingEmbedder
from ..safety import privacy
from ..values.errors import InputError
from ..values.message import Message
from ..values.owner_only import private_file
from ..values.settings import Settings
from ..values.types import Passage, Vectors
from .engines import Engines, vector_files

OWN = "own.tsv"  # what came with documents
MOST_TAUGHT = 2_000  # questions of a corpus: their vectors are in memory, 1.5 kB each


def asked_state(settings: Settings, corpus: str) -> int | None:
    """When the questions in the state folder last changed, in nanoseconds; None if there are none."""
    with suppress(OSError):  # each change replaces a file, which changes the folder
        return asked_folder(settings.home, corpus).stat().st_mtime_ns
    return None


def open_asked(
    settings: Settings, corpus: str, index: CorpusIndex, engines: Engines, *, taught: bool
) -> AskedIndex | None:
    """The known questions of an index's passages, or None; raises DataError if a file is malformed.

    They are compared by the bundled model, whatever the corpus is embedded with: it costs nothing, and what
    weighs the comparison was fitted on it.
    """
    builtin = [settings.data / "asked"] if corpus == BUILTIN else []
    folders = [*builtin, asked_folder(settings.home, corpus)]
    rows = [one for folder in folders for one in read_asked(folder, taught=taught)]
    asked, _, _ = placed(rows, index.passages) if rows else ([], [], [])
    if not asked:
        return None
    embedder = engines.scorer.embedder
    asked += [one for folder in folders for one in read_questions(folder / OUTSIDE)]
    # apart: the file of the others need not be written anew for each question that is taught
    parts = [part for state in (False, True) if (part := [one for one in asked if bool(one.taught) == state])]
    return AskedIndex(
        [one for part in parts for one in part],
        lambda: [_vectors(settings, part, embedder) for part in parts],
        embedder,
        index.passages,
    )


def kept_questions(settings: Settings, corpus: str) -> list[Asked]:
    """The questions in the state folder, with the passages as they were; raises DataError if malformed."""
    return read_asked(asked_folder(settings.home, corpus))


def teach(settings: Settings, corpus: str, passage: str, question: str, *, by: str = "", country: str = "") -> None:
    """Keep a question as asked of a passage; it leaves another passage that it was taught of.

    `country`, by its ISO 3166 code, is for private data. Raises as `change_asked`, and InputError if the question
    cannot be asked or has private data, or the corpus has been taught MOST_TAUGHT.
    """
    text = check_question(question)
    if privacy.find_private(text, country):
        raise InputError(
            Message("This question has private data, and everybody can read what is taught."),
            Message("Ask it without, and teach that."),
        )
    new = Asked(passage, language_of(text), text, datetime.now(UTC).isoformat(timespec="seconds"), by)

    def change(old: list[Asked]) -> list[Asked]:
        kept = [one for one in old if one.question.casefold() != text.casefold()]
        if len(kept) >= MOST_TAUGHT:
            raise InputError(
                Message("{most:,} questions have been taught, which is the most.", most=MOST_TAUGHT),
                Message("Delete some on the Documents page."),
            )
        return [*kept, new]

    change_asked(asked_folder(settings.home, corpus) / TAUGHT, change)


def keep_own(settings: Settings, store: CorpusStore, reading: SourceFiles, removed: Collection[str]) -> list[str]:
    """Keep the questions in documents, in place of those of earlier ones; returns notes, raises as `change_asked`."""
    path = asked_folder(settings.home, store.corpus) / OWN
    unread = any(name.endswith(BESIDE) for name, _ in reading.failed)
    if unread or not (reading.asked or path.exists()):
        return []
    index = store.open()
    found, lost = _at_sections(chain.from_iterable(reading.asked.values()), index.passages if index else {})
    gone = {*reading.files, *removed}
    change_asked(path, lambda old: [*(one for one in old if one.document not in gone), *found])
    return [
        Message("Questions that name no section ({count}), the first: {first}", count=len(lost), first=first)
        for first in [f"{one.passage}: {one.question}" for one in lost[:1]]
    ]


def _at_sections(rows: Iterable[Asked], passages: Mapping[str, Passage]) -> tuple[list[Asked], list[Asked]]:
    """Questions at the passages of the sections that they name, and those that name none."""
    sections: dict[str, list[Passage]] = defaultdict(list)
    for passage in passages.values():
        sections[passage.doc_id].append(passage)
    found, lost = [], []
    for one in rows:
        document, heading = one.passage, ""
        if document not in sections:
            document, _, heading = one.passage.rpartition("#")
        within = sections.get(document, ())
        at = next((passage.id for passage in within if not heading or _is_under(passage, heading)), "")
        if not at and one.passage.count(":") >= 2 and one.document in sections:
            at = one.passage
        try:
            question = check_question(one.question)
        except InputError:
            at = ""
        if at:
            found.append(Asked(at, one.language or language_of(question), question))
        else:
            lost.append(one)
    return found, lost


def _is_under(passage: Passage, heading: str) -> bool:
    """Whether a passage begins under a heading, or has that of a short section within it."""
    lines = (line.strip("# ") for line in (passage.heading.rpartition(" › ")[2], *passage.text.splitlines()))
    return passage.heading == heading or any(line.casefold() == heading.casefold() for line in lines)


def delete_question(settings: Settings, corpus: str, question: Asked) -> None:
    """Delete a question of a document from the state folder; raises RagError as `change_asked` does."""
    gone = (question.document, question.question)
    drop_asked(asked_folder(settings.home, corpus), lambda one: (one.document, one.question) == gone)


def _vectors(settings: Settings, asked: list[Asked], embedder: RememberingEmbedder) -> Vectors:
    """(n, d) vectors of the questions, from a mapped file; taught ones, few and changing, have none."""
    path = settings.home / "vectors" / f"asked-{asked_key(asked, embedder.key)}.npy"
    with suppress(OSError, ValueError):
        return np.asarray(np.load(path, mmap_mode="r"))
    cached, shipped = vector_files(settings, embedder.weights)
    texts = [(one.question, one.language) for one in asked]
    vectors, _, _ = VectorCache(cached, embedder, shipped).vectors(texts, lambda done, total: None)
    if asked[0].taught:
        return vectors
    with suppress(OSError):  # without the file it is made again next time
        draft = path.with_suffix(".new")
        private_file(draft)
        with draft.open("wb") as file:
            np.save(file, vectors)
        draft.replace(path)
    return vectors
