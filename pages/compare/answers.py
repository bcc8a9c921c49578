"""An answer as HTML, drawn by answer.html: its sentences with their support, its citations as buttons, and remarks on its evidence."""

import re
from collections.abc import Iterable, Iterator

from markupsafe import Markup

import rag_core
from pages.drawing.fragments import opener, render
from pages.drawing.translate import declared, plural, t, translated, words_for
from rag_core.stages.remarks import perhaps_you_meant, what_differs
from rag_core.values.answers import HOW_GROUNDED, Grounded, Remark, bold_as_html, lists_as_html

VERDICTS = {True: "", False: declared("unsupported"), None: declared("unclear")}  # of a citation
SUPPORT = words_for("support")
KINDS = words_for("support_in_line")
NOTICES = words_for("notices")  # of remarks that the line above an answer names
LONG = 3000  # characters of an answer; a longer one scrolls in its own frame
_MARKER = re.compile(r"\[(\d+)\]")


def finished(trace: rag_core.Trace, answer: rag_core.Answer, position: int, *, blind: bool = False) -> Markup:
    """The answer with remarks on its evidence, or the abstention; `blind` hides what tells its strategy."""
    if answer.abstained:
        reason = answer.reason if answer.reason.endswith((".", "!", "?")) else f"{answer.reason}."
        ranks = {hit.id: rank for rank, hit in enumerate(trace.ranking, start=1)}
        return render(
            "answer.abstained", answer=answer, position=position, reason="" if blind else reason,
            suggestions=[(near.title, ranks.get(near.context_id)) for near in answer.suggestions],
            perhaps=perhaps_you_meant(trace.question),
        )  # fmt: skip
    remarks = trace.remarks()
    return render(
        "answer.finished", answer=answer, written=_written(answer, position), long=len(answer.written) > LONG,
        remarks=remarks, notices="" if blind else _notices(trace, remarks), support="" if blind else _support(answer),
        buried=any(one.kind == "buried" for one in answer.remarks),
    )  # fmt: skip


def _notices(trace: rag_core.Trace, remarks: Iterable[Remark]) -> Markup:
    told = [one for one in remarks if one.kind in NOTICES]
    if not told:
        return Markup()
    names = " · ".join(dict.fromkeys(translated(NOTICES[one.kind]) for one in told))
    rows = []
    for one in told:
        cited = trace.ranking.hits[one.citations[0] - 1].passage if one.kind == "differs" else None
        sides = (t("“{title}”", title=quote) for quote in (what_differs(cited) if cited else ()))
        rows.append((one.text, *sides))
    return render("answer.notices", names=names, rows=rows)


def _basis(sentence: Grounded) -> str:
    """What supports a sentence, with the numbers of the passages that do."""
    support = translated(SUPPORT[sentence.support])
    if sentence.support == "supported":
        numbers = ", ".join(map(str, sentence.by))
        support += ": " + plural("passage {numbers}", "passages {numbers}", len(sentence.by), numbers=numbers)
    return support


def _support(answer: rag_core.Answer) -> Markup:
    """How many sentences the passages support; opened, how that was found out, and the basis of each that is not copied."""
    if not answer.sentences:
        return Markup()
    counts = {kind: sum(one.support == kind for one in answer.sentences) for kind in SUPPORT}
    others = "".join(f" · {counts[kind]} {translated(KINDS[kind])}" for kind in ("weak", "unsupported") if counts[kind])
    total, supported = len(answer.sentences), counts["supported"]
    shown = plural(
        "{supported} of {count} sentence supported by the passages shown",
        "{supported} of {count} sentences supported by the passages shown", total, supported=supported,
    )  # fmt: skip
    if supported and all(one.text in one.quote for one in answer.sentences if one.support == "supported"):
        shown = plural(
            "{supported} of {count} sentence copied from its source, which may not answer you",
            "{supported} of {count} sentences copied from their sources, which may not answer you", total, supported=supported,
        )  # fmt: skip
    sentences = [
        (one, _basis(one), " ".join(" … ".join(one.quote).split()))
        for one in answer.sentences
        if one.text not in one.quote
    ]
    return render("answer.support", counted=shown + others, how=HOW_GROUNDED, sentences=sentences)


def _written(answer: rag_core.Answer, position: int) -> Markup:
    citations = {marker: one for one in answer.citations for marker in one.markers}
    places = (citations.get(place) for place in range(len(_MARKER.findall(answer.written))))
    drawn, end = Markup(), 0
    for one in answer.sentences:
        drawn += _linked(answer.written[end : one.start], places, position)
        doubtful = one.support != "supported"  # the sentence says so itself
        text = _linked(answer.written[one.start : one.end], places, position, doubtful)
        mark = translated(KINDS[one.support]) if doubtful else ""
        drawn += render("answer.sentence", drawn=text, support=one.support, mark=mark)
        end = one.end
    return lists_as_html(drawn + _linked(answer.written[end:], places, position))


def _linked(text: str, citations: Iterator[rag_core.Citation | None], position: int, marked: bool = False) -> Markup:
    """Text with its markers as buttons and its bold print; takes one of `citations` for each marker."""
    return Markup().join(
        _link(int(piece), next(citations), position, marked) if place % 2 else bold_as_html(piece)
        for place, piece in enumerate(_MARKER.split(text))
    )


def _link(number: int, citation: rag_core.Citation | None, position: int, marked: bool) -> Markup:
    verdict = translated(VERDICTS[citation.supported]) if citation else ""
    spoken = f", {verdict}" if verdict else ""
    shown = Markup("{} <small>{}</small>").format(number, verdict) if verdict and not marked else str(number)
    css = "rl-cite rl-doubt" if verdict else "rl-cite"
    return opener(position, number, shown, css, t("Open passage {number:d}", number=number) + spoken)
