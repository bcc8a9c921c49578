"""The documents in a file, by its suffix.

Runs in the reading process, and for the built-in documents in any: it imports no more than a format needs. The
language of a document is empty where the file does not give it.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from ...values.errors import DataError
from ...values.message import Message
from ..documents import Document, as_seen, language_code, parse_document, row_documents
from ..files import read_bytes
from ..limits import LimitExceeded, ReadingLimits, megabytes, shorten
from ..markdown import take_markdown
from .reasons import EMPTY, reason_of

MAX_REASON = 300  # characters


def read_within(path: Path, name: str, limits: ReadingLimits) -> tuple[list[Document], str, bool]:
    """The documents of a file, why it or a part of it cannot be read, and whether this process has suffered.

    Args:
        name: the document's id, or the beginning of its documents' ids.
    """
    documents: list[Document] = []
    parts = characters = 0
    try:
        for document in map(as_seen, READERS[path.suffix.lower()](File(path, name, limits))):
            parts += 1 + document.text.count("\n#")
            characters += len(document.text)
            if parts > limits.parts:
                raise LimitExceeded(Message("it has more than {most:,} rows or sections", most=limits.parts))
            if characters > limits.characters:
                raise LimitExceeded(
                    Message("it has more than {most:,} characters of text", most=limits.characters)
                )
            documents.append(document)
        return documents, "", False
    except LimitExceeded as error:
        return [], shorten(error.reason, MAX_REASON), False
    except DataError as error:  # of one row; those above it are good
        return documents, shorten(error.sentence, MAX_REASON), False
    except MemoryError:
        return [], too_large(limits), True
    except RecursionError:
        return [], Message("it is nested too deeply"), True
    except Exception as error:  # the formats' libraries raise anything on a broken file
        return documents, shorten(reason_of(error, path.suffix.lower()), MAX_REASON), False


def too_large(limits: ReadingLimits) -> str:
    """The reason for a file that needs too much memory."""
    return Message("reading it takes more than {size} of memory", size=megabytes(limits.memory))


class File:
    """A file to read.

    Args:
        name: as for `read_within`.
    """

    def __init__(self, path: Path, name: str, limits: ReadingLimits) -> None:
        self.path = path
        self.name = name
        self.limits = limits
        self.content = read_bytes(path, limits.file)
        if not self.content:
            raise LimitExceeded(EMPTY)

    @property
    def text(self) -> str:
        """Its content as UTF-8 text, with line feeds for line ends.

        Raises:
            LimitExceeded: it is not text, though its bytes may be UTF-8.
        """
        if b"\0" in self.content and not self.content.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise LimitExceeded(Message("it is not text, whatever its name says"))
        return self.content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")

    def document(self, text: str, title: str = "", hidden: tuple[str, ...] = ()) -> Document:
        """The file as one document."""
        return Document(self.name, title or self.path.stem, "", text, hidden=hidden)


def _markdown(file: File) -> Iterator[Document]:
    text = file.text
    if text.startswith("---\n") and "\nsources:" in text.split("\n---", 1)[0]:
        yield parse_document(text, file.path)
    else:
        text, hidden = take_markdown(text)
        heading = next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), "")
        yield file.document(text, heading, hidden)


def _plain_text(file: File) -> Iterator[Document]:
    from .lines import joined_lines

    yield file.document(joined_lines(file.text))


def _html(file: File) -> Iterator[Document]:
    from .page import read_page

    page = read_page(file.content, file.limits.depth)
    yield file.document(page.text, page.title, page.hidden)


def _pdf(file: File) -> Iterator[Document]:
    from .pdf import read_pdf

    page = read_pdf(file.content, file.limits.characters)
    yield file.document(page.text, page.title, page.hidden)


def _docx(file: File) -> Iterator[Document]:
    from .word import read_word

    page = read_word(_archive(file), file.limits.depth)
    yield file.document(page.text, page.title, page.hidden)


def _csv(file: File) -> Iterator[Document]:
    """One document per row: its `text` column, or all columns as "name: value" lines."""
    table = file.text
    yield from _rows(file.path, file.name, csv.DictReader(io.StringIO(table), delimiter=_delimiter(table)))


def _xlsx(file: File) -> Iterator[Document]:
    """The rows of every sheet, as for csv; a sheet's first row is its header."""
    from openpyxl import load_workbook

    book = load_workbook(_archive(file), read_only=True, data_only=True)
    try:
        for sheet in book.worksheets:
            cells = (["" if cell is None else str(cell) for cell in row] for row in sheet.values)
            filled = (row for row in cells if any(row))
            head = next(filled, [])
            rows = (dict(zip(head, row, strict=False)) for row in filled)
            name = file.name if len(book.worksheets) == 1 else f"{file.name}#{sheet.title}"
            yield from _rows(file.path, name, rows)
    finally:
        book.close()


def _archive(file: File) -> io.BytesIO:
    """A zip archive whose parts, by their declared sizes, are within the limit; zipfile reads no more than these."""
    content = io.BytesIO(file.content)
    with zipfile.ZipFile(content) as archive:
        if sum(part.file_size for part in archive.infolist()) > file.limits.unpacked:
            raise LimitExceeded(
                Message("it unpacks to more than {size}", size=megabytes(file.limits.unpacked))
            )
    return content


def _rows(path: Path, name: str, rows: Iterable[Mapping[str, str]]) -> Iterator[Document]:
    for number, row in enumerate(rows, start=1):
        filled = {key: value for key, value in row.items() if key and value}
        yield Document(
            f"{name}#{filled.get('id') or number}",
            filled.get("title") or f"{path.stem}, row {number}",
            language_code(filled.get("language")),
            filled.get("text") or "\n".join(f"{key}: {value}" for key, value in filled.items()),
        )


def _delimiter(table: str) -> str:
    """Comma, semicolon or tab, whichever splits the header into the most columns."""
    return max(",;\t", key=lambda sign: len(next(csv.reader(io.StringIO(table), delimiter=sign), ())))


def _jsonl(file: File) -> Iterator[Document]:
    yield from row_documents(io.StringIO(file.text), file.path)


READERS: dict[str, Callable[[File], Iterator[Document]]] = {
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
