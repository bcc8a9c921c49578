"""What an answer says about its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

LEADING = ("buried", "cut", "all_thin", "answer_language")  # kinds to read before the answer


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
        text: the remark, in Spanish for a Spanish question, otherwise in English.
        citations: numbers of the passages, ascending; empty where it is about none.
        sentences: the sentences it is about, without markers; for "thin" and "all_thin".
    """

    kind: Literal[
        "thin",
        "all_thin",
        "language",
        "cut",
        "buried",
        "invalid",
        "answer_language",
        "unmarked",
        "differs",
        "old",
    ]
    text: str
    citations: tuple[int, ...]
    sentences: tuple[str, ...] = ()

    @property
    def leads(self) -> bool:
        """Whether to read it before the answer."""
        return self.kind in LEADING

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
