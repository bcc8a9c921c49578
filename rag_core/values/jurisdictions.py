"""Where guidance applies: each jurisdiction that a source can name, its country, and its names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Jurisdiction:
    """Where a source applies.

    Args:
        country: ISO 3166 code; empty for more than one country, which neither leads nor gives way.
        es: its name in Spanish; in English it goes by its key in `JURISDICTIONS`.
        words: the other words, in both languages, by which a text names it; as a regular expression.
    """

    country: str
    es: str
    words: str = ""


JURISDICTIONS: Mapping[str, Jurisdiction] = {
    "International": Jurisdiction("", "internacional"),
    "Europe": Jurisdiction("", "Europa"),
    "Latin America": Jurisdiction("", "América Latina"),
    "UK": Jurisdiction(
        "GB", "Reino Unido", "United Kingdom|Britain|British|England|británic[oa]s?|Inglaterra"
    ),
    "Ireland": Jurisdiction("IE", "Irlanda", "Irish|irlandes(?:a|es|as)?|irlandés"),
    "US": Jurisdiction("US", "EE. UU.", "United States|American|Estados Unidos|estadounidenses?"),
    "Canada": Jurisdiction("CA", "Canadá", "Canadian|canadienses?"),
    "Australia": Jurisdiction("AU", "Australia", "Australian|australian[oa]s?"),
    "Spain": Jurisdiction("ES", "España", "Spanish|español(?:a|es|as)?"),
    "Mexico": Jurisdiction("MX", "México", "Mexican|mexican[oa]s?"),
    "Colombia": Jurisdiction("CO", "Colombia", "Colombian|colombian[oa]s?"),
    "Peru": Jurisdiction("PE", "Perú", "Peruvian|peruan[oa]s?"),
    "Chile": Jurisdiction("CL", "Chile", "Chilean|chilen[oa]s?"),
    "Argentina": Jurisdiction("AR", "Argentina", "Argentine|argentin[oa]s?"),
    "France": Jurisdiction("FR", "Francia", "French|francés|frances(?:a|es|as)"),
    "Germany": Jurisdiction("DE", "Alemania", "German|alemana?|alemanes"),
}


def country_of(jurisdiction: str) -> str:
    """ISO 3166 code of the country; empty for several countries or an unknown one."""
    known = JURISDICTIONS.get(jurisdiction)
    return known.country if known else ""


def name_of(jurisdiction: str, language: str = "en") -> str:
    """Its name in a language; other languages than Spanish get English."""
    known = JURISDICTIONS.get(jurisdiction)
    return known.es if known and language == "es" else jurisdiction


def jurisdiction_of(country: str) -> str:
    """The jurisdiction of a country by its code; empty if no source can name it."""
    return next((name for name, known in JURISDICTIONS.items() if country and known.country == country), "")
