"""Phone numbers of the chosen country."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from ...values.errors import SettingsError
from ...values.message import Message
from ...values.translation import country_name


@dataclass(frozen=True, slots=True)
class Helplines:
    """A country's numbers; one that is empty is not known.

    Args:
        code: the country's, of ISO 3166.
        crisis: for thoughts of suicide or of harming the baby.
    """

    code: str
    emergency: str
    crisis: str = ""
    violence: str = ""


def helplines(country: str) -> Helplines | None:
    """The numbers of a country, by its ISO 3166 code; None for an empty code.

    Raises:
        SettingsError: the country is not listed.
    """
    if not country:
        return None
    table = _table()
    if country.upper() not in table:
        raise SettingsError(
            Message("Setting RAG_COUNTRY: there are no phone numbers for {country!r}.", country=country[:20]),
            Message("Use one of {countries}, or leave it empty.", countries=", ".join(table)),
        )
    return table[country.upper()]


def countries(language: str = "en") -> Mapping[str, str]:
    """The name of each country that can be chosen, by its ISO 3166 code."""
    return {code: country_name(code, language) for code in _table()}


@functools.cache
def _table() -> Mapping[str, Helplines]:
    rows = tomllib.loads(resources.files(__package__).joinpath("helplines.toml").read_text("utf-8"))
    return {code: Helplines(code, **row) for code, row in rows.items()}
