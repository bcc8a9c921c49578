"""A saved session as one HTML file to keep, send or print: no script, nothing fetched, every text escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from string import ascii_uppercase

from ..catalog import RECIPES, describe_changes
from ..documents.documents import BUILTIN
from ..explain.answers import Told, differences_of
from ..explain.flow import query_title, stage_title
from ..language.highlight import highlight
from ..safety.urgency.helplines import Helplines, helplines
from ..safety.urgency.triage import triage_for
from ..safety.urgency.words import urgent_notice
from ..values.answers import LEADING, bold_as_html
from ..values.errors import SettingsError
from ..values.notice import NOTICE
from ..values.prompt_injection import GIVES_ORDERS
from ..values.sources import listed
from ..values.translation import country_name
from ..values.visible import visible
from .saved import Saved, SavedAnswer, SavedContext, SavedStep

STYLE = Path(__file__).with_name("report.css")
# Even text that slipped past the escaping could load and run nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
DOUBTS = {True: "", False: "unsupported", None: "unclear"}  # of a citation
_MARKER = re.compile(r"\[(\d+)\]")


def report(traces: Sequence[Saved], when: datetime, failures: Sequence[str] = ()) -> str:
    """A session as HTML.

    What to do about an urgent question is read from the question again, so that it is today's advice.

    Args:
        traces: of one question; at least one.
        when: when it was asked, or exported.
        failures: a sentence for each strategy that gave no result.
    """
    question, titles = traces[0].question, [_title(trace) for trace in traces]
    numbered = list(enumerate(zip(titles, traces, strict=True), start=1))
    columns = "".join(_column(number, title, trace) for number, (title, trace) in numbered)
    paths = "".join(_path(number, title, trace) for number, (title, trace) in numbered)
    return page(
        question,
        f'<p class="soft">Retrieval strategies compared · {when:%d %B %Y, %H:%M} {_text(when.tzname() or "")}{_country(traces[0])}</p>'
        f"<h1>{_text(question)}</h1>{_urgent(traces)}{_vote(traces, titles)}{_differences(traces)}"
        f'{"".join(_warning(one) for one in failures)}<div class="columns">{columns}</div>{paths}',
    )


def page(title: str, body: str) -> str:
    """An HTML file of a title, which is escaped, and a body of HTML under our notice."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">'
        f"<title>{_text(title)}</title><style>{STYLE.read_text(encoding='utf-8')}</style></head><body><main>"
        f'<p class="notice">{_text(NOTICE)} <span lang="es">Demostración, no consejo médico.</span></p>'
        f"{body}</main></body></html>\n"
    )


def _differences(traces: Sequence[Saved]) -> str:
    """What the answers share, and what only some have; nothing for one answer."""
    if len(traces) < 2:
        return ""
    found = differences_of([_told(trace) for trace in traces])
    told = [f"{_letters(columns)} give the same answer." for columns in found.same]
    told += [f"{_letters(columns)} quote the same sections." for columns in found.quoting]
    for columns, titles in found.sections.items():
        quoted = ", ".join(f"“{_text(title)}”" for title in titles)
        told.append(f"Only {_letters(columns)} {'quotes' if len(columns) == 1 else 'quote'} {quoted}.")
    for columns, figures in found.figures.items():
        named = _text(", ".join(figures))
        told.append(f"Only {_letters(columns)} {'names' if len(columns) == 1 else 'name'} {named}.")
    if found.declined:
        told.append(
            f"{_letters(found.declined)} {'declines' if len(found.declined) == 1 else 'decline'} to answer."
        )
    if not told:
        return ""
    rows = "".join(f"<li>{one}</li>" for one in told)
    return f'<div class="differences"><h2>What differs</h2><ul class="plain">{rows}</ul></div>'


def _told(trace: Saved) -> Told | None:
    answer = trace.answer
    if answer is None:
        return None
    cited = (trace.contexts[one.n - 1] for one in answer.citations if 1 <= one.n <= len(trace.contexts))
    sections: dict[tuple[str, ...], str] = {(trace.corpus, one.doc_id, one.title): one.title for one in cited}
    return Told(answer.text.removeprefix(answer.notice).strip(), answer.abstained, sections)


def _letters(columns: Iterable[int]) -> str:
    """Columns by their letters: "A, B and C"."""
    return f"<b>{listed(_letter(place + 1) for place in columns)}</b>"


def _letter(number: int) -> str:
    """The letter of a column, from 1; its number after Z."""
    return ascii_uppercase[number - 1] if number <= len(ascii_uppercase) else f"{number:d}"


def as_text(text: object) -> str:
    """Any text as HTML that shows it."""
    return html.escape(visible(str(text)))


_text = as_text  # on nearly every line here


def _title(trace: Saved) -> str:
    """The strategy's title, after its label where that says more."""
    title = RECIPES[trace.strategy].title if trace.strategy in RECIPES else trace.strategy
    return _text(title if trace.name == trace.strategy else f"{trace.name}: {title}")


def _vote(traces: Sequence[Saved], titles: Sequence[str]) -> str:
    """What was voted best; the titles are HTML."""
    if any(trace.voted_best is None for trace in traces):
        return ""
    best = [title for title, trace in zip(titles, traces, strict=True) if trace.voted_best]
    places = tuple(place for place, trace in enumerate(traces) if trace.voted_best)
    told = listed(best) or "none is good enough"
    if differences_of([_told(trace) for trace in traces]).is_tie(places):
        told = "a tie"
    elif len(best) > 1:
        told += " (the same answer)"
    return f'<p class="soft">Vote while the names were hidden: {told}.</p>'


def _lines(trace: Saved) -> Helplines | None:
    """The phone numbers of the country whose guidance led."""
    try:
        return helplines(trace.country or "")
    except SettingsError:  # a country of another version
        return None


def _country(trace: Saved) -> str:
    lines = _lines(trace)
    return f" · guidance for {_text(country_name(lines.code))} leads" if lines else ""


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


def _column(number: int, title: str, trace: Saved) -> str:
    """A strategy's answer, what it cost, and what it quotes."""
    changed = describe_changes((trace.strategy, trace.controls)) if trace.strategy in RECIPES else ""
    chip = f'<p><span class="chip">changed: {_text(changed)}</span></p>' if changed else ""
    spent = f"{trace.seconds:.1f} s · {_dollars(trace.metrics.total_cost)}"
    return (
        f'<section id="s{number:d}"><h2><span class="letter">{_letter(number)}</span> {title}</h2>{chip}'
        f'<p class="soft">{_runs_on(trace)}<br>{spent} · <a href="#s{number:d}-path">how it got there</a></p>'
        f"{_answer(trace.answer, len(trace.contexts), number)}{''.join(map(_warning, trace.warnings))}"
        f"{_citations(trace.answer, trace.contexts, number)}</section>"
    )


def _path(number: int, title: str, trace: Saved) -> str:
    """How a strategy came to its answer: its queries, its passages, and its stages."""
    return (
        f'<section class="path" id="s{number:d}-path"><h2><span class="letter">{_letter(number)}</span> {title}: '
        f"how it got there</h2>{_queries(trace)}{_passages(trace, number)}{_stages(trace)}</section>"
    )


def _runs_on(trace: Saved) -> str:
    """The model that answered, and the documents that were searched."""
    offline = trace.model.startswith("offline")
    parts = {
        "Model": "offline engine (no language model)" if offline else trace.model,
        "Documents": "built in" if trace.corpus == BUILTIN else trace.corpus,
    }
    return " · ".join(f"{name}: {_text(value)}" for name, value in parts.items() if value)


def _warning(text: str) -> str:
    return f'<p class="warning">{_text(text)}</p>'


def _answer(answer: SavedAnswer | None, passages: int, number: int) -> str:
    """The answer, its markers linked to the passages below, and the remarks on its evidence."""
    if answer is None:
        return "<p>Run without an answer.</p>"
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
    return f'{before}{notice}<p class="answer">{bold_as_html(pieces)}</p>{_support(answer)}{after}'


def _link(n: int, passages: int, number: int) -> str:
    return (
        f'<a class="cite" href="#s{number:d}-p{n:d}">{n:d}</a>' if 1 <= n <= passages else _text(f"[{n:d}]")
    )


def _support(answer: SavedAnswer) -> str:
    """How many sentences the passages support, and which they do not."""
    if not answer.sentences:
        return ""
    doubtful = [one for one in answer.sentences if one.support != "supported"]
    rows = "".join(f"<li>{_text(one.support)}: “{_text(one.text)}”</li>" for one in doubtful)
    said = f"{len(answer.sentences) - len(doubtful)} of {len(answer.sentences)} sentences supported by the passages below."
    return f'<p class="soft">{said}</p>' + (f'<ul class="soft">{rows}</ul>' if rows else "")


def _citations(answer: SavedAnswer | None, contexts: Sequence[SavedContext], number: int) -> str:
    """The passages cited, each with the sentences quoted from it."""
    quoted: dict[int, str] = {}
    for one in answer.citations if answer else ():
        quote = f"<blockquote>{_text(one.quote)}{_doubt(one.supported)}</blockquote>"
        quoted[one.n] = quoted.get(one.n, "") + quote
    rows = "".join(
        f"<li>{_link(n, len(contexts), number)} {_text(contexts[n - 1].title)}{quotes}</li>"
        for n, quotes in quoted.items()
        if 1 <= n <= len(contexts)
    )
    return f'<h3>Quoted</h3><ul class="plain">{rows}</ul>' if rows else ""


def _doubt(supported: bool | None) -> str:
    return "" if supported else f' <small class="doubt">{DOUBTS[supported]}</small>'


def _queries(trace: Saved) -> str:
    rows = "".join(
        f"<li>{_text(one.text)} <small>{_text(query_title(one.origin))}, weight {one.weight:g}"
        f"{f', read as: {_text(one.read_as)}' if one.read_as else ''}</small></li>"
        for one in trace.queries
    )
    return f"<h3>Queries</h3><ul>{rows}</ul>"


def _passages(trace: Saved, number: int) -> str:
    quotes: dict[int, list[str]] = {}
    for cited in trace.answer.citations if trace.answer else ():
        if cited.supported and cited.quote:
            quotes.setdefault(cited.n, []).append(cited.quote)
    rows = "".join(
        _passage(one, rank, number, quotes.get(rank, ())) for rank, one in enumerate(trace.contexts, start=1)
    )
    return f"<h3>Passages</h3>{rows or '<p>No passages found.</p>'}"


def _passage(one: SavedContext, rank: int, number: int, quotes: Iterable[str]) -> str:
    label = (
        f'<span class="label {_text((one.label or "none").lower())}">{_text(one.label or "No label")}</span>'
    )
    marked = "".join(
        f"<mark>{_text(piece.text)}</mark>" if piece.quoted else _text(piece.text)
        for piece in highlight(one.text, "", "en", quotes)
    )
    age = f"{one.age_years:d} years old: check for newer guidance." if one.old and one.age_years else ""
    notes = [GIVES_ORDERS if one.gives_orders else "", one.source, one.difference, age]
    said = "".join(f"<small>{_text(note)}</small><br>" for note in notes if note)
    return (
        f'<article id="s{number:d}-p{rank:d}"><h4>{rank:d}. {_text(one.title)}</h4>'
        f"{label}<p>{marked}</p>{said}</article>"
    )


def _stages(trace: Saved) -> str:
    rows = "".join(
        f'<tr><td>{_text(stage_title(step.stage))}</td><td class="n">{step.seconds:.3f} s</td>{_tokens(step)}</tr>'
        for step in trace.steps
    )
    metrics = trace.metrics
    total = (
        f'<tr><th>Total</th><th class="n">{trace.seconds:.3f} s</th><th class="n">{metrics.total_input_tokens:,}</th>'
        f'<th class="n">{metrics.total_output_tokens:,}</th><th class="n">{_dollars(metrics.total_cost)}</th></tr>'
    )
    return (
        '<h3>Stages, time and cost</h3><div class="scroll"><table><thead><tr><th>Stage</th><th class="n">Time</th>'
        '<th class="n">Tokens in</th><th class="n">out</th><th class="n">Cost</th></tr></thead>'
        f"<tbody>{rows}{total}</tbody></table></div><p class='soft'>Tokens of language models, counted by: "
        f"{_text(metrics.usage_source or 'unknown')}.</p>"
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
