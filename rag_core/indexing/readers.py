"""Reading files and folders into documents: each file in a guarded process unless it is ours, a BEIR folder line by line."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..documents.asked import BESIDE, Asked, read_beside
from ..documents.documents import Document, as_seen, beir_documents, metadata_of
from ..documents.files import Found, list_files
from ..documents.limits import READING, ReadingLimits
from ..documents.reading.formats import SUFFIXES
from ..documents.reading.guard import GuardedReader, read_unguarded
from ..language.analysis import language_of
from ..values.errors import DataError, InputError
from ..values.message import Message
from ..values.profile import PROFILE_FILE, Profile, read_profile
from ..values.visible import valid
from .cutting import Chunking
from .write_report import Progress, no_progress

if TYPE_CHECKING:
    from llama_index.core.schema import Document as LlamaDocument
    from llama_index.core.schema import TransformComponent

GIVEN = "given"  # the root of documents that a program holds
NO_TEXT = Message("it has no text (a scan needs OCR first)")
ALL_HIDDEN = Message("all its text is hidden from readers")


@dataclass(slots=True)
class SourceFiles:
    """The documents read from a path.

    Args:
        root: identity of the path; documents indexed from it earlier and now missing are removed.
        documents: ordered by id.
        files: document id -> source file.
        failed: (file, reason) for files that could not be read; a folder's name ends in "/".
        skipped: (file, reason) for files of unsupported types, links, and what is no regular file.
        owner: whether its documents replace those with the same id from other roots.
        whole: keep each document in one passage (BEIR collections are judged by document).
        profile: the corpus's profile; None keeps the existing one.
        chunking: how long passages are; None likewise.
        asked: file -> the questions in it, each with the section it names.
    """

    root: str
    documents: list[Document] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    failed: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    whole: bool = False
    owner: bool = False
    profile: Profile | None = None
    chunking: Chunking | None = None
    asked: dict[str, list[Asked]] = field(default_factory=dict)


def read_path(
    path: Path, progress: Progress = no_progress, limits: ReadingLimits = READING, *, trusted: bool = False
) -> SourceFiles:
    """Read a file, a folder of files, or a BEIR folder; files that cannot be read or have no text are in `failed`.

    `progress` is called often; may raise to stop. `trusted` files came with this package, and are read in this process,
    which is faster. Raises InputError if the path does not exist, cannot be opened, or has no file of a supported type,
    and DataError if a BEIR folder, or the folder's profile, is malformed.
    """
    if str(path) != valid(str(path)):
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise InputError(Message("The name {shown} is not UTF-8.", shown=shown), Message("Rename it."))
    try:
        path = path.resolve(strict=True)
        profile = read_profile(path) if path.is_dir() else None
        if path.is_dir() and (path / "corpus.jsonl").is_file():
            return SourceFiles(str(path), _beir(path, progress), whole=True, profile=profile)
        alone = Found([(path.name, path)] if path.is_file() else [])
        found = list_files(path, limits) if path.is_dir() else alone
    except (OSError, RuntimeError) as error:  # RuntimeError: a link to itself
        reason = getattr(error, "strerror", None) or error
        raise InputError(
            Message("{path} cannot be opened: {reason}.", path=path, reason=reason),
            Message("Check the path."),
        ) from error
    reading = SourceFiles(str(path), failed=found.failed, skipped=found.skipped, profile=profile)
    known: list[tuple[str, Path]] = []
    for name, file in found.files:
        if file.suffix.lower() in SUFFIXES:
            known.append((name, file))
        elif file.name == BESIDE:
            try:
                reading.asked[name] = read_beside(file, name)
            except DataError as error:
                reading.failed.append((name, _without_folder(error.message, file)))
        elif name != PROFILE_FILE:
            kind = file.suffix or Message("a file without extension")
            reading.skipped.append((name, Message("{kind} is not supported", kind=kind)))
    if not known and not reading.asked:
        raise InputError(
            Message("{path} has no files that can be indexed.", path=path),
            Message("Supported: {suffixes}.", suffixes=" ".join(sorted(SUFFIXES))),
        )
    done = 0
    with GuardedReader(limits, lambda: progress("reading files", done, len(known))) as reader:
        read = read_unguarded if trusted else reader.read
        for done, (name, file) in enumerate(known):
            progress("reading files", done, len(known))
            documents, reason = read(file, name)
            add_documents(reading, name, documents, _without_folder(reason, file))
    reading.skipped.sort()
    reading.documents.sort(key=lambda document: document.id)
    return reading


def state_of(folder: Path) -> str:
    """What tells whether `read_path` would read a folder as it did: names, sizes and times of its files and of this package's."""
    digest = hashlib.sha256()
    for root, files in ((folder, "*"), (Path(__file__).parents[1], "*.py")):
        for path in sorted(root.rglob(files)):
            found = path.stat() if path.exists() else path.lstat()
            digest.update(f"{path.relative_to(root)!r} {found.st_size} {found.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def read_given(documents: Iterable[Document | LlamaDocument]) -> SourceFiles:
    """Documents that a program holds: the lab's own, or LlamaIndex's.

    Of these: `doc_id`, the metadata `title` (else `file_name`, else the id) and `language`; all of it can be filtered by.
    """
    reading = SourceFiles(GIVEN)
    for given in documents:
        document = given if isinstance(given, Document) else _from_llama_index(given)
        add_documents(reading, document.id, [as_seen(document)])
    reading.documents.sort(key=lambda document: document.id)
    return reading


def cut_by(transformations: Sequence[TransformComponent], documents: Iterable[Document]) -> list[Document]:
    """The documents with the texts of the nodes that LlamaIndex's node parsers make of each."""
    from llama_index.core.ingestion import run_transformations
    from llama_index.core.schema import Document as LlamaDocument

    def pieces(one: Document) -> tuple[str, ...]:
        nodes = run_transformations([LlamaDocument(id_=one.id, text=one.text)], transformations)
        return tuple(text for node in nodes if (text := node.get_content().strip()))

    return [replace(one, pieces=pieces(one)) for one in documents]


def _from_llama_index(given: LlamaDocument) -> Document:
    known = given.metadata
    title = known.get("title") or known.get("file_name") or given.doc_id
    language = known.get("language") or language_of(given.text)
    own = metadata_of(known, ("title", "language"))
    return Document(given.doc_id, str(title), str(language), given.text, metadata=own)


def _without_folder(reason: str, file: Path) -> str:
    """A reason that names the file by its name alone: an upload is read from a folder that nobody knows."""
    if not isinstance(reason, Message):
        return reason
    return reason.cleaned(lambda text: text.replace(str(file), file.name))


def add_documents(reading: SourceFiles, name: str, documents: list[Document], reason: str = "") -> None:
    """Add what was read from a file, and why it or parts of it could not be."""
    for document in documents:
        if not document.text.strip():
            reading.failed.append((name, ALL_HIDDEN if document.hidden else NO_TEXT))
        elif document.id in reading.files:
            other = reading.files[document.id]
            why = Message("its id {identity!r} is also used by {other}", identity=document.id, other=other)
            reading.failed.append((name, why))
        else:
            reading.files[document.id] = name
            reading.documents.append(document)
            if document.questions:
                reading.asked.setdefault(name, []).extend(
                    Asked(f"{document.id}#{heading}" if heading else document.id, "", question)
                    for heading, question in document.questions
                )
    if reason:
        reading.failed.append((name, reason))
    elif not documents:
        reading.failed.append((name, Message("it has no rows")))


def _beir(folder: Path, progress: Progress) -> list[Document]:
    if not (folder / "corpus.jsonl").resolve().is_relative_to(folder):
        raise DataError(
            Message("{file} is a link that leads outside the folder.", file=folder / "corpus.jsonl"),
            Message("Copy the file into the folder."),
        )
    documents: list[Document] = []
    for document in beir_documents(folder):
        if len(documents) % 1000 == 0:
            progress("reading files", len(documents), 1)
        documents.append(document)
    return documents
