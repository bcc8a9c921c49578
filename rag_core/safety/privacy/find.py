"""Finds private data in a question, and replaces it."""

import functools
import re
from collections.abc import Mapping

from ...language.analysis import language_of
from .numbers import emails, numbers_by_name, numbers_by_shape, phones_by_name, phones_by_shape
from .people import introduced_names, names_with_birth_dates
from .places import addresses
from .spans import Kind, PrivateSpan, placeholders, without_overlaps

_PERSON = "patient"
_BRACKETED = re.compile(r"\[([^][]+)\]")
_OF_PERSONS: tuple[Kind, ...] = ("name_and_birth_date", "name")


@functools.lru_cache(maxsize=256)
def find_private(text: str, country: str = "") -> tuple[PrivateSpan, ...]:
    """Names, phones, e-mail and postal addresses, and identity and record numbers, in reading order.

    Names count with a date of birth, or after "my name is", "I am" or "patient:". Rules and check digits: Spain,
    Mexico, Peru, Colombia, Argentina, Chile, the United States and the United Kingdom; `country` (ISO 3166) adds
    telephone numbers as written there. They miss some: nothing found does not mean that nothing is private.

    >>> [span.kind for span in find_private("DNI 12345678Z, tel. 612 345 678, 28+3 semanas, TA 142/91")]
    ['national_id', 'phone']
    """
    return without_overlaps(
        [
            *emails(text),
            *names_with_birth_dates(text),
            *introduced_names(text),
            *numbers_by_name(text),
            *phones_by_name(text),
            *addresses(text),
            *numbers_by_shape(text),
            *phones_by_shape(text, country),
        ]
    )


def redact(text: str, country: str = "") -> str:
    """A text with every piece of private data replaced by its kind in brackets, in the text's language.

    >>> redact("Call me on 07700 900854, is it safe to fly at 36 weeks?")
    'Call me on [phone], is it safe to fly at 36 weeks?'
    """
    names = placeholders(language_of(text))
    for span in reversed(find_private(text, country)):
        text = f"{text[: span.start]}[{names[span.kind]}]{text[span.end :]}"
    return text


def impersonal(text: str) -> str:
    """A text without private data or what stands for it when redacted: a name becomes "patient", the rest a blank.

    What reads a question for its meaning, such as triage, reads the same whether it was redacted or not.

    >>> impersonal("Ana Gil, FN 1/2/90, tel. [teléfono], sangrado") == impersonal("[nombre y fecha de nacimiento], tel. [teléfono], sangrado")
    True
    """
    for span in reversed(find_private(text)):
        kept = _PERSON if span.kind in _OF_PERSONS else " "
        text = f"{text[: span.start]}{kept}{text[span.end :]}"
    return _BRACKETED.sub(lambda found: _meant().get(found[1], found[0]), text)


@functools.cache
def _meant() -> Mapping[str, str]:
    """What is read for each placeholder; made when first needed, since the Spanish ones need their catalogue."""
    named = [item for language in ("en", "es") for item in placeholders(language).items()]
    return {name: _PERSON if kind in _OF_PERSONS else " " for kind, name in named}
