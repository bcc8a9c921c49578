"""A cited answer: its citations, how well passages support its sentences, and what it says about its evidence."""

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from itertools import groupby
from operator import itemgetter
from textwrap import shorten
from typing import Any, Literal, NamedTuple

from markupsafe import Markup, escape

from .message import NOTICE, Message
from .visible import visible

BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")  # bold print as Markdown has it, within a line
ITEM = re.compile(r"[-*•] +(?=\S)")  # begins a line that is an item of a list
Support = Literal["supported", "weak", "unsupported"]
LEADING = ("buried", "cut", "all_thin", "answer_language", "language")  # kinds to read before the answer


def without_bold(text: str) -> str:
    """A text without the signs that Markdown puts around what is in bold print."""
    return BOLD.sub(r"\1", text)


def bold_as_html(text: object) -> Markup:
    """A text as HTML, in bold print where Markdown has it."""
    return Markup(BOLD.sub(r"<b>\1</b>", str(escape(text))))  # noqa: S704  # escaped


def lists_as_html(drawn: Markup) -> Markup:
    """A text that is HTML already, whose line breaks are those of the text, with its lists as lists."""
    found = ((ITEM.match(line), line) for line in drawn.split("\n"))
    return lines_as_html((marker is not None, line[marker.end() :] if marker else line) for marker, line in found)


def lines_as_html(lines: Iterable[tuple[bool, Markup]]) -> Markup:
    """Drawn lines, each with whether it is an item of a list, as HTML for an element that keeps line breaks."""
    drawn = Markup()
    for item, group in groupby(lines, key=itemgetter(0)):
        texts = [text for _, text in group]
        if item:
            drawn += Markup("<ul><li>{}</li></ul>").format(Markup("</li><li>").join(texts))
        else:
            drawn += Markup("\n").join(texts).strip("\n")
    return drawn


class Claim(NamedTuple):
    """A sentence of an answer: its place in the text, markers included, and its words without them."""

    start: int
    end: int
    text: str


# The figures are computed again by tests/offline/test_grounding.py from the test part of data/grounding.
HOW_GROUNDED = Message(
    "Each sentence is compared with the passages shown, clause by clause, by meaning and words; no language model is "
    "involved. Supported: a passage says nearly the same, and every number with its unit, every medicine and every "
    "negation agrees. Unsupported: no passage is near, or the nearest one differs in one of these. Weak: in between. "
    "Measured on 156 sentences written for the purpose, 80 of them made wrong by one number, unit, negation, medicine or "
    "subject: of the sentences marked supported, 87 % were right (41 of 47; 95 % interval 75 to 94 %), and 54 % of the "
    "right ones were marked so (41 of 76; 43 to 65 %). A wrong subject (mother for baby) is missed most often. "
    "Sentences copied from a passage are always supported."
)


@dataclass(frozen=True, slots=True)
class Grounded:
    """One sentence of an answer and the passages behind it.

    Args:
        start, end: its place in the answer's `written` text, markers included.
        by: numbers of the passages that support it; for a weak sentence, of those that come close.
        n: number of the passage closest to it; 0 when there is none.
        quote: the sentences of that passage closest to it.
    """

    start: int
    end: int
    text: str
    support: Support
    by: tuple[int, ...] = ()
    n: int = 0
    quote: tuple[str, ...] = ()
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        return {"text": self.text, "support": self.support, "by": list(self.by)}


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark on an answer's evidence, for the reader.

    Args:
        kind: "thin": some cited sentences rest only on passages labelled Low; "all_thin": every one does;
            "language": cited passages are in another language than the question; "cut": the answer is incomplete;
            "buried": it does not begin with what to do about an urgent question; "invalid": citations were removed;
            "answer_language": the answer is in another language than the question; "unmarked": only the first
            sentences were compared with the passages; "differs": guidance in a cited passage differs by country or
            organisation; "old": every cited source is old.
        citations: numbers of the passages, ascending; empty where it is about none.
        sentences: the sentences it is about, without markers; for "thin" and "all_thin".
    """

    kind: Literal[
        "thin", "all_thin", "language", "cut", "buried", "invalid", "answer_language", "unmarked",
        "differs", "old",
    ]  # fmt: skip
    text: str
    citations: tuple[int, ...]
    sentences: tuple[str, ...] = ()

    @property
    def leads(self) -> bool:
        return self.kind in LEADING

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"citations": list(self.citations), "sentences": list(self.sentences)}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A document near a question that was not answered; the title has the headings of its nearest passage."""

    title: str
    doc_id: str
    context_id: str


@dataclass(frozen=True, slots=True)
class Citation:
    """The answer's marker [n] cites passage `context_id`; `quote` is the sentence closest to the claim.

    `supported` is None if in doubt; `markers` are positions among all markers in the answer, from 0.
    """

    n: int
    context_id: str
    quote: str
    supported: bool | None = True
    markers: tuple[int, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """A cited answer, or an abstention with its reason.

    Args:
        text: the answer with [n] markers, or the abstention.
        citations: in text order; n is the context's rank.
        evidence: hash of the contexts in the prompt (`citations.evidence_hash`); empty without a prompt.
        invalid_citations: number of markers that matched no context and were removed.
        remarks: what the reader should know about the evidence.
        suggestions: after an abstention, the nearest documents; may be empty.
        notice: the beginning of `text` when it is ours, not the model's or a quotation: what to do now; may be empty.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    abstained: bool = False
    reason: str = ""
    evidence: str = ""
    invalid_citations: int = 0
    remarks: tuple[Remark, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    notice: str = ""
    sentences: tuple[Grounded, ...] = ()

    def __repr__(self) -> str:
        reason = shorten(self.reason, 80, placeholder="…")
        kind = f"abstained: {reason}" if self.abstained else f"{len(self.citations)} citations"
        return f"<Answer, {kind}: {shorten(self.text, 80, placeholder='…')!r}>"

    def _repr_html_(self) -> str:
        return f'<p style="white-space: pre-wrap">{bold_as_html(visible(self.text))}</p><p><i>{NOTICE}</i></p>'

    @property
    def written(self) -> str:
        return self.text[len(self.notice) :].lstrip()
