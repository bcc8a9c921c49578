"""A strategy as an outline: its stages in order, each with its parameters and one sentence."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from ..catalog import format_value
from ..pipeline.strategy import Strategy
from ..stages import Stage
from ..values.message import Message
from .flow import query_title, stage_title

_NOT_A_PARAMETER = ("template", "retrievers")
_REFERENCE = re.compile(r" \([^()]*`[^()]*\)")  # to code, in a docstring
_WORDS = {  # field of a stage, after the stage's name where another has a field of that name -> what people call it
    "k": Message("keeps {value}"),
    "lambda_": Message("λ {value}"),
    "alpha": Message("α {value}"),
    "theta": Message("θ {value}"),
    "ReciprocalRankFusion.k": Message("RRF k {value}"),
    "rewrites": Message("weight of the rewrites {value}"),
    "samples": Message("hypothetical passages: {value}"),
    "include_question": Message("averaged with the question"),
    "keep_question": Message("and the question itself"),
    "enriched": Message("passages with context"),
    "weighting": Message("weights: {value}"),
    "step": Message("weight step {value}"),
    "combine": Message("score when found twice: {value}"),
    "Spread.weight": Message("weight of repeats {value}"),
    "foreign": Message("weight of other languages {value}"),
}


@dataclass(frozen=True, slots=True)
class Part:
    """A retriever, or the stage itself, with its parameters in words: "keeps 15 · k1 1.5".

    The summary is the first sentence of the class's docstring, without the full stop.
    """

    name: str
    params: Message
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


def _params(value: Any) -> Message:
    parts = []
    for field in fields(value):
        name, setting = field.name, getattr(value, field.name)
        if not field.compare or name in _NOT_A_PARAMETER or setting == () or setting is False:
            continue
        if (name, setting) == ("rewrites", 1.0):  # the question and its rewrites weigh the same
            continue
        if name == "templates":
            parts.append(Message.joined(query_title(template.name) for template in setting))
        elif name == "weights" and isinstance(setting[0], tuple):
            parts += [_named(stage_title(retriever), weight) for retriever, weight in setting]
        elif words := _WORDS.get(f"{type(value).__name__}.{name}") or _WORDS.get(name):
            parts.append(Message(words, value=Message(format_value(setting))))
        else:
            parts.append(_named(name.replace("_", " "), setting))
    return Message.joined(parts, " · ")


def _named(name: str, setting: object) -> Message:
    return Message("{name} {value}", name=Message(name), value=Message(format_value(setting)))
