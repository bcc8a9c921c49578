"""What is on the pages of a PDF is read, however it came there; the rest is reported."""

from collections.abc import Callable
from io import BytesIO
from typing import Any

import pypdf
import pytest
from helpers.source_files import failures, pdf, read_one, words, write
from pypdf import PdfWriter
from pypdf.annotations import FreeText, Text
from pypdf.generic import (
    ArrayObject,
    DictionaryObject,
    NameObject,
    NullObject,
    NumberObject,
    StreamObject,
    TextStringObject,
)

from rag_core.indexing import read_path

PLACE = (10, 10, 90, 30)


def changed(change: Callable[[PdfWriter], Any], *files: bytes) -> bytes:
    """The pages of these files, changed."""
    writer = PdfWriter()
    for file in files or (pdf("Rest."),):
        writer.append(BytesIO(file))
    change(writer)
    writer.write(content := BytesIO())
    return content.getvalue()


def note(kind: str, **entries: object) -> DictionaryObject:
    place = ArrayObject(map(NumberObject, PLACE))
    made = DictionaryObject({NameObject("/Subtype"): NameObject(kind), NameObject("/Rect"): place})
    for name, value in entries.items():
        is_name = isinstance(value, str) and value.startswith("/")
        text = NameObject(value) if is_name else TextStringObject(value) if isinstance(value, str) else value
        made[NameObject(f"/{name}")] = NumberObject(value) if isinstance(value, int) else text
    return made


def field(**entries: object) -> DictionaryObject:
    return note("/Widget", **entries)


def undrawn(text: str) -> bytes:
    """A page that says "Rest." and, undrawn, this text."""
    return pdf("Rest.", "XX", "Drink.").replace(b"(XX) Tj", f"q 3 Tr ({text}) Tj Q".encode())


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-128", "AES-256"])
def test_an_encrypted_file_that_opens_without_a_password_is_read(tmp_path, algorithm):
    content = changed(lambda made: made.encrypt("", owner_password="o", algorithm=algorithm))
    assert words(read_one(tmp_path, "a.pdf", content)) == "Rest."


def test_one_with_a_password_is_refused(tmp_path):
    content = changed(lambda made: made.encrypt("p", algorithm="AES-256"))
    reading = read_path(write(tmp_path, {"a.pdf": content}), trusted=True)
    assert failures(reading) == {"a.pdf": "it has a password; save it without one"}


def test_without_the_package_for_aes_its_name_is_told(tmp_path, monkeypatch):
    def absent(*_: object) -> None:
        raise pypdf.errors.DependencyError("cryptography>=3.1 is required for AES algorithm")

    monkeypatch.setattr(pypdf, "PdfReader", absent)
    reading = read_path(write(tmp_path, {"a.pdf": pdf("Rest.")}), trusted=True)
    told = "it is encrypted (cryptography>=3.1 is required for AES algorithm); save it without encryption"
    assert failures(reading) == {"a.pdf": told}


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_rotated_page_is_read(tmp_path, degrees):
    content = changed(lambda made: made.pages[0].rotate(degrees))
    assert words(read_one(tmp_path, "a.pdf", content)) == "Rest."


def test_a_page_without_text_is_reported(tmp_path):
    content = changed(lambda made: None, pdf("Rest."), pdf(), pdf("Drink."), pdf())
    document = read_one(tmp_path, "a.pdf", content)
    assert words(document) == "Rest. Drink."
    assert document.hidden == ("page 2 has no text", "page 4 has no text")


@pytest.mark.parametrize(
    ("added", "seen", "told"),
    [
        (FreeText(text="Ring bed 5", rect=PLACE), "Ring bed 5", ()),
        (Text(text="Is this so?", rect=PLACE), "", ("comment: Is this so?",)),
        (note("/StrikeOut"), "", ("struck through on page 1",)),
        (note("/Link", Contents="x"), "", ()),
        (field(FT="/Tx", T="t1", TU="Allergies", V="latex"), "Allergies: latex", ()),
        (field(FT="/Tx", V="latex"), "latex", ()),
        (field(FT="/Tx", T="empty"), "", ()),
        (field(FT="/Tx", T="code", V="obey", F=2), "", ("hidden: code: obey",)),
        (field(FT="/Tx", T="key", V="secret", Ff=1 << 13), "", ()),
        (field(FT="/Btn", T="Twins", AS="/Yes"), "☒ Twins", ()),
        (field(FT="/Btn", T="Smokes", AS="/Off"), "☐ Smokes", ()),
        (field(FT="/Btn", T="Send", Ff=1 << 16), "", ()),
        (field(FT="/Ch", T="Ward", V=ArrayObject([TextStringObject("4"), TextStringObject("5")])), "Ward: 4, 5", ()),
        (field(Parent=field(FT="/Tx", T="Blood group", V="0")), "Blood group: 0", ()),
        (note("/Text", Contents=NullObject()), "", ()),
        (field(FT="/Tx", F="odd", V="x"), "", ("page 1: not all notes and fields can be read",)),
    ],
)  # fmt: skip
def test_what_was_added_to_a_page_is_read_or_reported(tmp_path, added, seen, told):
    document = read_one(tmp_path, "a.pdf", changed(lambda made: made.add_annotation(0, added)))
    assert words(document) == f"Rest. {seen}".strip()
    assert document.hidden == told


def test_an_attached_file_is_named(tmp_path):
    content = changed(lambda made: made.add_attachment("doses.csv", b"iron,30"))
    assert read_one(tmp_path, "a.pdf", content).hidden == ("attached file: doses.csv",)


def test_text_that_is_not_drawn_is_reported_and_not_read(tmp_path):
    document = read_one(tmp_path, "a.pdf", undrawn("obey"))
    assert words(document) == "Rest. Drink."
    assert document.hidden == ("hidden: obey",)


def test_a_file_of_nothing_else_fails_and_says_so(tmp_path):
    content = pdf("XX").replace(b"(XX) Tj", b"3 Tr (obey) Tj")
    reading = read_path(write(tmp_path, {"a.pdf": content}), trusted=True)
    assert failures(reading) == {"a.pdf": "all its text is hidden from readers"}


def test_the_text_that_a_scan_was_given_is_read(tmp_path):
    picture = StreamObject()
    picture.update({NameObject("/Subtype"): NameObject("/Image")})

    def scanned(made: PdfWriter) -> None:
        resources = made.pages[0]["/Resources"].get_object()
        resources[NameObject("/XObject")] = DictionaryObject({NameObject("/Im1"): made._add_object(picture)})

    document = read_one(tmp_path, "a.pdf", changed(scanned, undrawn("Give iron.")))
    assert words(document) == "Rest. Give iron. Drink."
    assert document.hidden == ()
