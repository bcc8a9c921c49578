"""The publications behind what a document says, and where their guidance applies."""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime

from .message import Message
from .places import DATA
from .translation import translate, translate_plural


@dataclass(frozen=True, slots=True)
class Jurisdiction:
    """Where a source applies.

    Args:
        country: ISO 3166 code; empty for more than one country, which neither leads nor gives way.
        es: its name in Spanish; in English it goes by its key in `JURISDICTIONS`.
        words: a regular expression of the other words, in both languages, by which a text names it.
    """

    country: str
    es: str
    words: str = ""


_LISTED = tomllib.loads((DATA / "organisations.toml").read_text(encoding="utf-8"))
JURISDICTIONS = {name: Jurisdiction(**row) for name, row in _LISTED["jurisdictions"].items()}


def name_of(jurisdiction: str, language: str = "en") -> str:
    """Its name in a language; other languages than Spanish get English."""
    known = JURISDICTIONS.get(jurisdiction)
    return known.es if known and language == "es" else jurisdiction


def jurisdiction_of(country: str) -> str:
    """The jurisdiction of a country by its code; empty if no source can name it."""
    return next((name for name, known in JURISDICTIONS.items() if country and known.country == country), "")


# A source older than this many years is flagged. NICE checked each guideline every 5 years (Developing NICE guidelines:
# the manual, chapter 13, until 2022); half of those in Shekelle et al., JAMA 2001;286:1461, were outdated in 5.8.
OLD_YEARS = 5


@dataclass(frozen=True, slots=True)
class Source:
    """A publication, its key in the document (empty if sections do not refer to it), and where it applies."""

    organisation: str
    title: str
    year: int
    id: str = ""
    jurisdiction: str = ""
    type: str = ""

    def __str__(self) -> str:
        return self.in_full("en")

    @property
    def country(self) -> str:
        """ISO 3166 code of the one country where it applies; empty if there is none."""
        known = JURISDICTIONS.get(self.jurisdiction)
        return known.country if known else ""

    def in_language(self, language: str) -> str:
        """Organisation and year, with the jurisdiction's name in a language."""
        where = name_of(self.jurisdiction, language)
        name = self.organisation.removesuffix(f" ({name_of(self.jurisdiction, 'es')})")  # not twice
        return f"{name} {self.year}{f' ({where})' if where else ''}"

    def in_full(self, language: str) -> str:
        """Organisation, title, year and jurisdiction, with the jurisdiction's name in a language."""
        where = name_of(self.jurisdiction, language)
        return f"{self.organisation}, {self.title}, {self.year}{f' ({where})' if where else ''}"


def home_pages(sources: Iterable[Source]) -> dict[str, str]:
    """Organisation -> the address of its home page, for those where that is sure."""
    homes: Mapping[str, str] = _LISTED["homes"]
    return {name: homes[name] for one in sources if (name := one.organisation) in homes}


def source_line(sources: Iterable[Source], language: str = "en") -> str:
    """Sources in full on one line, each once; empty for none."""
    return "; ".join(one.in_full(language) for one in dict.fromkeys(sources))


def source_names(sources: Iterable[Source], language: str = "en") -> str:
    """Organisation, year and jurisdiction of each source, as a list in words; empty for none."""
    return listed((source.in_language(language) for source in sources), language)


def listed(words: Iterable[str], language: str = "en") -> str:
    """Words as a list, each once, such as "a, b and c"; empty for none."""
    *most, last = dict.fromkeys(words) or [""]
    return f"{', '.join(most)} {translate(language, 'and')} {last}" if most else last


def difference(sources: Sequence[Source], differs_from: Sequence[Source], language: str = "en") -> str:
    """One sentence naming both sides where guidance differs; empty if it does not."""
    if not differs_from:
        return ""
    one, other = source_names(sources, language), source_names(differs_from, language)
    if not one:
        return translate(language, "Guidance differs: {other} says something else.", other=other)
    return translate_plural(
        language,
        "Guidance differs: {one} says one thing, {other} another.",
        "Guidance differs: {one} say one thing, {other} another.",
        len({source.in_language("en") for source in sources}),
        one=one,
        other=other,
    )


def leading(sources: Sequence[Source], differs_from: Sequence[Source], country: str) -> tuple[Source, ...]:
    """The sources of a country, if only one of the two sides has any; otherwise none leads."""
    ours = [tuple(one for one in side if country and one.country == country) for side in (sources, differs_from)]
    return ours[0] or ours[1] if not all(ours) else ()


def age_years(sources: Iterable[Source], year: int | None = None) -> int | None:
    """Age of the newest source in years, in a given or the current year; None for no source."""
    years = [source.year for source in sources]
    return max((datetime.now(UTC).year if year is None else year) - max(years), 0) if years else None


def is_old(sources: Iterable[Source], year: int | None = None) -> bool:
    """Whether even the newest source is more than `OLD_YEARS` old."""
    age = age_years(sources, year)
    return age is not None and age > OLD_YEARS


def age_note(sources: Sequence[Source], year: int | None = None) -> str:
    """What to say about old sources; empty if one is recent."""
    if not is_old(sources, year):
        return ""
    newest = max(source.year for source in sources)
    age = age_years(sources, year)
    if len({source.year for source in sources}) == 1:
        return Message("From {newest}, {age} years old: check for newer guidance.", newest=newest, age=age)
    return Message("Newest source from {newest}, {age} years old: check for newer guidance.", newest=newest, age=age)


def sources_to_json(sources: Iterable[Source]) -> str:
    """Sources as one line of JSON; empty for none."""
    rows = [astuple(source) for source in sources]
    return json.dumps(rows, ensure_ascii=False) if rows else ""


def sources_from_json(text: str) -> tuple[Source, ...]:
    """The sources in a line of `sources_to_json`."""
    return tuple(Source(*row) for row in json.loads(text)) if text else ()
