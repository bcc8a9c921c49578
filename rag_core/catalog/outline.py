"""A strategy as an outline: its stages in order, each with its parameters and one sentence."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from ..pipeline.strategy import Strategy
from ..stages import Stage
from .controls import format_value

_NOT_A_PARAMETER = ("template", "retrievers")
_REFERENCE = re.compile(r" \([^()]*`[^()]*\)")  # to code, in a docstring


@dataclass(frozen=True, slots=True)
class Part:
    """One thing a stage runs: a retriever, or the stage itself.

    Args:
        params: the parameters that are set, as in "k 15 · k1 1.5"; may be empty.
        summary: the first sentence of the class's docstring, without the full stop.
    """

    name: str
    params: str
    summary: str


@dataclass(frozen=True, slots=True)
class OutlinedStage:
    """One stage; it has several parts where it searches in several ways at the same time."""

    kind: str
    parts: tuple[Part, ...]


def outline(strategy: Strategy) -> tuple[OutlinedStage, ...]:
    """The stages of a strategy in order."""
    return tuple(OutlinedStage(stage.kind, tuple(_parts(stage))) for stage in strategy.stages)


def _parts(stage: Stage) -> Iterator[Part]:
    retrievers = getattr(stage, "retrievers", ())
    for retriever in retrievers:
        yield Part(type(retriever).__name__, _params(retriever), _summary(retriever))
    if not retrievers:
        yield Part(stage.name, _params(stage), _summary(stage))


def _summary(value: object) -> str:
    text = _REFERENCE.sub("", " ".join((inspect.getdoc(type(value)) or "").split()))
    return text.partition(". ")[0].rstrip(".")


def _params(value: Any) -> str:
    parts = []
    for field in fields(value):
        name, setting = field.name, getattr(value, field.name)
        if not field.compare or name in _NOT_A_PARAMETER or setting == () or setting is False:
            continue
        if (name, setting) == ("rewrites", 1.0):  # the question and its rewrites weigh the same
            continue
        if name == "templates":
            parts.append(", ".join(template.name for template in setting))
        elif name == "weights" and isinstance(setting[0], tuple):
            parts.append(", ".join(f"{retriever} {weight:g}" for retriever, weight in setting))
        else:
            parts.append(f"{name} {format_value(setting)}")
    return " · ".join(parts)
