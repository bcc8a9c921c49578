"""The text of a PDF, with what was filled in and typed onto its pages."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...values.message import Message
from ..hidden import reported
from ..limits import LimitExceeded
from .lines import joined_lines
from .page import Page
from .pdf_lines import Line, PageLines, joined_pages, take_running

if TYPE_CHECKING:
    from pypdf import PageObject

_STRUCK, _TYPED, _FIELD = "/StrikeOut", "/FreeText", "/Widget"
_NOT_SHOWN = 0b10 | 0b100000  # flags of an annotation
_BUTTON, _PASSWORD = 1 << 16, 1 << 13  # flags of a field
_OFF = ("/Off", "")


def read_pdf(content: bytes, most: int) -> Page:
    """The pages of a PDF in order.

    What is filled in a form or typed onto a page ends that page. Comments, attached files, running headers and footers,
    pages without text, text in no known letters and text that is not drawn are reported. On a page with a picture the
    last is read: it is how a scan has text. After `most` characters the rest is not read; the caller refuses the file.
    Raises LimitExceeded if all its text is in no known letters.
    """
    from pypdf import PdfReader  # LlamaIndex's PDFReader does the same, but retries broken files

    reader = PdfReader(io.BytesIO(content))
    pages: list[list[Line]] = []
    empty, undrawn, unknown, hidden = [], [], [], []
    characters = 0
    for number, page in enumerate(reader.pages, start=1):
        read = PageLines(page)
        try:
            added = list(_added(page, number))
        except Exception:  # a broken note must not cost the page
            added = [("", f"page {number}: not all notes and fields can be read")]
        lines = read.lines + [Line(seen, size=0.0) for seen, _ in added if seen]
        hidden += [note for _, note in added if note]
        if read.undrawn:
            undrawn.append(f"hidden: {read.undrawn}")
        if read.unknown:
            unknown.append(f"page {number}: text whose letters the file does not tell")
        elif not lines:
            empty.append(f"page {number} has no text")
        pages.append(lines)
        characters += sum(len(line.text) + 1 for line in lines)
        if characters > most:
            break
    if not any(pages):
        if unknown:
            odd = Message("its fonts do not tell which letters they draw; run text recognition (OCR) on it")
            raise LimitExceeded(odd)
        return Page("", "", reported(undrawn))  # the caller knows what to say of a scan
    running = [f"header or footer: {line}" for line in take_running(pages)]
    attached = [f"attached file: {name}" for name in reader.attachments]
    told = reported([*empty, *undrawn, *unknown, *running, *hidden, *attached])
    return Page("", joined_lines(joined_pages(pages)), told)


def _added(page: PageObject, number: int) -> Iterator[tuple[str, str]]:
    """What was added to a page: (text that is seen on it, what is reported)."""
    for reference in page.annotations or ():
        note = reference.get_object()
        kind, said = note.get("/Subtype"), _as_text(note.get("/Contents"))
        if kind == _FIELD:
            said = _filled_in(note)
        if kind in (_FIELD, _TYPED) and not int(note.get("/F", 0)) & _NOT_SHOWN:
            yield said, ""
        elif kind == _STRUCK:
            yield "", f"struck through on page {number}{f': {said}' if said else ''}"
        elif said and kind not in ("/Link", "/Popup"):
            yield "", f"{'hidden' if kind in (_FIELD, _TYPED) else 'comment'}: {said}"


def _filled_in(field: Any) -> str:
    """A field of a form and what is in it; empty for an empty one."""
    kind, flags = field.get_inherited("/FT"), int(field.get_inherited("/Ff", 0))
    name = _as_text(field.get_inherited("/TU")) or _as_text(field.get_inherited("/T"))
    value = field.get_inherited("/V")
    if kind == "/Btn":
        state = str(field.get("/AS") or value or "")
        return "" if flags & _BUTTON else f"{'☐' if state in _OFF else '☒'} {name}"
    said = ", ".join(map(_as_text, value)) if isinstance(value, list) else _as_text(value)
    if not said or kind not in ("/Tx", "/Ch") or flags & _PASSWORD:
        return ""
    return f"{name}: {said}" if name else said


def _as_text(value: Any) -> str:
    """What an entry says; empty for one that is missing or null."""
    from pypdf.generic import NullObject

    return "" if value is None or isinstance(value, NullObject) else str(value).strip()
