"""Files of every supported type, and what is read from them."""

import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from openpyxl import Workbook

from rag_core.documents.documents import Document
from rag_core.indexing import SourceFiles, read_path

from .small import ROOT

_OFFICE = "http://schemas.openxmlformats.org"
SPACES = {  # of a Word document
    "w": f"{_OFFICE}/wordprocessingml/2006/main",
    "m": f"{_OFFICE}/officeDocument/2006/math",
    "mc": f"{_OFFICE}/markup-compatibility/2006",
    "a": f"{_OFFICE}/drawingml/2006/main",
    "wp": f"{_OFFICE}/drawingml/2006/wordprocessingDrawing",
    "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
    "v": "urn:schemas-microsoft-com:vml",
}


def pdf(*lines: str) -> bytes:
    """A one-page PDF with these lines, written by hand."""
    shown = " ".join(f"({line}) Tj T*" for line in lines)
    stream = f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        b"/Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    body, starts = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        starts.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    count = len(objects) + 1
    trailer = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n" % count + table + trailer


def locked_pdf() -> bytes:
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(PdfReader(BytesIO(pdf("Words."))))
    writer.encrypt("password", algorithm="RC4-128")
    writer.write(content := BytesIO())
    return content.getvalue()


def docx(*paragraphs: str) -> bytes:
    """A Word document: the one part that holds text."""
    return word("".join(f"<w:p><w:r><w:t>{paragraph}</w:t></w:r></w:p>" for paragraph in paragraphs))


def word(body: str, parts: Mapping[str, str] | None = None) -> bytes:
    """A Word document with this body.

    Args:
        parts: name -> content of the other parts of its folder, each the children of a root.
    """
    spaces = " ".join(f'xmlns:{prefix}="{address}"' for prefix, address in SPACES.items())
    held = BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, content in {"document": f"<w:body>{body}</w:body>", **(parts or {})}.items():
            # with a fixed date: the bytes are part of test ids
            archive.writestr(zipfile.ZipInfo(f"word/{name}.xml"), f"<w:{name} {spaces}>{content}</w:{name}>")
    return held.getvalue()


def write(folder: Path, files: dict[str, bytes | str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def without_corpus(folder: Path) -> Path:
    """Make this folder the lab's data with an empty `corpus`: for RAG_DATA."""
    for kept in (ROOT / "data").iterdir():
        if kept.name != "corpus":
            (folder / kept.name).symlink_to(kept)
    (folder / "corpus").mkdir()
    return folder


def read_one(folder: Path, name: str, content: bytes | str) -> Document:
    reading = read_path(write(folder, {name: content}), trusted=True)  # in this process, which is faster
    assert reading.failed == []
    (document,) = reading.documents
    return document


def words(document: Document) -> str:
    return " ".join(document.text.split())


def failures(reading: SourceFiles) -> dict[str, str]:
    return dict(reading.failed)


def xlsx(**sheets: list[list[object]]) -> bytes:
    """A workbook with these rows."""
    book = Workbook()
    book.remove(book.worksheets[0])
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    held = BytesIO()
    book.save(held)
    return held.getvalue()
