"""A strategy drawn as its stages, from its declaration."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields
from html import escape
from typing import Any

import rag_core

KINDS = {
    "transform": "writes queries",
    "retrieve": "searches",
    "fuse": "makes one list",
    "rerank": "scores anew",
    "select": "keeps some",
    "answer": "writes the answer",
}


def diagram(strategy: rag_core.Strategy) -> str:
    """The stages in order, each with its parameters and the first sentence of its description."""
    steps = "".join(_step(stage) for stage in strategy.stages)
    return f'<ol class="rl-flow" aria-label="Stages of {escape(strategy.name)}">{steps}</ol>'


def _step(stage: Any) -> str:
    searches = getattr(stage, "retrievers", ())
    names = [(type(one).__name__, one) for one in searches] or [(stage.name, stage)]
    boxes = "".join(
        f'<div class="rl-flow-box rl-kind-{stage.kind}"><b>{escape(name)}</b>'
        f"<small>{escape(_params(value))}</small><p>{escape(_says(value))}</p></div>"
        for name, value in names
    )
    return f'<li><span class="rl-flow-kind">{KINDS[stage.kind]}</span>{boxes}</li>'


def _says(value: object) -> str:
    """The first sentence of a class's description, without its references."""
    text = " ".join((inspect.getdoc(type(value)) or "").split())
    first = text.partition(". ")[0].rstrip(".")
    return first.partition(" (HyDE")[0]


def _params(value: object) -> str:
    parts = []
    for name, held in _fields(value).items():
        if name == "templates":
            parts.append(", ".join(template.name for template in held))
        elif name == "weights" and held and isinstance(held[0], tuple):
            parts.append(", ".join(f"{retriever} {weight:g}" for retriever, weight in held))
        elif name not in ("template", "retrievers") and held != () and held is not False:
            parts.append(f"{name} {rag_core.format_value(held)}")
    return " · ".join(parts)


def _fields(value: object) -> Mapping[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value) if field.compare}  # type: ignore[arg-type]  # a stage's
