"""A strategy drawn as its stages, from its definition."""

from __future__ import annotations

import rag_core
from pages.drawing.translate import declared, t, translated
from pages.drawing.untrusted import escape

KINDS = {
    "transform": declared("writes queries"),
    "retrieve": declared("searches"),
    "fuse": declared("merges the lists"),
    "rerank": declared("rescores"),
    "select": declared("selects"),
    "answer": declared("writes the answer"),
}


def diagram(strategy: rag_core.Strategy) -> str:
    """The stages in order, each with its parameters and one sentence."""
    steps = "".join(_step(stage) for stage in rag_core.outline(strategy))
    return f'<ol class="rl-flow" aria-label="{t("Stages of {strategy}", strategy=escape(strategy.name))}">{steps}</ol>'


def _step(stage: rag_core.OutlinedStage) -> str:
    boxes = "".join(
        f'<div class="rl-flow-box rl-kind-{escape(stage.kind)}"><b>{escape(translated(rag_core.stage_title(part.name)))}</b>'
        f"<small>{escape(part.params)}</small><p>{escape(translated(part.summary))}</p></div>"
        for part in stage.parts
    )
    return f'<li><span class="rl-flow-kind">{translated(KINDS[stage.kind])}</span>{boxes}</li>'
