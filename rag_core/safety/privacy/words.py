"""What private data is called, in a redacted question and in messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .spans import Kind, PrivateSpan

PLACEHOLDERS: Mapping[str, Mapping[Kind, str]] = {
    "en": {
        "name_and_birth_date": "name and date of birth",
        "name": "name",
        "phone": "phone",
        "email": "e-mail",
        "record_number": "record number",
        "national_id": "identity number",
        "address": "address",
    },
    "es": {
        "name_and_birth_date": "nombre y fecha de nacimiento",
        "name": "nombre",
        "phone": "teléfono",
        "email": "correo electrónico",
        "record_number": "número de historia",
        "national_id": "documento de identidad",
        "address": "dirección",
    },
}
_ONE: Mapping[Kind, str] = {
    "name_and_birth_date": "a name with a date of birth",
    "name": "a name",
    "phone": "a phone number",
    "email": "an e-mail address",
    "record_number": "a record number",
    "national_id": "an identity number",
    "address": "a postal address",
}


def kinds_in_words(spans: Iterable[PrivateSpan]) -> str:
    """The kinds of private data found, never the data: "a phone number and an e-mail address"."""
    kinds = list(dict.fromkeys(_ONE[span.kind] for span in spans))
    return " and ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)
