"""Sentences for people in the reader's language: the English sentence is the key of the catalogues `data/locale/*.po`."""

from __future__ import annotations

import functools
import gettext
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .message import Message
from .places import DATA

if TYPE_CHECKING:
    from babel import Locale


def translate(language: str, message: str, /, **fields: object) -> str:
    """A message in a language, its {fields} filled in, Messages translated too; English without a catalogue entry.

    >>> translate("es", "{count} tokens", count=1200)
    '1200 tokens'
    """
    text = catalogue(language).gettext(message)
    return text.format(**_translated_fields(language, fields)) if fields else text


def translate_plural(language: str, one: str, many: str, count: int, /, **fields: object) -> str:
    """`one` or `many`, whichever the language uses for this count; {count} is filled in too."""
    text = catalogue(language).ngettext(one, many, count)
    return text.format(count=count, **_translated_fields(language, fields))


def translated(language: str, text: str) -> str:
    """A text that was put together elsewhere: a `Message`, or a sentence declared as a constant."""
    if text and isinstance(text, Message):
        return translate(language, text.template, **text.fields)
    return catalogue(language).gettext(text) if text else ""


def language_name(code: str, language: str = "en") -> str:
    """A language's name in a language, as the Unicode CLDR has it; an unknown code stays as it is.

    >>> language_name("en"), language_name("en", "es"), language_name("xx")
    ('English', 'inglés', 'xx')
    """
    return str(_locale(language).languages.get(code, code))


def country_name(code: str, language: str = "en") -> str:
    """A country's name in a language, by its ISO 3166 code; an unknown code stays as it is."""
    return str(_locale(language).territories.get(code, code))


def _locale(language: str) -> Locale:
    from babel import Locale, UnknownLocaleError

    try:
        return Locale(language)
    except (UnknownLocaleError, ValueError):
        return Locale("en")


@functools.cache
def catalogue(language: str) -> gettext.NullTranslations:
    """The catalogue of a language, compiled once a process; without a file, the one that leaves all as it is."""
    file = DATA / "locale" / f"{language}.po"
    if not language.isalpha() or not file.exists():
        return gettext.NullTranslations()
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = io.BytesIO()
    with file.open("rb") as opened:
        write_mo(compiled, read_po(opened, locale=language, abort_invalid=True))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


def _translated_fields(language: str, fields: Mapping[str, object]) -> dict[str, object]:
    return {name: _inside(language, value) if isinstance(value, Message) else value for name, value in fields.items()}


def _inside(language: str, message: Message) -> str:
    """A message within another. The short name of a control is its title in lower case, which is in no catalogue."""
    words = translated(language, message)
    title = f"{message[:1].upper()}{message[1:]}"
    translation = catalogue(language).gettext(title)
    if words != message or translation == title:
        return words
    return f"{translation[:1].lower()}{translation[1:]}"
