"""A saved session as one HTML file: no script, nothing fetched, and every text escaped by the engine of `templates/`."""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..catalog import RECIPES, describe_changes
from ..documents.documents import BUILTIN
from ..explain.answers import AnswerDifferences, Told, differences_of, letter
from ..explain.flow import query_title, stage_title
from ..language.highlight import Segment, highlight
from ..safety.urgency.helplines import Helplines, helplines, urgent_notice
from ..safety.urgency.triage import triage_for
from ..values.answers import LEADING, Citation, bold_as_html, lists_as_html
from ..values.errors import SettingsError
from ..values.message import NOTICE
from ..values.prompt_injection import GIVES_ORDERS
from ..values.sources import age_note, difference, listed, source_line
from ..values.translation import country_name, translate, translate_plural, translated
from ..values.visible import visible
from .saved import Saved, SavedContext

DOUBTS = {False: "unsupported", None: "unclear"}  # of a citation
_MARKER = re.compile(r"\[(\d+)\]")


def report(traces: Sequence[Saved], when: datetime, failures: Sequence[str] = (), language: str = "en") -> str:
    """A session of one question as HTML, in a language by its ISO 639-1 code; `failures` are sentences.

    What to do about an urgent question is read from the question again, so that it is today's advice.
    """
    columns = [_Column(number, trace, language) for number, trace in enumerate(traces, start=1)]
    differences = differences_of([column.told for column in columns])
    read = [triage_for(trace.subject)(trace.question) for trace in traces]
    triage = next((one for one in read if one.urgent), read[0])
    lines = _lines(traces[0])
    return page(
        "report.html",
        traces[0].question,
        language,
        asked=f"{_date(when, language)}, {when:%H:%M} {when.tzname() or ''}",
        columns=columns,
        country=country_name(lines.code, language) if lines else "",
        differences=differences.in_words(language) if len(traces) > 1 else [],
        failures=failures,
        triage=triage,
        urgent=urgent_notice(triage, lines),
        vote=_vote(columns, differences, language),
    )


def page(template: str, title: str, language: str = "en", **values: Any) -> str:
    """An HTML file with our notice, from a template and what it shows."""
    return (
        _templates()
        .get_template(template)
        .render(
            title=title,
            language=language,
            notice=NOTICE,
            say=functools.partial(translate, language),
            say_plural=functools.partial(translate_plural, language),
            translated=functools.partial(translated, language),
            notes=functools.partial(_notes, language),
            **values,
        )
    )


@functools.cache
def _templates() -> Environment:
    made = Environment(
        autoescape=True,
        finalize=_visible,
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    made.filters["formatted"] = lambda text: lists_as_html(bold_as_html(_visible(text)))
    made.globals |= {
        "dollars": _dollars,
        "doubts": DOUBTS,
        "leading": LEADING,
        "letter": letter,
        "query_title": query_title,
        "stage_title": stage_title,
    }
    return made


def _visible(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@dataclass(frozen=True, slots=True)
class _Column:
    """A strategy of the report, by its number from 1."""

    number: int
    trace: Saved
    language: str

    @property
    def title(self) -> str:
        trace = self.trace
        known = trace.strategy in RECIPES
        title = translated(self.language, RECIPES[trace.strategy].title) if known else trace.strategy
        return title if trace.name == trace.strategy else f"{trace.name}: {title}"

    @property
    def changed(self) -> str:
        trace = self.trace
        return describe_changes((trace.strategy, trace.controls)) if trace.strategy in RECIPES else ""

    @property
    def runs_on(self) -> str:
        """The model that answered, and the documents that were searched."""
        language, trace = self.language, self.trace
        parts = []
        if trace.model.startswith("offline"):
            parts.append(translate(language, "offline engine (no language model)"))
        elif trace.model:
            parts.append(f"{translate(language, 'Model')}: {trace.model}")
        if trace.corpus == BUILTIN:
            parts.append(translate(language, "Built-in documents"))
        elif trace.corpus:
            parts.append(f"{translate(language, 'Documents')}: {trace.corpus}")
        words = " · ".join(parts)
        return words[:1].upper() + words[1:]

    @property
    def text(self) -> str:
        answer = self.trace.answer
        return answer.text.removeprefix(answer.notice).strip() if answer else ""

    @property
    def pieces(self) -> list[str]:
        """The answer's text, and between two pieces of it the number of a citation."""
        return _MARKER.split(self.text)

    @property
    def cited(self) -> dict[int, list[Citation]]:
        found: dict[int, list[Citation]] = {}
        for one in self.trace.answer.citations if self.trace.answer else ():
            if 1 <= one.n <= len(self.trace.contexts):
                found.setdefault(one.n, []).append(one)
        return found

    @property
    def told(self) -> Told | None:
        trace, answer = self.trace, self.trace.answer
        if answer is None:
            return None
        cited = (trace.contexts[n - 1] for n in self.cited)
        sections: dict[tuple[str, ...], str] = {(trace.corpus, one.doc_id, one.title): one.title for one in cited}
        return Told(self.text, answer.abstained, sections)

    def marked(self, rank: int) -> list[Segment]:
        """The text of the passage at a rank, in pieces: those that the answer quotes, and the rest."""
        quotes = [one.quote for one in self.cited.get(rank, ()) if one.supported and one.quote]
        return highlight(self.trace.contexts[rank - 1].text, "", "en", quotes)


def _notes(language: str, context: SavedContext) -> list[str]:
    """What to know about a passage's sources; empty texts for nothing."""
    agreeing = [source for source in context.sources if source not in context.differs_from]
    return [
        translated(language, GIVES_ORDERS) if context.gives_orders else "",
        source_line(context.sources, language) or context.source,
        difference(agreeing, context.differs_from, language),
        translated(language, age_note(context.sources)),
    ]


def _date(when: datetime, language: str) -> str:
    from babel.dates import format_date

    return format_date(when, "d MMMM y" if language == "en" else "long", locale=language)


def _vote(columns: Sequence[_Column], differences: AnswerDifferences, language: str) -> str:
    if any(column.trace.voted_best is None for column in columns):
        return ""
    best = [column.title for column in columns if column.trace.voted_best]
    if differences.is_tie(tuple(column.number - 1 for column in columns if column.trace.voted_best)):
        return translate(language, "a tie")
    names = listed(best, language) or translate(language, "none is good enough")
    return translate(language, "{columns} (the same answer)", columns=names) if len(best) > 1 else names


def _lines(trace: Saved) -> Helplines | None:
    try:
        return helplines(trace.country or "")
    except SettingsError:  # the file may say anything
        return None


def _dollars(cost: float | None) -> str:
    return "n/a" if cost is None else f"${cost:.6f}" if cost else "$0"
