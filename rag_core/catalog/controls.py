"""Controls: what the user may set. One declaration feeds the sliders, the command line and the docs."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..prompts.prompt import Template
from ..prompts.templates import MAX_TEMPLATES, READY, custom_template
from ..values.errors import ConfigError

Values = Mapping[str, Any]
MAX_PASSAGES = 100  # upper bound of every candidate count


@dataclass(frozen=True, slots=True)
class Control(ABC):
    """Something the user may set.

    Args:
        help: one line: what it does, and where the default comes from.
        needs: (control, values) pairs: it acts only while each of these has one of its values.
        symbol: what stands for the name where space is short; empty for the name itself.
    """

    name: str
    default: Any
    help: str
    needs: tuple[tuple[str, tuple[object, ...]], ...] = field(default=(), kw_only=True)
    symbol: str = field(default="", kw_only=True)

    @property
    @abstractmethod
    def type(self) -> str:
        """What kind of value it takes: int, float, bool, choice, weights or templates."""

    @abstractmethod
    def parse(self, value: object) -> Any:
        """A value of this control, from a value or its text.

        Raises:
            ConfigError: it cannot be one; the message says what can.
        """

    def idle(self, values: Values) -> str:
        """Why it does nothing with these values of the other controls; empty when it acts."""
        for other, acting in self.needs:
            if values.get(other) not in acting:
                wanted = " or ".join(format_value(value) for value in acting)
                return f"Acts only when {other} is {wanted}."
        return ""

    def plain(self, value: Any) -> Any:
        """A value as JSON."""
        return value

    def brief(self, value: Any) -> str:
        """A plain value with what it is the value of, in as few words as possible."""
        return f"{self.symbol or self.name} {format_value(value)}"

    def as_json(self) -> dict[str, Any]:
        """The shape `rag strategies --json` prints; what does not apply is null."""
        return {
            "name": self.name,
            "type": self.type,
            "default": self.plain(self.parse(self.default)),
            "min": None,
            "max": None,
            "step": None,
            "unit": "",
            "choices": None,
            "help": self.help,
        }

    def _wrong(self, value: object, wanted: str) -> ConfigError:
        default = format_value(self.plain(self.parse(self.default)))
        return ConfigError(f"{self.name} must be {wanted}, not {value!r}.", f"Its default is {default}.")


@dataclass(frozen=True, slots=True)
class Number(Control):
    """A number in a range.

    Args:
        whole: only whole numbers.
        unit: what is counted; empty for a plain number.
    """

    min: float = 0.0
    max: float = 1.0
    step: float = 0.05
    unit: str = ""
    whole: bool = False

    @property
    def type(self) -> str:
        """'int' or 'float'."""
        return "int" if self.whole else "float"

    def parse(self, value: object) -> int | float:
        """A number, from a number or its text."""
        try:
            number = float(str(value))
        except ValueError:
            number = float("nan")
        if not self.min <= number <= self.max or (self.whole and number != int(number)):
            kind = "a whole number" if self.whole else "a number"
            raise self._wrong(value, f"{kind} from {self.min:g} to {self.max:g}")
        return int(number) if self.whole else number + 0.0  # -0.0 is 0.0

    def as_json(self) -> dict[str, Any]:
        """With its range."""
        span = {"min": self.min, "max": self.max, "step": self.step, "unit": self.unit}
        return Control.as_json(self) | span


@dataclass(frozen=True, slots=True)
class Switch(Control):
    """On or off."""

    @property
    def type(self) -> str:
        """'bool'."""
        return "bool"

    def parse(self, value: object) -> bool:
        """A truth value, from one or its text: true, false, yes, no, on, off, 1, 0."""
        text = str(value).strip().casefold()
        if text in ("true", "yes", "on", "1"):
            return True
        if text in ("false", "no", "off", "0"):
            return False
        raise self._wrong(value, "true or false")

    def brief(self, value: Any) -> str:
        """With "on" or "off"."""
        return f"{self.symbol or self.name} {'on' if value else 'off'}"


@dataclass(frozen=True, slots=True)
class Choice(Control):
    """One of several names."""

    choices: tuple[str, ...]

    @property
    def type(self) -> str:
        """'choice'."""
        return "choice"

    def parse(self, value: object) -> str:
        """One of the names."""
        if value not in self.choices:
            raise self._wrong(value, f"one of {', '.join(self.choices)}")
        return str(value)

    def as_json(self) -> dict[str, Any]:
        """With the names."""
        return Control.as_json(self) | {"choices": list(self.choices)}


@dataclass(frozen=True, slots=True)
class Weights(Control):
    """Weights from 0 to a maximum, one for each query in its place; the text form has commas."""

    max: float = 2.0

    @property
    def type(self) -> str:
        """'weights'."""
        return "weights"

    def parse(self, value: object) -> tuple[float, ...]:
        """The weights; at least one is above 0."""
        parts: Sequence[object] = value.split(",") if isinstance(value, str) else value  # type: ignore[assignment]
        try:
            weights = tuple(float(str(part)) + 0.0 for part in parts)
        except (TypeError, ValueError):
            weights = ()
        fine = 0 < len(weights) <= MAX_TEMPLATES and all(0 <= weight <= self.max for weight in weights)
        if not fine or not any(weights):
            raise self._wrong(
                value, f"1 to {MAX_TEMPLATES} numbers from 0 to {self.max:g}, separated by commas, not all 0"
            )
        return weights

    def plain(self, value: Any) -> list[float]:
        """A list."""
        return list(value)

    def brief(self, value: Any) -> str:
        """With the weights in a row."""
        return f"{self.symbol or self.name} {' / '.join(map(format_value, value))}"

    def as_json(self) -> dict[str, Any]:
        """With the range of each weight."""
        return Control.as_json(self) | {"min": 0.0, "max": self.max, "step": 0.05}


@dataclass(frozen=True, slots=True)
class Templates(Control):
    """Rewriting templates in order: names of ready ones, or a name with the text of the user's own."""

    @property
    def type(self) -> str:
        """'templates'."""
        return "templates"

    def parse(self, value: object) -> tuple[Template, ...]:
        """Templates from names separated by commas, a JSON list, or a list of names and {"name", "text"}."""
        if isinstance(value, str) and value.lstrip().startswith("["):
            try:
                value = json.loads(value)
            except ValueError as error:
                raise ConfigError(
                    f"{self.name} is not readable JSON: {error}.", "Check the quotes."
                ) from error
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not 0 < len(parts) <= MAX_TEMPLATES:
            raise self._wrong(value, f"1 to {MAX_TEMPLATES} templates: {', '.join(READY)}, or your own")
        templates = tuple(self._one(part) for part in parts)
        names = [template.name for template in templates]
        if len(set(names)) < len(names):
            raise ConfigError(f"{self.name}: two templates have the same name.", "Rename one.")
        return templates

    def _one(self, part: object) -> Template:
        if isinstance(part, Template):
            return part
        if isinstance(part, str):
            if part.strip() in READY:
                return READY[part.strip()]
            raise self._wrong(part, f"one of {', '.join(READY)}, or a name with a text")
        if not isinstance(part, Mapping) or not {"name", "text"} <= set(part):
            raise self._wrong(part, "a name, or a name with a text")
        return custom_template(str(part["name"]), str(part["text"]))

    def plain(self, value: Any) -> list[Any]:
        """Names of ready templates, names and texts of the others."""
        return [
            template.name
            if READY.get(template.name) == template
            else {"name": template.name, "text": template.text}
            for template in value
        ]

    def brief(self, value: Any) -> str:
        """With the templates' names; the user's own are marked."""
        names = [part if isinstance(part, str) else f"{part['name']} (own text)" for part in value]
        return f"{self.symbol or self.name} {' + '.join(names)}"

    def as_json(self) -> dict[str, Any]:
        """With the names of the ready ones."""
        return Control.as_json(self) | {"choices": list(READY)}


def format_value(value: object) -> str:
    """A control's value as the command line takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        if any(isinstance(part, Mapping) for part in value):
            return json.dumps(value, ensure_ascii=False)
        return ",".join(map(format_value, value))
    return str(value)


def count(name: str, default: int, help: str, **more: Any) -> Number:  # noqa: A002  # the field's name
    """A control that counts passages."""
    return Number(name, default, help, min=1, max=MAX_PASSAGES, step=1, unit="passages", whole=True, **more)


def share(name: str, default: float, help: str, **more: Any) -> Number:  # noqa: A002
    """A control from 0 to 1."""
    return Number(name, default, help, **more)
