"""A saved session as one HTML file to keep, send or print: no script, nothing fetched, every text escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from ..catalog import RECIPES, describe_changes
from ..documents.documents import BUILTIN
from ..explain.answers import AnswerDifferences, Told, differences_of, letter
from ..explain.flow import query_title, stage_title
from ..language.highlight import highlight
from ..safety.urgency.helplines import Helplines, helplines
from ..safety.urgency.triage import triage_for
from ..safety.urgency.words import urgent_notice
from ..values.answers import LEADING, bold_as_html
from ..values.errors import SettingsError
from ..values.notice import NOTICE
from ..values.prompt_injection import GIVES_ORDERS
from ..values.sources import age_note, difference, listed, source_line
from ..values.translation import country_name, translate, translate_plural, translated
from ..values.visible import visible
from .saved import Saved, SavedAnswer, SavedContext, SavedQuery, SavedStep

STYLE = Path(__file__).with_name("report.css")
# Even text that slipped past the escaping could load and run nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
DOUBTS = {True: "", False: "unsupported", None: "unclear"}  # of a citation
_MARKER = re.compile(r"\[(\d+)\]")


def report(
    traces: Sequence[Saved], when: datetime, failures: Sequence[str] = (), language: str = "en"
) -> str:
    """A session as HTML.

    What to do about an urgent question is read from the question again, so that it is today's advice.

    Args:
        traces: of one question; at least one.
        when: when it was asked, or exported.
        failures: a sentence for each strategy that gave no result.
        language: of what the report itself says; an ISO 639-1 code.
    """
    question, titles = traces[0].question, [_title(trace, language) for trace in traces]
    differences = differences_of([_told(trace) for trace in traces])
    numbered = list(enumerate(zip(titles, traces, strict=True), start=1))
    columns = "".join(_column(number, title, trace, language) for number, (title, trace) in numbered)
    paths = "".join(_path(number, title, trace, language) for number, (title, trace) in numbered)
    asked = f"{_date(when, language)}, {when:%H:%M} {_text(when.tzname() or '')}"
    return page(
        question,
        f'<p class="soft">{translate(language, "Retrieval strategies compared")} · {asked}{_country(traces[0], language)}</p>'
        f"<h1>{_text(question)}</h1>{_urgent(traces)}{_vote(traces, titles, differences, language)}"
        f'{_differences(differences, len(traces), language)}{"".join(_warning(one) for one in failures)}<div class="columns">{columns}</div>{paths}',
        language,
    )


def page(title: str, body: str, language: str = "en") -> str:
    """An HTML file of a title, which is escaped, and a body of HTML under our notice."""
    return (
        f'<!DOCTYPE html>\n<html lang="{language}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">'
        f"<title>{_text(title)}</title><style>{STYLE.read_text(encoding='utf-8')}</style></head><body><main>"
        f'<p class="notice"><span lang="en">{_text(NOTICE)}</span> <span lang="es">Demostración, no consejo médico.</span></p>'
        f"{body}</main></body></html>\n"
    )


def _date(when: datetime, language: str) -> str:
    from babel.dates import format_date

    return format_date(when, "d MMMM y" if language == "en" else "long", locale=language)


def _differences(differences: AnswerDifferences, answers: int, language: str) -> str:
    """What the answers share, and what only some have; nothing for one answer."""
    told = differences.in_words(language)
    if answers < 2 or not told:
        return ""
    rows = "".join(f"<li>{bold_as_html(_text(one))}</li>" for one in told)
    return f'<div class="differences"><h2>{translate(language, "What differs")}</h2><ul class="plain">{rows}</ul></div>'


def _told(trace: Saved) -> Told | None:
    answer = trace.answer
    if answer is None:
        return None
    cited = (trace.contexts[one.n - 1] for one in answer.citations if 1 <= one.n <= len(trace.contexts))
    sections: dict[tuple[str, ...], str] = {(trace.corpus, one.doc_id, one.title): one.title for one in cited}
    return Told(answer.text.removeprefix(answer.notice).strip(), answer.abstained, sections)


def as_text(text: object) -> str:
    """Any text as HTML that shows it."""
    return html.escape(visible(str(text)))


_text = as_text  # on nearly every line here


def _title(trace: Saved, language: str) -> str:
    """The strategy's title, after its label where that says more."""
    title = (
        translated(language, RECIPES[trace.strategy].title) if trace.strategy in RECIPES else trace.strategy
    )
    return _text(title if trace.name == trace.strategy else f"{trace.name}: {title}")


def _vote(
    traces: Sequence[Saved], titles: Sequence[str], differences: AnswerDifferences, language: str
) -> str:
    """What was voted best; the titles are HTML."""
    if any(trace.voted_best is None for trace in traces):
        return ""
    best = [title for title, trace in zip(titles, traces, strict=True) if trace.voted_best]
    places = tuple(place for place, trace in enumerate(traces) if trace.voted_best)
    told = listed(best, language) or translate(language, "none is good enough")
    if differences.is_tie(places):
        told = translate(language, "a tie")
    elif len(best) > 1:
        told = translate(language, "{columns} (the same answer)", columns=told)
    said = translate(language, "Vote while the names were hidden: {best}.", best=told)
    return f'<p class="soft">{said}</p>'


def _lines(trace: Saved) -> Helplines | None:
    """The phone numbers of the country whose guidance led."""
    try:
        return helplines(trace.country or "")
    except SettingsError:  # the file may say anything
        return None


def _country(trace: Saved, language: str) -> str:
    lines = _lines(trace)
    if lines is None:
        return ""
    country = _text(country_name(lines.code, language))
    return f" · {translate(language, 'guidance for {country} leads', country=country)}"


def _urgent(traces: Sequence[Saved]) -> str:
    read = [triage_for(trace.subject)(trace.question) for trace in traces]
    found = next((one for one in read if one.urgent), read[0])
    notice = urgent_notice(found, _lines(traces[0]))
    if notice is None:
        return ""
    numbers = "".join(f"<li>{_text(number)}</li>" for number in notice.numbers)
    return (
        f'<div class="urgent {found.level}" role="note" lang="{found.language}"><h2>{_text(notice.title)}</h2>'
        f'<p>{_text(notice.action)}</p><ul class="plain">{numbers}</ul><small>{_text(notice.reason)} {_text(notice.caveat)}</small></div>'
    )


def _column(number: int, title: str, trace: Saved, language: str) -> str:
    """A strategy's answer, what it cost, and what it quotes."""
    changed = describe_changes((trace.strategy, trace.controls)) if trace.strategy in RECIPES else ""
    told = translate(language, "changed: {changes}", changes=changed)
    chip = f'<p><span class="chip">{_text(told)}</span></p>' if changed else ""
    spent = f"{trace.seconds:.1f} s · {_dollars(trace.metrics.total_cost)}"
    return (
        f'<section id="s{number:d}"><h2><span class="letter">{letter(number - 1)}</span> {title}</h2>{chip}'
        f'<p class="soft">{_runs_on(trace, language)}<br>{spent} · '
        f'<a href="#s{number:d}-path">{translate(language, "How it got here")}</a></p>'
        f"{_answer(trace.answer, len(trace.contexts), number, language)}{''.join(map(_warning, trace.warnings))}"
        f"{_citations(trace.answer, trace.contexts, number, language)}</section>"
    )


def _path(number: int, title: str, trace: Saved, language: str) -> str:
    """How a strategy came to its answer: its queries, its passages, and its stages."""
    return (
        f'<section class="path" id="s{number:d}-path"><h2><span class="letter">{letter(number - 1)}</span> {title} · '
        f"{translate(language, 'How it got here')}</h2>{_queries(trace, language)}{_passages(trace, number, language)}"
        f"{_stages(trace, language)}</section>"
    )


def _runs_on(trace: Saved, language: str) -> str:
    """The model that answered, and the documents that were searched."""
    parts = []
    if trace.model.startswith("offline"):
        parts.append(translate(language, "offline engine (no language model)"))
    elif trace.model:
        parts.append(f"{translate(language, 'Model')}: {trace.model}")
    if trace.corpus == BUILTIN:
        parts.append(translate(language, "Built-in documents"))
    elif trace.corpus:
        parts.append(f"{translate(language, 'Documents')}: {trace.corpus}")
    said = " · ".join(parts)
    return _text(said[:1].upper() + said[1:])


def _warning(text: str) -> str:
    return f'<p class="warning">{_text(text)}</p>'


def _answer(answer: SavedAnswer | None, passages: int, number: int, language: str) -> str:
    """The answer, its markers linked to the passages below, and the remarks on its evidence."""
    if answer is None:
        return f"<p>{translate(language, 'Run without an answer.')}</p>"
    notice = f'<p class="ours">{_text(answer.notice)}</p>' if answer.notice else ""
    text = answer.text.removeprefix(answer.notice).strip()
    before = "".join(_warning(one.text) for one in answer.remarks if one.kind in LEADING)
    after = "".join(_warning(one.text) for one in answer.remarks if one.kind not in LEADING)
    if answer.abstained:
        return f'{notice}{before}<div class="declined"><b>{_text(text)}</b><br>{_text(answer.reason)}</div>{after}'
    pieces = "".join(
        _link(int(piece), passages, number) if place % 2 else _text(piece)
        for place, piece in enumerate(_MARKER.split(text))
    )
    return f'{before}{notice}<p class="answer">{bold_as_html(pieces)}</p>{_support(answer, language)}{after}'


def _link(n: int, passages: int, number: int) -> str:
    return (
        f'<a class="cite" href="#s{number:d}-p{n:d}">{n:d}</a>' if 1 <= n <= passages else _text(f"[{n:d}]")
    )


def _support(answer: SavedAnswer, language: str) -> str:
    """How many sentences the passages support, and which they do not."""
    if not answer.sentences:
        return ""
    doubtful = [one for one in answer.sentences if one.support != "supported"]
    rows = "".join(
        f"<li>{_text(translated(language, one.support))}: {_text(translate(language, '“{title}”', title=one.text))}</li>"
        for one in doubtful
    )
    said = translate_plural(
        language,
        "{supported} of {count} sentence supported by the passages shown",
        "{supported} of {count} sentences supported by the passages shown",
        len(answer.sentences),
        supported=len(answer.sentences) - len(doubtful),
    )
    return f'<p class="soft">{said}.</p>' + (f'<ul class="soft">{rows}</ul>' if rows else "")


def _citations(
    answer: SavedAnswer | None, contexts: Sequence[SavedContext], number: int, language: str
) -> str:
    """The passages cited, each with the sentences quoted from it."""
    quoted: dict[int, str] = {}
    for one in answer.citations if answer else ():
        quote = f"<blockquote>{_text(one.quote)}{_doubt(one.supported, language)}</blockquote>"
        quoted[one.n] = quoted.get(one.n, "") + quote
    rows = "".join(
        f"<li>{_link(n, len(contexts), number)} {_text(contexts[n - 1].title)}{quotes}</li>"
        for n, quotes in quoted.items()
        if 1 <= n <= len(contexts)
    )
    return f'<h3>{translate(language, "Quoted")}</h3><ul class="plain">{rows}</ul>' if rows else ""


def _doubt(supported: bool | None, language: str) -> str:
    return "" if supported else f' <small class="doubt">{translated(language, DOUBTS[supported])}</small>'


def _queries(trace: Saved, language: str) -> str:
    rows = "".join(
        f"<li>{_text(one.text)} <small>{_query(one, language)}</small></li>" for one in trace.queries
    )
    return f"<h3>{translate(language, 'Queries')}</h3><ul>{rows}</ul>"


def _query(one: SavedQuery, language: str) -> str:
    parts = [
        translated(language, query_title(one.origin)),
        translate(language, "weight {weight:g}", weight=one.weight),
    ]
    if one.read_as:
        parts.append(translate(language, "Read as: {text}", text=one.read_as))
    return _text(" · ".join(parts))


def _passages(trace: Saved, number: int, language: str) -> str:
    quotes: dict[int, list[str]] = {}
    for cited in trace.answer.citations if trace.answer else ():
        if cited.supported and cited.quote:
            quotes.setdefault(cited.n, []).append(cited.quote)
    rows = "".join(
        _passage(one, rank, number, quotes.get(rank, ()), language)
        for rank, one in enumerate(trace.contexts, start=1)
    )
    none = f"<p>{translate(language, 'No passages found.')}</p>"
    return f"<h3>{translate(language, 'Passages')}</h3>{rows or none}"


def _passage(one: SavedContext, rank: int, number: int, quotes: Iterable[str], language: str) -> str:
    said = translated(language, one.label or "No label")
    label = f'<span class="label {_text((one.label or "none").lower())}">{_text(said)}</span>'
    marked = "".join(
        f"<mark>{_text(piece.text)}</mark>" if piece.quoted else _text(piece.text)
        for piece in highlight(one.text, "", "en", quotes)
    )
    agreeing = [source for source in one.sources if source not in one.differs_from]
    notes = [
        translated(language, GIVES_ORDERS) if one.gives_orders else "",
        source_line(one.sources, language) or one.source,
        difference(agreeing, one.differs_from, language),
        translated(language, age_note(one.sources)),
    ]
    said = "".join(f"<small>{_text(note)}</small><br>" for note in notes if note)
    return (
        f'<article id="s{number:d}-p{rank:d}"><h4>{rank:d}. {_text(one.title)}</h4>'
        f"{label}<p>{marked}</p>{said}</article>"
    )


def _stages(trace: Saved, language: str) -> str:
    rows = "".join(
        f"<tr><td>{_text(translated(language, stage_title(step.stage)))}</td>"
        f'<td class="n">{step.seconds:.3f} s</td>{_tokens(step)}</tr>'
        for step in trace.steps
    )
    metrics = trace.metrics
    total = (
        f'<tr><th>{translate(language, "Total")}</th><th class="n">{trace.seconds:.3f} s</th>'
        f'<th class="n">{metrics.total_input_tokens:,}</th><th class="n">{metrics.total_output_tokens:,}</th>'
        f'<th class="n">{_dollars(metrics.total_cost)}</th></tr>'
    )
    first, *others = (
        translate(language, "Stage"),
        translate(language, "Time"),
        translate(language, "Tokens in"),
        translate(language, "Tokens out"),
        translate(language, "Cost"),
    )
    numbers = "".join(f'<th class="n">{one}</th>' for one in others)
    return (
        f'<h3>{translate(language, "Stages, time and cost")}</h3><div class="scroll"><table>'
        f"<thead><tr><th>{first}</th>{numbers}</tr></thead><tbody>{rows}{total}</tbody></table></div>"
        f'<p class="soft">{translate(language, "The total counts the tokens of language models alone.")}</p>'
    )


def _tokens(step: SavedStep) -> str:
    if not step.calls:
        return '<td class="n">–</td>' * 3
    prices = [call.cost_usd for call in step.calls]
    cost = None if None in prices else sum(price for price in prices if price is not None)
    return (
        f'<td class="n">{sum(call.input_tokens for call in step.calls):,}</td>'
        f'<td class="n">{sum(call.output_tokens for call in step.calls):,}</td><td class="n">{_dollars(cost)}</td>'
    )


def _dollars(cost: float | None) -> str:
    return "n/a" if cost is None else f"${cost:.6f}" if cost else "$0"
