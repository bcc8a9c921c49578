"""What stands beside each control of Tune: where it tips, what it would ask of models, or why it cannot act."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import rag_core
from pages.drawing.translate import in_words, t, translated
from pages.drawing.untrusted import escape
from pages.shared.amounts import model_calls


def note(
    idle: str, works: Sequence[rag_core.Work] | None, tips: Sequence[rag_core.ControlTips] | None
) -> str:
    """Two lines of fixed height, so that nothing below moves when they change; one while there is no result.

    Args:
        idle: why the control has no effect; empty when it has one.
        works: what it may ask of models; None while there is no result to move.
        tips: its tipping points; None while they are not known.
    """
    lines: list[str] = []
    if idle:
        lines = [translated(idle)]
    elif works:
        lines = [t("May need Run: {calls}", calls=calls(works))]
    elif tips:
        points = [(place, point) for place, one in enumerate(tips, start=1) for point in one.points][:2]
        lines = [f"{place}. {_point(point)}" if tips[1:] else _point(point) for place, point in points]
        lines = lines or [translated(next((one.unmoved for one in tips if one.unmoved), ""))]
    shown = "".join(f'<span title="{escape(line)}">{escape(line)}</span>' for line in lines)
    height = "" if works is not None or tips is not None else " rl-short"
    return f'<div class="rl-knob-note{height}">{shown}</div>'


def _point(point: rag_core.TippingPoint) -> str:
    """For example “0.47: no. 7 enters, “Anti-D””."""
    value = in_words(point.value)
    rank, passage = (point.gained or point.lost)[0]
    title = passage.full_title
    more = len(point.gained or point.lost) - 1
    if point.gained:
        moved = t("{value}: no. {rank} enters, “{title}”", value=value, rank=rank, title=title)
    else:
        moved = t("{value}: no. {rank} drops out, “{title}”", value=value, rank=rank, title=title)
    return t("{said} and {more} more", said=moved, more=more) if more else moved


def calls(works: Sequence[rag_core.Work]) -> str:
    """What would be asked, by purpose: "3 rewriting calls, 9 judging calls"."""
    asked: Counter[str] = Counter()
    for one in works:
        asked[one.purpose] += one.calls
    return ", ".join(model_calls(purpose, count) for purpose, count in sorted(asked.items(), key=_order))


def _order(item: tuple[str, int]) -> int:
    order = ("rewrite", "rerank", "judge", "answer", "embed")
    return order.index(item[0]) if item[0] in order else len(order)
