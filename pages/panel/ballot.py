"""Two answers without names, drawn as HTML: what Compare draws in presenter mode, without the list of passages."""

from __future__ import annotations

import rag_core
from pages.compare.nameless import answer
from pages.drawing.translate import declared, translated
from pages.drawing.untrusted import escape

SIDES = (declared("First answer"), declared("Second answer"))
CHOICES = {  # of a vote -> its button
    "left": declared("The first is better"),
    "right": declared("The second is better"),
    "tie": declared("Equally good"),
    "both_unsafe": declared("Both are unsafe"),
}
REASONS = {
    "correct": declared("more correct"),
    "complete": declared("more complete"),
    "sources": declared("better sources"),
    "clear": declared("clearer"),
    "safe": declared("safer"),
}


def question(asked: str, language: str, turn: str) -> str:
    """The question that both answer.

    Args:
        turn: names what is to be judged; when it changes, the page's script shows the page from its top.
    """
    return (
        f'<p class="rl-asked-room" lang="{escape(language)}" data-turn="{escape(turn)}">{escape(asked)}</p>'
    )


def side(trace: rag_core.Trace, place: int) -> str:
    """One of two answers; `place` is 0 for the first, 1 for the second."""
    return answer(trace, place, translated(SIDES[place]))


def voted(choice: str, number: int) -> str:
    """What a person voted on one pair.

    Args:
        number: of the pair, from 1.
    """
    return f'<p class="rl-counted">{number:d}. {escape(translated(CHOICES[choice]))}</p>'
