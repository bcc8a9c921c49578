"""The documents in a file, by its suffix; a document's language is empty where the file does not give it.

Runs in the reading process, and for the built-in documents in any: it imports no more than a format needs.
"""

import codecs
import csv
import io
import re
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import ParseError

from ...values.errors import DataError, why_unreadable
from ...values.message import Message
from ..documents import Document, as_seen, json_documents, metadata_of, parse_document, questions_in
from ..files import read_bytes
from ..hidden import reported
from ..limits import LimitExceeded, ReadingLimits, megabytes, shorten
from ..markdown import take_front_matter, take_markdown

# for people who know Word and PDF, not Python
EMPTY = Message("the file is empty")
_DAMAGED = {
    ".docx": Message(
        "it is not a Word document, is damaged or has a password; open it in Word and save it again as .docx"
    ),
    ".xlsx": Message(
        "it is not an Excel workbook, is damaged or has a password; open it in Excel and save it again as .xlsx"
    ),
    ".pdf": Message("it is not a PDF, or is damaged; open it in a PDF reader and save it again"),
}
MAX_REASON = 300  # characters
_MARKS = {  # the longer first: UTF-32's begins with UTF-16's
    codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
# What letters and the degree sign of Mac and DOS encodings become in Windows-1252
_ODD = re.compile(
    r"[a-zß-ÿ](?:[À-ÖØ-ÞŠŒŽŸ]|[‚„†‡ˆ‰‹›¡-ª¬®-±´¶-º¼-¿×÷]|[–—˜¢£¤¥§«»](?=[a-z]))(?![A-ZÀ-Þ])|\d ?[¡ø]|(?<![a-z])ÿ"
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x9f]")


def read_within(path: Path, name: str, limits: ReadingLimits) -> tuple[list[Document], str, bool]:
    """The documents of a file, whose ids begin with `name`; why it cannot be read; whether this process has suffered."""
    documents: list[Document] = []
    parts = characters = 0
    try:
        for document in map(as_seen, _documents(File(path, name, limits))):
            parts += 1 + document.text.count("\n#")
            characters += len(document.text)
            if parts > limits.parts:
                raise LimitExceeded(Message("it has more than {most:,} rows or sections", most=limits.parts))
            if characters > limits.characters:
                long = Message("it has more than {most:,} characters of text", most=limits.characters)
                raise LimitExceeded(long)
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
    """A file to read, its name as for `read_within`."""

    def __init__(self, path: Path, name: str, limits: ReadingLimits) -> None:
        self.path = path
        self.name = name
        self.limits = limits
        self.content = read_bytes(path, limits.file)
        if not self.content:
            raise LimitExceeded(EMPTY)

    @property
    def text(self) -> str:
        return _decoded(self.content).replace("\r\n", "\n").replace("\r", "\n")

    def document(self, title: str, text: str, hidden: tuple[str, ...] = ()) -> Document:
        return Document(self.name, title or self.path.stem, "", text, hidden=hidden)


def _markdown(file: File) -> Iterator[Document]:
    written = file.text
    fields, body = take_front_matter(written)
    sources = fields.get("sources")
    listed = [one for one in sources if isinstance(one, dict)] if isinstance(sources, list) else []
    if any("organisation" in one for one in listed):
        yield parse_document(written, file.path)
        return
    text, hidden = take_markdown(body)
    heading = next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), "")
    questions = questions_in(fields)
    own = metadata_of(fields, ("title", "questions"))
    fields.pop("questions", None)
    title = fields.pop("title") if isinstance(fields.get("title"), str) else heading
    said = {name: ", ".join(value for one, value in own if one == str(name)) for name in fields}
    rest = (f"{name}: {value}" if value else str(name) for name, value in said.items())
    yield replace(file.document(title, text, reported([*hidden, *rest])), questions=questions, metadata=own)


def _archive(file: File) -> io.BytesIO:
    """A zip archive whose parts, by their declared sizes, are within the limit; zipfile reads no more than these."""
    content = io.BytesIO(file.content)
    with zipfile.ZipFile(content) as archive:
        if sum(part.file_size for part in archive.infolist()) > (most := file.limits.unpacked):
            raise LimitExceeded(Message("it unpacks to more than {size}", size=megabytes(most)))
    return content


SUFFIXES = (".md", ".txt", ".html", ".htm", ".pdf", ".docx", ".csv", ".xlsx", ".jsonl", ".json")


def _documents(file: File) -> Iterable[Document]:
    match file.path.suffix.lower():
        case ".md":
            return _markdown(file)
        case ".txt":
            from .lines import joined_lines

            return [file.document("", joined_lines(file.text))]
        case ".html" | ".htm":
            from .page import read_page

            return [file.document(*read_page(file.content, file.limits.depth))]
        case ".pdf":
            from .pdf import read_pdf

            return [file.document(*read_pdf(file.content, file.limits.characters))]
        case ".docx":
            from .word import read_word

            return [file.document(*read_word(_archive(file), file.limits.depth))]
        case ".csv":
            from .tables import csv_rows, row_documents, with_reports

            return with_reports(row_documents(csv_rows(file.text), file.path.stem, file.name), file.name)
        case ".xlsx":
            from .workbook import workbook_documents

            return workbook_documents(_archive(file), file.path.stem, file.name)
    return json_documents(file.text, file.path)


def _decoded(content: bytes) -> str:
    """The text of a file; raises LimitExceeded if it is not text, or its encoding cannot be told."""
    wide = b"\0" in content
    marked = next((name for mark, name in _MARKS.items() if content.startswith(mark)), "")
    with suppress(UnicodeDecodeError):
        if marked or not wide:
            return content.decode(marked or "utf-8")
    if not marked and (text := _likely(content, wide)):
        return text
    if wide:
        raise LimitExceeded(Message("it is not text, whatever its name says"))
    raise LimitExceeded(Message("its encoding is none of UTF-8, UTF-16 and Windows-1252; save it as UTF-8"))


def _likely(content: bytes, wide: bool) -> str:
    from charset_normalizer import from_bytes

    encoding = "cp1252"
    if wide:  # a letter of this part of the world is half zero
        encoding = "utf_16_be" if content[::2].count(0) > content[1::2].count(0) else "utf_16_le"
    found = from_bytes(content, cp_isolation=[encoding], threshold=0.5).best()
    text = str(found) if found else ""
    return "" if _ODD.search(text) or _CONTROL.search(text) else text


def reason_of(error: Exception, suffix: str) -> str:
    """The reason for an error of a reader or of the library behind it, by the file's suffix."""
    if isinstance(error, OSError):
        return Message("it cannot be opened ({reason})", reason=why_unreadable(error))
    if isinstance(error, csv.Error) and "field limit" in str(error):
        most = csv.field_size_limit()
        return Message("a cell has more than {most:,} characters; is a quotation mark left open?", most=most)
    if isinstance(error, csv.Error):
        return Message("it is not a table ({reason}); save it again as CSV", reason=why_unreadable(error))
    if isinstance(error, ParseError) and "amplification" in str(error):
        return Message("its text multiplies itself when it is opened; open it in Word and save it again as .docx")
    expected: list[type[Exception]] = [zipfile.BadZipFile, ParseError, KeyError]
    if suffix == ".pdf":
        from pypdf.errors import DependencyError, FileNotDecryptedError, PyPdfError

        if isinstance(error, DependencyError):  # its sentence names the package
            reason = why_unreadable(error)
            return Message("it is encrypted ({reason}); save it without encryption", reason=reason)
        if isinstance(error, FileNotDecryptedError):
            return Message("it has a password; save it without one")
        expected.append(PyPdfError)
    damaged = _DAMAGED.get(suffix)
    if damaged and isinstance(error, tuple(expected)):
        return damaged
    what = damaged or Message("it cannot be read")
    return Message("{what} ({reason})", what=what, reason=why_unreadable(error))
