"""What private data is called, in a redacted question and in messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...values.message import Message
from ...values.sources import listed
from ...values.translation import translate, translated
from .spans import Kind, PrivateSpan

_ONE: Mapping[Kind, Message] = {
    "name_and_birth_date": Message("a name with a date of birth"),
    "name": Message("a name"),
    "phone": Message("a phone number"),
    "email": Message("an e-mail address"),
    "record_number": Message("a record number"),
    "national_id": Message("an identity number"),
    "address": Message("a postal address"),
}


def placeholders(language: str) -> Mapping[Kind, str]:
    """What stands in brackets for each kind in a redacted question of this language."""
    return {
        "name_and_birth_date": translate(language, "name and date of birth"),
        "name": translate(language, "name"),
        "phone": translate(language, "phone"),
        "email": translate(language, "e-mail"),
        "record_number": translate(language, "record number"),
        "national_id": translate(language, "identity number"),
        "address": translate(language, "address"),
    }


def kinds_in_words(spans: Iterable[PrivateSpan], language: str = "en") -> str:
    """The kinds of private data found, never the data: "a phone number and an e-mail address"."""
    return listed((translated(language, _ONE[span.kind]) for span in spans), language)
