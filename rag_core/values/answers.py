"""A cited answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from .grounding import Grounded
from .remarks import Remark, Suggestion

BOLD = re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*")  # bold print as Markdown has it, within a line


def without_bold(text: str) -> str:
    """A text without the signs that Markdown puts around what is in bold print."""
    return BOLD.sub(r"\1", text)


def bold_as_html(text: str) -> str:
    """An escaped text with its bold print as HTML."""
    return BOLD.sub(r"<b>\1</b>", text)


@dataclass(frozen=True, slots=True)
class Citation:
    """The answer's marker [n] cites passage `context_id`; `quote` is the sentence closest to the claim.

    Args:
        supported: whether the passage supports the claim; None if in doubt.
        markers: positions of its markers among all markers in the answer, from 0.
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
        abstained: True when the evidence was insufficient.
        reason: why it abstained; empty otherwise.
        evidence: hash of the contexts in the prompt (`citations.evidence_hash`); empty without a prompt.
        invalid_citations: number of markers that matched no context and were removed.
        remarks: what the reader should know about the evidence.
        suggestions: after an abstention, the nearest documents; may be empty.
        notice: the beginning of `text` when it is ours, not the model's or a quotation: what to do now; may be empty.
        sentences: its sentences with the passages that support them; empty for an abstention.
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

    @property
    def written(self) -> str:
        """The text after the notice."""
        return self.text[len(self.notice) :].lstrip()
