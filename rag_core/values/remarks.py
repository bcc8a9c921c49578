"""What an answer says about its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Remark:
    """A remark on an answer's evidence, for the reader.

    Args:
        kind: "thin": some cited sentences rest only on passages labelled Low; "all_thin": every one does;
            "language": cited passages are in another language than the question; "cut": the answer is incomplete;
            "buried": it does not begin with what to do about an urgent question.
        text: the remark, in Spanish for a Spanish question, otherwise in English.
        citations: numbers of the passages, ascending; empty for "cut" and "buried".
        sentences: the sentences it is about, without markers; empty for "language", "cut" and "buried".
    """

    kind: Literal["thin", "all_thin", "language", "cut", "buried"]
    text: str
    citations: tuple[int, ...]
    sentences: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Its fields, with lists for tuples."""
        return {
            "kind": self.kind,
            "text": self.text,
            "citations": list(self.citations),
            "sentences": list(self.sentences),
        }


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A document near a question that was not answered.

    Args:
        title: its title, and the headings of its nearest passage.
        context_id: that passage.
    """

    title: str
    doc_id: str
    context_id: str

    def as_json(self) -> dict[str, Any]:
        """Its fields."""
        return {"title": self.title, "doc_id": self.doc_id, "context_id": self.context_id}
