"""The templates of a strategy's stages as LlamaIndex prompts: what `get_prompts` and `update_prompts` go by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from llama_index.core import PromptTemplate
from llama_index.core.prompts import BasePromptTemplate

from ..pipeline.strategy import Strategy
from ..prompts.prompt import Template
from ..prompts.templates import READY
from ..stages import Stage
from ..values.errors import ConfigError

OPTIONAL = {"form", "refused"}  # fields that a prompt may leave out


def prompts_of(strategy: Strategy) -> dict[str, BasePromptTemplate]:
    """Template name -> its message; the standing instructions beside it (`Template.system`) stay as they are."""
    return {name: PromptTemplate(template.text) for name, template in _templates(strategy).items()}


def with_prompts(strategy: Strategy, prompts: Mapping[str, BasePromptTemplate]) -> Strategy:
    """The strategy with other messages; names of a module's prompts ("module:name") are passed over.

    Raises:
        ConfigError: a template the strategy does not have, or a prompt without a field it needs or with one
            that nothing fills.
    """
    held = _templates(strategy)
    given = {name: prompt for name, prompt in prompts.items() if ":" not in name}
    if unknown := given.keys() - held.keys():
        raise ConfigError(
            f"{strategy.name} has no prompt {min(unknown)!r}.", f"Its prompts: {', '.join(held) or 'none'}."
        )
    changed = {name: replace(held[name], text=_text(held[name], prompt)) for name, prompt in given.items()}
    stages = tuple(_with_templates(stage, changed) for stage in strategy.stages)
    return replace(strategy, stages=stages, controls=_controls(strategy.controls, stages))


def _templates(strategy: Strategy) -> dict[str, Template]:
    return {template.name: template for stage in strategy.stages for template in _held(stage)}


def _held(stage: Stage) -> Iterator[Template]:
    for one in fields(stage):  # type: ignore[arg-type]  # a stage is a dataclass
        value = getattr(stage, one.name)
        yield from (part for part in (value if isinstance(value, tuple) else (value,)) if _is(part))


def _is(value: object) -> bool:
    return isinstance(value, Template)


def _with_templates(stage: Stage, changed: Mapping[str, Template]) -> Stage:
    def new(value: Any) -> Any:
        return changed.get(value.name, value) if isinstance(value, Template) else value

    values: dict[str, Any] = {}
    for one in fields(stage):  # type: ignore[arg-type]
        value = getattr(stage, one.name)
        values[one.name] = tuple(map(new, value)) if isinstance(value, tuple) else new(value)
    return replace(stage, **values) if any(t.name in changed for t in _held(stage)) else stage  # type: ignore[type-var]


def _text(template: Template, prompt: BasePromptTemplate) -> str:
    """The message of a LlamaIndex prompt, checked against the fields of the template it stands for."""
    known = set(PromptTemplate(template.text).template_vars)
    text = prompt.get_template()
    found = set(PromptTemplate(text).template_vars)
    if missing := known - OPTIONAL - found:
        raise ConfigError(
            f"The prompt {template.name!r} lacks {_braced(missing)}.", f"Its fields: {_braced(known)}."
        )
    if more := found - known:
        raise ConfigError(
            f"The prompt {template.name!r} has {_braced(more)}, which nothing fills.",
            f"Its fields: {_braced(known)}; double the braces of other text.",
        )
    return text


def _braced(names: set[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))


def _controls(controls: Mapping[str, Any], stages: tuple[Stage, ...]) -> Mapping[str, Any]:
    """The control values, where one of them names the templates."""
    if "templates" not in controls:
        return controls
    names = [one if isinstance(one, str) else one["name"] for one in controls["templates"]]
    made = {template.name: template for stage in stages for template in _held(stage)}
    written = [made[name] for name in names if name in made]
    return {
        **controls,
        "templates": [
            one.name
            if one.name in READY and READY[one.name].text == one.text
            else {"name": one.name, "text": one.text}
            for one in written
        ],
    }
