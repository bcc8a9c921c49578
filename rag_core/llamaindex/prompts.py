"""The templates of a strategy's stages as LlamaIndex prompts, for `get_prompts` and `update_prompts`."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from llama_index.core import PromptTemplate
from llama_index.core.prompts import BasePromptTemplate

from ..catalog import RECIPES, PromptText, Templates
from ..pipeline.strategy import Strategy
from ..prompts.prompt import Template
from ..prompts.templates import READY_TEMPLATES
from ..stages import Stage
from ..values.errors import ConfigError

_TEMPLATES = Templates("templates", tuple(READY_TEMPLATES), "Of strategies outside the catalogue.")
OPTIONAL = {"form", "refused", "urgency"}  # fields that a prompt may leave out


def prompts_of(strategy: Strategy) -> dict[str, BasePromptTemplate]:
    """Template name -> its message. The system message (`Template.system`) is not exposed and stays as it is."""
    return {name: PromptTemplate(template.text) for name, template in _templates(strategy).items()}


def with_prompts(strategy: Strategy, prompts: Mapping[str, BasePromptTemplate]) -> Strategy:
    """The strategy with other messages; prompts of a module ("module:name") are ignored.

    Raises:
        ConfigError: the strategy has no such template, or a prompt lacks a field or has one that nothing
            fills.
    """
    templates = _templates(strategy)
    given = {name: prompt for name, prompt in prompts.items() if ":" not in name}
    if unknown := given.keys() - templates.keys():
        raise ConfigError(
            f"{strategy.name} has no prompt {min(unknown)!r}.",
            f"Its prompts: {', '.join(templates) or 'none'}.",
        )
    changed = {
        name: replace(templates[name], text=_text(templates[name], prompt)) for name, prompt in given.items()
    }
    stages = tuple(_with_templates(stage, changed) for stage in strategy.stages)
    return replace(strategy, stages=stages, controls=_controls(strategy, stages))


def _templates(strategy: Strategy) -> dict[str, Template]:
    return {template.name: template for stage in strategy.stages for template in _templates_of(stage)}


def _templates_of(stage: Stage) -> Iterator[Template]:
    for one in fields(stage):  # type: ignore[arg-type]  # a stage is a dataclass
        value = getattr(stage, one.name)
        yield from (
            part for part in (value if isinstance(value, tuple) else (value,)) if isinstance(part, Template)
        )


def _with_templates(stage: Stage, changed: Mapping[str, Template]) -> Stage:
    def new(value: Any) -> Any:
        return changed.get(value.name, value) if isinstance(value, Template) else value

    values: dict[str, Any] = {}
    for one in fields(stage):  # type: ignore[arg-type]
        value = getattr(stage, one.name)
        values[one.name] = tuple(map(new, value)) if isinstance(value, tuple) else new(value)
    return replace(stage, **values) if any(t.name in changed for t in _templates_of(stage)) else stage  # type: ignore[type-var]


def _text(template: Template, prompt: BasePromptTemplate) -> str:
    """The message of a LlamaIndex prompt, checked against the fields of the template it replaces."""
    known = set(PromptTemplate(template.text).template_vars)
    text = prompt.get_template()
    found = set(PromptTemplate(text).template_vars)
    if missing := known - OPTIONAL - found:
        raise ConfigError(
            f"The prompt {template.name!r} is missing {_braced(missing)}.", f"Its fields: {_braced(known)}."
        )
    if more := found - known:
        raise ConfigError(
            f"The prompt {template.name!r} has {_braced(more)}, which nothing fills.",
            f"Its fields: {_braced(known)}; write literal braces twice.",
        )
    return text


def _braced(names: set[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))


def _controls(strategy: Strategy, stages: tuple[Stage, ...]) -> Mapping[str, Any]:
    """The control values, updated where one of them is a prompt."""
    made = {template.name: template for stage in stages for template in _templates_of(stage)}
    controls = dict(strategy.controls)
    recipe = RECIPES.get(strategy.name)
    for control in recipe.controls if recipe else (_TEMPLATES,):
        if isinstance(control, PromptText) and control.default.name in made:
            controls[control.name] = control.plain(made[control.default.name])
        if isinstance(control, Templates) and control.name in controls:
            names = [one if isinstance(one, str) else one["name"] for one in controls[control.name]]
            if made.keys() >= set(names):
                controls[control.name] = control.plain([made[name] for name in names])
    return controls
