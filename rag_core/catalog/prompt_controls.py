"""Controls whose values are prompts, and those that several strategies have."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..prompts.prompt import ANSWER, Fields, Template
from ..prompts.templates import MAX_TEMPLATES, READY_TEMPLATES, check_length, custom_template
from ..stages import Generate
from ..values.errors import ConfigError
from ..values.message import Message
from .recipe import Control


@dataclass(frozen=True, slots=True)
class PromptText(Control):
    """The two texts of a stage's prompt, its system and user message; the stage fills the fields `fills`."""

    fills: Fields

    type = "prompt"

    @property
    def purpose(self) -> str:
        return str(self.default.purpose)

    @property
    def changes_passages(self) -> bool:
        return self.purpose != "answer"

    def parse(self, value: object) -> Template:
        """The template: from its name, the text of its user message, or {"system", "text"}, also as JSON.

        Raises ConfigError if a text is empty or too long, or has a field missing or unknown; the message names it.
        """
        ready: Template = self.default
        if isinstance(value, Template):
            value = {"system": value.system, "text": value.text}
        if isinstance(value, str):
            value = _from_json(value) or {"text": value}
        if not isinstance(value, Mapping) or not set(value) <= {"system", "text"}:
            raise self._wrong(value, "a text, or an object with the keys system and text")
        if value.get("text") == ready.name:
            return ready
        text, system = (str(value.get(name, getattr(ready, name))).strip() for name in ("text", "system"))
        made = replace(ready, text=text, system=system)
        check_length(ready.name, text, system)
        self.fills.check(self.title, made)
        return ready if made.says_the_same_as(ready) else made

    def plain(self, value: Any) -> Any:
        """The name of the stage's own template; both texts of another."""
        if value.says_the_same_as(self.default):
            return value.name
        return {"system": value.system, "text": value.text}

    def brief(self, value: Any) -> str:
        """Its name alone: a text would not fit."""
        return Message(self.short)

    def _wrong(self, value: object, expected: str, /, **fields: object) -> ConfigError:
        return ConfigError(
            Message("{name} must be {expected}.", name=self.name, expected=Message(expected, **fields)),
            Message("Its default is {name}.", name=self.default.name),
        )


@dataclass(frozen=True, slots=True)
class Templates(Control):
    """Rewriting templates in order: names of `ready` ones, or names and texts of custom ones."""

    ready: tuple[Template, ...] = field(default=tuple(READY_TEMPLATES.values()), kw_only=True)

    type = "templates"

    @property
    def purpose(self) -> str:
        return self.ready[0].purpose

    @property
    def names(self) -> list[str]:
        return [template.name for template in self.ready]

    def parse(self, value: object) -> tuple[Template, ...]:
        """Templates, from comma-separated names, a JSON list, or a list of names and {"name", "text", "system"}."""
        if isinstance(value, str) and value.lstrip().startswith("["):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError) as error:
                raise ConfigError(
                    Message("{name} is not readable JSON: {reason}.", name=self.name, reason=error),
                    Message("Check the quotes."),
                ) from error
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not 0 < len(parts) <= MAX_TEMPLATES:
            raise self._wrong(
                value,
                "1 to {count} templates: {names}, or your own",
                count=MAX_TEMPLATES,
                names=", ".join(self.names),
            )
        templates = tuple(self._one(part) for part in parts)
        names = [template.name for template in templates]
        if len(set(names)) < len(names):
            raise ConfigError(
                Message("{name}: two templates have the same name.", name=self.name), Message("Rename one.")
            )
        return templates

    def custom(self, name: str, text: str, system: str | None = None) -> Template:
        """A custom template, or the ready template of that name; raises ConfigError if a text is invalid."""
        return custom_template(name, text, system, ready=self.ready)

    def _one(self, part: object) -> Template:
        if isinstance(part, Template):
            return part
        if isinstance(part, str):
            found = next((one for one in self.ready if one.name == part.strip()), None)
            if found:
                return found
            raise self._wrong(part, "one of {names}, or a name with a text", names=", ".join(self.names))
        if not isinstance(part, Mapping) or not {"name", "text"} <= set(part):
            raise self._wrong(part, "a name, or a name with a text")
        system = part.get("system")
        return self.custom(str(part["name"]), str(part["text"]), None if system is None else str(system))

    def plain(self, value: Any) -> list[Any]:
        """Names of ready templates; names and texts of custom ones, with the system message if it is not the usual one."""
        return [self._written(template) for template in value]

    def _written(self, template: Template) -> Any:
        if any(one.name == template.name and one.says_the_same_as(template) for one in self.ready):
            return template.name
        system = {} if template.system == self.ready[0].system else {"system": template.system}
        return {"name": template.name, "text": template.text, **system}

    def brief(self, value: Any) -> str:
        """With the names of the templates; custom ones are marked."""
        names = [
            Message(part) if isinstance(part, str) else Message("{name} (custom text)", name=part["name"])
            for part in value
        ]
        return Message("{name} {choice}", name=Message(self.short), choice=Message.joined(names, " + "))

    def as_json(self) -> dict[str, Any]:
        return Control.as_json(self) | {"choices": self.names}


def _from_json(text: str) -> Mapping[str, Any] | None:
    """The object that a text is the JSON of; None for any other text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, Mapping) else None


ANSWER_PROMPT = PromptText(
    "answer_prompt",
    ANSWER,
    "Instructions to the answering model; a change writes only the answer again.",
    Generate.fills,
    label="answer prompt",
)
