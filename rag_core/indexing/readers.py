"""Reading files and folders into documents, with LlamaIndex's readers where a format needs one."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..data.documents import Document, beir_documents, is_beir, read_document
from ..language.analysis import language_of
from ..values.errors import DataError, InputError
from ..values.profile import PROFILE_FILE, Profile, read_profile


@dataclass(slots=True)
class SourceFiles:
    """The documents read from a path.

    Args:
        root: identity of the path; documents indexed from it earlier and now missing are removed.
        documents: ordered by id.
        files: document id -> source file.
        failed: (file, reason) for files that could not be read.
        skipped: (file, reason) for files of unsupported types.
        owner: whether its documents replace those with the same id from other roots.
        whole: keep each document in one passage (BEIR collections are judged by document).
        profile: the corpus's profile; None keeps the existing one.
    """

    root: str
    documents: list[Document] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    failed: list[tuple[str, str]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    whole: bool = False
    owner: bool = False
    profile: Profile | None = None


def read_path(path: Path) -> SourceFiles:
    """Read a file, a folder of files, or a BEIR folder.

    Files that cannot be read or have no text are listed in `failed`.

    Raises:
        InputError: the path does not exist, cannot be opened, or has no file of a supported type.
        DataError: a BEIR folder, or the folder's profile, is malformed.
    """
    try:
        path = path.resolve(strict=True)
        profile = read_profile(path) if path.is_dir() else None
        if path.is_dir() and is_beir(path):
            return SourceFiles(str(path), list(beir_documents(path)), whole=True, profile=profile)
        files = sorted(_files(path)) if path.is_dir() else [path]
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror or error}.", "Check the path.") from error
    base = path if path.is_dir() else path.parent
    known = [file for file in files if file.suffix.lower() in READERS]
    if not known:
        raise InputError(
            f"{path} has no files that can be indexed.", f"Supported: {' '.join(sorted(READERS))}."
        )
    reading = SourceFiles(str(path), profile=profile)
    for file in files:
        name = file.relative_to(base).as_posix()
        if file == base / PROFILE_FILE:
            continue
        if file not in known:
            reading.skipped.append((name, f"{file.suffix or 'a file without extension'} is not supported"))
            continue
        try:
            document = None
            for document in READERS[file.suffix.lower()](file, name):
                if not document.text.strip():
                    reading.failed.append((name, "it has no text (a scan needs OCR first)"))
                elif document.id in reading.files:
                    other = reading.files[document.id]
                    reading.failed.append((name, f"its id {document.id!r} is also used by {other}"))
                else:
                    reading.files[document.id] = name
                    reading.documents.append(document)
            if document is None:
                reading.failed.append((name, "it has no rows"))
        except DataError as error:
            reading.failed.append((name, error.message))
        except Exception as error:  # the readers' libraries raise anything on a broken file
            reading.failed.append((name, " ".join(f"{type(error).__name__}: {error}".split())))
    reading.documents.sort(key=lambda document: document.id)
    return reading


def _files(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):  # raises errors that rglob would silently skip
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            if not folder.resolve().is_relative_to(entry.resolve()):  # skips links to a parent folder
                yield from _files(entry)
        else:
            yield entry


def _markdown(path: Path, name: str) -> Iterator[Document]:
    text = path.read_text(encoding="utf-8-sig")
    if text.startswith("---\n") and "\nsources:" in text.split("\n---", 1)[0]:
        yield read_document(path)
    else:
        first = next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), "")
        yield Document(name, first or path.stem, language_of(text), text)


def _plain_text(path: Path, name: str) -> Iterator[Document]:
    text = path.read_text(encoding="utf-8-sig")
    yield Document(name, path.stem, language_of(text), text)


def _html(path: Path, name: str) -> Iterator[Document]:
    from bs4 import BeautifulSoup

    page = BeautifulSoup(path.read_bytes(), "html.parser")
    title = page.title.get_text(strip=True) if page.title else path.stem
    for element in page(["script", "style", "nav", "header", "footer", "title"]):
        element.decompose()
    for heading in page(["h1", "h2", "h3", "h4"]):  # as Markdown, so that passages keep their headings
        heading.replace_with(f"\n\n{'#' * int(heading.name[1])} {heading.get_text(' ', strip=True)}\n\n")
    for element in page(BLOCKS):
        element.insert_before("\n")
        element.insert_after("\n")
    text = "\n".join(line.strip() for line in page.get_text().splitlines())
    yield Document(name, title, language_of(text), text)


BLOCKS = ["p", "div", "li", "tr", "td", "th", "br", "dt", "dd", "section", "article", "blockquote", "option"]


def _pdf(path: Path, name: str) -> Iterator[Document]:
    from pypdf import PdfReader  # LlamaIndex's PDFReader does the same, but retries broken files

    text = "\n\n".join(page.extract_text() for page in PdfReader(path).pages)
    yield Document(name, path.stem, language_of(text), text)


def _docx(path: Path, name: str) -> Iterator[Document]:
    from llama_index.readers.file import DocxReader

    text = "\n\n".join(part.text for part in DocxReader().load_data(path))
    yield Document(name, path.stem, language_of(text), text)


def _csv(path: Path, name: str) -> Iterator[Document]:
    """One document per row: its `text` column, or all columns as "name: value" lines."""
    table = path.read_text(encoding="utf-8-sig")
    yield from _rows(path, name, csv.DictReader(io.StringIO(table), delimiter=_delimiter(table)))


def _xlsx(path: Path, name: str) -> Iterator[Document]:
    """The rows of every sheet, as for csv; a sheet's first row is its header."""
    from openpyxl import load_workbook

    book = load_workbook(path, read_only=True, data_only=True)
    try:
        for sheet in book.worksheets:
            cells = (["" if cell is None else str(cell) for cell in row] for row in sheet.values)
            filled = (row for row in cells if any(row))
            head = next(filled, [])
            rows = (dict(zip(head, row, strict=False)) for row in filled)
            yield from _rows(path, name if len(book.worksheets) == 1 else f"{name}#{sheet.title}", rows)
    finally:
        book.close()


def _rows(path: Path, name: str, rows: Iterable[Mapping[str, str]]) -> Iterator[Document]:
    for number, row in enumerate(rows, start=1):
        filled = {key: value for key, value in row.items() if key and value}
        text = filled.get("text") or "\n".join(f"{key}: {value}" for key, value in filled.items())
        yield Document(
            f"{name}#{filled.get('id') or number}",
            filled.get("title") or f"{path.stem}, row {number}",
            filled.get("language") or language_of(text),
            text,
        )


def _delimiter(table: str) -> str:
    """Comma, semicolon or tab, whichever splits the header into the most columns."""
    return max(",;\t", key=lambda sign: len(next(csv.reader(io.StringIO(table), delimiter=sign), ())))


def _jsonl(path: Path, name: str) -> Iterator[Document]:
    yield from beir_documents(path.parent, path.name)


Reader = Callable[[Path, str], Iterator[Document]]
READERS: dict[str, Reader] = {
    ".md": _markdown,
    ".txt": _plain_text,
    ".html": _html,
    ".htm": _html,
    ".pdf": _pdf,
    ".docx": _docx,
    ".csv": _csv,
    ".xlsx": _xlsx,
    ".jsonl": _jsonl,
}
