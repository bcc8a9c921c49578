"""An answer drawn as HTML: its sentences with their support, its citations as buttons, and remarks on its evidence."""

import re
from collections.abc import Iterable, Iterator

import rag_core
from pages.drawing.pieces import opener
from pages.drawing.translate import declared, plural, t, translated, words_for
from pages.drawing.untrusted import bold, escape
from rag_core.stages.remarks import perhaps_you_meant, what_differs
from rag_core.values.answers import HOW_GROUNDED, Grounded, Remark, lists_as_html

VERDICTS = {True: "", False: declared("unsupported"), None: declared("unclear")}  # of a citation
SUPPORT = words_for("support")
KINDS = words_for("support_in_line")
NOTICES = words_for("notices")  # of remarks that the line above an answer names
LONG = 3000  # characters of an answer; a longer one scrolls in its own frame
_MARKER = re.compile(r"\[(\d+)\]")


def finished(trace: rag_core.Trace, answer: rag_core.Answer, position: int, *, blind: bool = False) -> str:
    """The answer with remarks on its evidence, or the abstention; `blind` hides what tells its strategy."""
    notice = f'<p class="rl-notice">{escape(answer.notice)}</p>' if answer.notice else ""
    if answer.abstained:
        reason = answer.reason if answer.reason.endswith((".", "!", "?")) else f"{answer.reason}."
        near = _suggestions(trace, answer, position)
        return (
            f'{notice}<div class="rl-box rl-thin" data-said><b>{escape(answer.written)}</b><br>'
            f"{'' if blind else escape(reason)}{near}</div>"
        )
    frame = (
        f'<div class="rl-answer rl-long" data-said tabindex="0" role="region" aria-label="{t("Answer")}">'
        if len(answer.written) > LONG
        else '<div class="rl-answer" data-said>'
    )
    written = f"{frame}{_written(answer, position)}</div>"
    remarks, alarms = trace.remarks(), ""  # alarms must be read before the answer
    for one in remarks:
        if one.kind == "buried":
            alarms += f'<p class="rl-alarm" role="alert">{escape(one.text)}</p>'
        elif one.kind == "cut":
            alarms += f'<p class="rl-remark">{escape(one.text)}</p>'
    notes = "" if blind else _notices(trace, remarks)
    support = "" if blind else _support(answer)
    buried = " rl-buried" if any(one.kind == "buried" for one in answer.remarks) else ""
    return f'<div class="rl-said{buried}">{alarms}{notice}{notes}{written}{support}</div>'


def _notices(trace: rag_core.Trace, remarks: Iterable[Remark]) -> str:
    """One line that names what else to mind, opened for the remarks in full."""
    told = [one for one in remarks if one.kind in NOTICES]
    if not told:
        return ""
    names = " · ".join(dict.fromkeys(translated(NOTICES[one.kind]) for one in told))
    rows = ""
    for one in told:
        cited = trace.ranking.hits[one.citations[0] - 1].passage if one.kind == "differs" else None
        sides = (t("“{title}”", title=quote) for quote in (what_differs(cited) if cited else ()))
        rows += f"<li>{'<br>'.join(escape(each) for each in (one.text, *sides))}</li>"
    return (
        f'<details class="rl-notices"><summary><b>{t("Note:")}</b> {escape(names)}</summary><ul>{rows}</ul></details>'
    )


def _suggestions(trace: rag_core.Trace, answer: rag_core.Answer, position: int) -> str:
    if not answer.suggestions:
        return ""
    ranks = {hit.id: rank for rank, hit in enumerate(trace.ranking, start=1)}
    rows = "".join(
        f"<li>{opener(position, ranks[near.context_id], escape(near.title), 'rl-open')}</li>"
        if near.context_id in ranks
        else f"<li>{escape(near.title)}</li>"
        for near in answer.suggestions
    )
    return f'<div class="rl-near">{escape(perhaps_you_meant(trace.question))}:<ul>{rows}</ul></div>'


def _support(answer: rag_core.Answer) -> str:
    """How many sentences the passages support; opened, how that was found out, and the basis of each that is not copied."""
    if not answer.sentences:
        return ""
    counts = {kind: sum(one.support == kind for one in answer.sentences) for kind in SUPPORT}
    others = "".join(f" · {counts[kind]} {translated(KINDS[kind])}" for kind in ("weak", "unsupported") if counts[kind])
    total, supported = len(answer.sentences), counts["supported"]
    shown = plural(
        "{supported} of {count} sentence supported by the passages shown",
        "{supported} of {count} sentences supported by the passages shown", total, supported=supported,
    )  # fmt: skip
    rows = "".join(_basis(one) for one in answer.sentences if one.text not in one.quote)
    if supported and all(one.text in one.quote for one in answer.sentences if one.support == "supported"):
        shown = plural(
            "{supported} of {count} sentence copied from its source, which may not answer you",
            "{supported} of {count} sentences copied from their sources, which may not answer you", total, supported=supported,
        )  # fmt: skip
    return (
        f'<details class="rl-support"><summary>{escape(shown + others)}</summary>'
        f"<p>{escape(translated(HOW_GROUNDED))}</p>{f'<ul>{rows}</ul>' if rows else ''}</details>"
    )


def _basis(sentence: Grounded) -> str:
    """A sentence with what supports it or why nothing does, as an item of a list."""
    support = translated(SUPPORT[sentence.support])
    if sentence.support == "supported":
        numbers = ", ".join(f"{n:d}" for n in sentence.by)
        support += ": " + plural("passage {numbers}", "passages {numbers}", len(sentence.by), numbers=numbers)
    reason = f" {escape(translated(sentence.reason))}" if sentence.reason else ""
    quote = escape(" ".join(" … ".join(sentence.quote).split()))
    nearest = f"<br>{t('Passage {number:d}: “{quote}”', number=sentence.n, quote=quote)}" if quote else ""
    return f"<li>{bold(t('“{title}”', title=sentence.text))} <b>{escape(support)}.</b>{reason}{nearest}</li>"


def _written(answer: rag_core.Answer, position: int) -> str:
    citations = {marker: one for one in answer.citations for marker in one.markers}
    places = (citations.get(place) for place in range(len(_MARKER.findall(answer.written))))
    parts, end = [], 0
    for one in answer.sentences:
        parts.append(_linked(answer.written[end : one.start], places, position))
        doubtful = one.support != "supported"  # the sentence says so itself
        drawn = _linked(answer.written[one.start : one.end], places, position, doubtful)
        mark = f'<small class="rl-mark"> {escape(translated(KINDS[one.support]))}</small>' if doubtful else ""
        parts.append(f'<span class="rl-sentence rl-{escape(one.support)}">{drawn}{mark}</span>')
        end = one.end
    parts.append(_linked(answer.written[end:], places, position))
    return lists_as_html("".join(parts))


def _linked(text: str, citations: Iterator[rag_core.Citation | None], position: int, marked: bool = False) -> str:
    """Text with its markers as buttons and its bold print; takes one of `citations` for each marker."""
    return "".join(
        _link(int(piece), next(citations), position, marked) if place % 2 else bold(piece)
        for place, piece in enumerate(_MARKER.split(text))
    )


def _link(number: int, citation: rag_core.Citation | None, position: int, marked: bool) -> str:
    verdict = translated(VERDICTS[citation.supported]) if citation else ""
    spoken = f", {verdict}" if verdict else ""
    shown = f" <small>{verdict}</small>" if verdict and not marked else ""
    css = "rl-cite rl-doubt" if verdict else "rl-cite"
    return opener(position, number, f"{number:d}{shown}", css, t("Open passage {number:d}", number=number) + spoken)
