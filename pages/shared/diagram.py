"""A strategy drawn as its stages, from its definition."""

from __future__ import annotations

import rag_core
from pages.shared.foreign import escape

KINDS = {
    "transform": "writes queries",
    "retrieve": "searches",
    "fuse": "merges the lists",
    "rerank": "rescores",
    "select": "selects",
    "answer": "writes the answer",
}


def diagram(strategy: rag_core.Strategy) -> str:
    """The stages in order, each with its parameters and one sentence."""
    steps = "".join(_step(stage) for stage in rag_core.outline(strategy))
    return f'<ol class="rl-flow" aria-label="Stages of {escape(strategy.name)}">{steps}</ol>'


def _step(stage: rag_core.OutlinedStage) -> str:
    boxes = "".join(
        f'<div class="rl-flow-box rl-kind-{escape(stage.kind)}"><b>{escape(part.name)}</b>'
        f"<small>{escape(part.params)}</small><p>{escape(part.summary)}</p></div>"
        for part in stage.parts
    )
    return f'<li><span class="rl-flow-kind">{KINDS[stage.kind]}</span>{boxes}</li>'
