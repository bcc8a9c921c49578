"""The publications behind what a document says."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A publication.

    Args:
        id: its key in the document; empty if sections do not refer to it.
        jurisdiction: where it applies, such as "UK"; may be empty.
        type: such as "guideline"; may be empty.
    """

    organisation: str
    title: str
    year: int
    id: str = ""
    jurisdiction: str = ""
    type: str = ""

    def __str__(self) -> str:
        return f"{self.organisation}, {self.title}, {self.year}{self._where}"

    @property
    def short(self) -> str:
        """Organisation, year and jurisdiction."""
        return f"{self.organisation} {self.year}{self._where}"

    @property
    def _where(self) -> str:
        return f" ({self.jurisdiction})" if self.jurisdiction else ""


def source_line(sources: Iterable[Source]) -> str:
    """Sources on one line, each once; empty for none."""
    return "; ".join(map(str, dict.fromkeys(sources)))


def difference(sources: Sequence[Source], differs_from: Sequence[Source]) -> str:
    """One sentence saying whose guidance differs; empty if nobody's does."""
    if not differs_from:
        return ""
    *names, last = dict.fromkeys(source.short for source in (*sources, *differs_from))
    listed = f"{', '.join(names)} and {last}" if names else last
    return f"Guidance differs: {listed} do not agree here."


def sources_to_json(sources: Iterable[Source]) -> str:
    """Sources as one line of JSON; empty for none."""
    rows = [astuple(source) for source in sources]
    return json.dumps(rows, ensure_ascii=False) if rows else ""


def sources_from_json(text: str) -> tuple[Source, ...]:
    """The sources in a line of `sources_to_json`."""
    return tuple(Source(*row) for row in json.loads(text)) if text else ()
