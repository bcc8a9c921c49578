"""The text of a PDF, with what was filled in and typed onto its pages."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..hidden import reported
from .lines import joined_lines
from .page import Page

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

_STRUCK, _TYPED, _FIELD = "/StrikeOut", "/FreeText", "/Widget"
# operators that show text, and a way of it (ISO 32000-1, 9.3.6)
_SHOWING, _UNDRAWN = ((b"Tj", b"TJ", b"'", b'"'), 3)
_NOT_SHOWN = 0b10 | 0b100000  # flags of an annotation
_BUTTON, _PASSWORD = 1 << 16, 1 << 13  # flags of a field
_OFF = ("/Off", "")


def read_pdf(content: bytes, most: int) -> Page:
    """The pages of a PDF in order.

    What is filled in a form or typed onto a page ends that page. Comments, attached files, pages without text and text that
    is not drawn are reported. On a page with a picture the latter is read: it is how a scan has text.

    Args:
        most: characters after which the rest is not read; the caller refuses the file.
    """
    from pypdf import PdfReader  # LlamaIndex's PDFReader does the same, but retries broken files

    reader = PdfReader(io.BytesIO(content))
    pages, empty, undrawn, hidden = [], [], [], []
    characters = 0
    for number, page in enumerate(reader.pages, start=1):
        if said := _take_undrawn(page, reader):
            undrawn.append(f"hidden: {said}")
        text = joined_lines(page.extract_text())
        try:
            added = list(_added(page, number))
        except Exception:  # a broken note must not cost the page
            added = [("", f"page {number}: not all notes and fields can be read")]
        text = "\n".join([text, *(seen for seen, _ in added if seen)])
        hidden += [told for _, told in added if told]
        if not text.strip():
            empty.append(f"page {number} has no text")
        pages.append(text)
        characters += len(text)
        if characters > most:
            break
    if len(empty) == len(pages):
        return Page("", "", reported(undrawn))  # the caller knows what to say of a scan
    attached = [f"attached file: {name}" for name in reader.attachments]
    return Page("", "\n\n".join(pages), reported([*empty, *undrawn, *hidden, *attached]))


def _take_undrawn(page: PageObject, reader: PdfReader) -> str:
    """The text of a page without a picture that is not drawn; the page then has none of it."""
    from pypdf.generic import ContentStream, NameObject

    data = page.get_contents()
    if data is None or not re.search(rb"\b3\s+Tr\b", data.get_data()) or len(page.images):
        return ""
    whole = page.raw_get("/Contents")
    texts = []
    try:
        for kept in _apart(ContentStream(data, reader).operations):
            content = ContentStream(None, reader)
            content.operations = kept
            page[NameObject("/Contents")] = content
            texts.append(page.extract_text().strip())
    except Exception:  # of a broken page, all that can be read is
        page[NameObject("/Contents")] = whole
        return ""
    return texts[0]


def _apart(
    operations: Sequence[tuple[Any, bytes]],
) -> tuple[list[tuple[Any, bytes]], list[tuple[Any, bytes]]]:
    """A page's operations without the text that is drawn, and without that which is not."""
    undrawn, drawn = [], []
    mode, saved = 0, []
    for operation in operations:
        operands, operator = operation
        if operator == b"Tr":
            mode = int(operands[0])
        elif operator == b"q":
            saved.append(mode)
        elif operator == b"Q" and saved:
            mode = saved.pop()
        if operator not in _SHOWING or mode == _UNDRAWN:
            undrawn.append(operation)
        if operator not in _SHOWING or mode != _UNDRAWN:
            drawn.append(operation)
    return undrawn, drawn


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
    kind, flags = _inherited(field, "/FT"), int(_inherited(field, "/Ff") or 0)
    name = _as_text(_inherited(field, "/TU")) or _as_text(_inherited(field, "/T"))
    value = _inherited(field, "/V")
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


def _inherited(field: Any, key: str) -> Any:
    """An entry of a field, or of the field that it is a part of."""
    for _ in range(10):  # a broken file may go round in circles
        if key in field:
            return field[key].get_object()
        if "/Parent" not in field:
            break
        field = field["/Parent"].get_object()
    return None
