"""A strategy's declaration: what it is, its controls, and the stages they build; sliders, commands and docs read it."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..pipeline.strategy import Strategy
from ..prompts.templates import MAX_TEMPLATES
from ..stages import Stage
from ..values.errors import ConfigError
from ..values.message import Message

Values = Mapping[str, Any]
MOST_SHOWN = 120  # characters of a wrong value
MAX_PASSAGES = 100  # upper bound of every number of passages


@dataclass(frozen=True, slots=True)
class Control(ABC):
    """A setting of a strategy.

    Args:
        help: one line on what it does, with the source of the default.
        needs: (control, values) pairs; the control is idle unless each of these controls has one of its values.
        sets_needs: moving it gives those controls the first of these values, so that it acts at once.
        label: what people call it, as within a sentence; empty to use the name.
        symbol: replaces the label where space is short; empty to use the label.
        limit: what it is as a limit, its {value} to be filled in: "the pool of {value}"; empty to use the title.
    """

    name: str
    default: Any
    help: str
    needs: tuple[tuple[str, tuple[object, ...]], ...] = field(default=(), kw_only=True)
    sets_needs: bool = field(default=False, kw_only=True)
    label: str = field(default="", kw_only=True)
    symbol: str = field(default="", kw_only=True)
    limit: str = field(default="", kw_only=True)

    @property
    def title(self) -> str:
        """The label as a heading: "Variety (0) ↔ relevance (1)"."""
        called = self.label or self.name
        return called[:1].upper() + called[1:]

    @property
    def short(self) -> str:
        """The shortest name that people know: "λ"."""
        return self.symbol or self.label or self.name

    def as_limit(self, value: object) -> Message:
        """Itself as a limit: "the pool of 10"."""
        if self.limit:
            return Message(self.limit, value=value)
        return Message("“{title}” of {value}", title=self.title, value=value)

    @property
    def changes_passages(self) -> bool:
        """Whether it can change which passages are used, or only the answer."""
        return True

    @property
    @abstractmethod
    def type(self) -> str:
        """Type of its value: int, float, bool, choice, weights, templates or prompt."""

    @abstractmethod
    def parse(self, value: object) -> Any:
        """A valid value, from a value or its text; raises ConfigError, which says what is valid."""

    def plain(self, value: Any) -> Any:
        return value

    def brief(self, value: Any) -> str:
        return Message("{name} {value}", name=Message(self.short), value=format_value(value))

    def as_json(self) -> dict[str, Any]:
        """The shape `rag strategies --json` prints; what does not apply is null."""
        return {
            "name": self.name,
            "label": self.title,
            "type": self.type,
            "default": self.plain(self.parse(self.default)),
            "min": None,
            "max": None,
            "step": None,
            "unit": "",
            "choices": None,
            "help": self.help,
        }

    def _wrong(self, value: object, expected: str, /, **fields: object) -> ConfigError:
        """The error for a value; `expected` is a template with these fields."""
        default = format_value(self.default)  # not parsed: it can be what is wrong
        return ConfigError(
            Message(
                "{name} must be {expected}, not {value}.",
                name=self.name,
                expected=Message(expected, **fields),
                value=_shown(value),
            ),
            Message("Its default is {default}.", default=default),
        )


@dataclass(frozen=True, slots=True)
class Number(Control):
    """A number in a range, or a whole number, with a unit such as "passages"; empty for a plain number."""

    min: float = 0.0
    max: float = 1.0
    step: float = 0.05
    unit: str = ""
    whole: bool = False

    @property
    def type(self) -> str:
        return "int" if self.whole else "float"

    def parse(self, value: object) -> int | float:
        try:
            number = float(str(value))
        except ValueError:
            number = float("nan")
        if not self.min <= number <= self.max or (self.whole and number != int(number)):
            low, high = float(self.min), float(self.max)
            if self.whole:
                raise self._wrong(value, "a whole number from {low:g} to {high:g}", low=low, high=high)
            raise self._wrong(value, "a number from {low:g} to {high:g}", low=low, high=high)
        return int(number) if self.whole else number + 0.0  # -0.0 is 0.0

    def as_json(self) -> dict[str, Any]:
        return Control.as_json(self) | {"min": self.min, "max": self.max, "step": self.step, "unit": self.unit}


@dataclass(frozen=True, slots=True)
class Switch(Control):
    """On or off."""

    type = "bool"

    def parse(self, value: object) -> bool:
        """True or False, from a boolean or its text: true, false, yes, no, on, off, 1, 0."""
        text = str(value).strip().casefold()
        if text in ("true", "yes", "on", "1"):
            return True
        if text in ("false", "no", "off", "0"):
            return False
        raise self._wrong(value, "true or false")

    def brief(self, value: Any) -> str:
        if value:
            return Message("{name} on", name=Message(self.short))
        return Message("{name} off", name=Message(self.short))


@dataclass(frozen=True, slots=True)
class Choice(Control):
    """One of several names."""

    choices: tuple[str, ...]

    type = "choice"

    def brief(self, value: Any) -> str:
        return Message("{name} {choice}", name=Message(self.short), choice=Message(format_value(value)))

    def parse(self, value: object) -> str:
        if value not in self.choices:
            raise self._wrong(value, "one of {names}", names=", ".join(self.choices))
        return str(value)

    def as_json(self) -> dict[str, Any]:
        return Control.as_json(self) | {"choices": list(self.choices)}


@dataclass(frozen=True, slots=True)
class Weights(Control):
    """One weight per query, in order, each from 0 to a maximum; separated by commas when written as text.

    Args:
        of: the control whose templates they weigh; empty to number them.
        in_force: the weights that count with these values of all controls, while this one is idle.
    """

    max: float = 2.0
    step: float = 0.05
    of: str = ""
    in_force: Callable[[Values], tuple[float, ...]] = field(default=lambda values: (), kw_only=True)

    type = "weights"

    def parse(self, value: object) -> tuple[float, ...]:
        """The weights; at least one must be above 0."""
        parts: Sequence[object] = value.split(",") if isinstance(value, str) else value  # type: ignore[assignment]
        try:
            weights = tuple(float(str(part)) + 0.0 for part in parts)
        except (TypeError, ValueError):
            weights = ()
        fine = 0 < len(weights) <= MAX_TEMPLATES and all(0 <= weight <= self.max for weight in weights)
        if not fine or not any(weights):
            raise self._wrong(
                value,
                "1 to {count} numbers from 0 to {high:g}, separated by commas, not all 0",
                count=MAX_TEMPLATES,
                high=float(self.max),
            )
        return weights

    def plain(self, value: Any) -> list[float]:
        return list(value)

    def brief(self, value: Any) -> str:
        values = " / ".join(map(format_value, value))
        return Message("{name} {value}", name=Message(self.short), value=values)

    def as_json(self) -> dict[str, Any]:
        return Control.as_json(self) | {"min": 0.0, "max": self.max, "step": self.step}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"


def format_value(value: object) -> str:
    """A control's value as you write it on the command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        if any(isinstance(part, Mapping) for part in value):
            return json.dumps(value, ensure_ascii=False)
        return ",".join(map(format_value, value))
    return str(value)


def count(name: str, default: int, help: str, **more: Any) -> Number:  # noqa: A002  # the field's name
    """A control for a number of passages."""
    return Number(name, default, help, min=1, max=MAX_PASSAGES, step=1, unit="passages", whole=True, **more)


@dataclass(frozen=True, slots=True)
class Preset:
    """Named control values, their use and source; `rewriter` is the source's model, where offered: see `set_up`."""

    name: str
    values: Mapping[str, object]
    help: str
    rewriter: str = ""

    def as_json(self) -> dict[str, Any]:
        """The shape `rag strategies --json` prints."""
        return {"name": self.name, "values": dict(self.values), "help": self.help}


@dataclass(frozen=True, slots=True)
class Recipe:
    """A strategy's declaration.

    Args:
        summary: one sentence on how it finds passages.
        source: where the strategy and its defaults come from.
        stages: builds the stages from the values of all controls.
        calls: the most language model calls per question with the defaults, by purpose.
        most_calls: the same whatever its switches and choices are set to; empty where they add none.
    """

    name: str
    title: str
    summary: str
    source: str
    controls: tuple[Control, ...]
    stages: Callable[[Values], tuple[Stage, ...]]
    helps: str
    hurts: str
    calls: Mapping[str, int]
    presets: tuple[Preset, ...] = field(default=())
    most_calls: Mapping[str, int] = field(default_factory=dict)

    def build(self, /, **values: object) -> Strategy:
        """The strategy with these values, and defaults for the rest; raises ConfigError."""
        settled = self.parse_values(values)
        plain = {control.name: control.plain(settled[control.name]) for control in self.controls}
        return Strategy(self.name, self.stages(settled), plain)

    def parse_values(self, values: Values) -> dict[str, Any]:
        """A parsed value for every control; raises ConfigError if one is unknown or out of range."""
        known = {control.name: control for control in self.controls}
        for name in values:
            if name not in known:
                raise ConfigError(
                    Message("{name} has no control {wanted!r}.", name=self.name, wanted=name),
                    Message("Its controls: {known}.", known=", ".join(known)),
                )
        return {name: control.parse(values.get(name, control.default)) for name, control in known.items()}

    def changes(self, values: Values) -> tuple[str, ...]:
        """The active control values that differ from the defaults, each in a few words; unknown ones too."""
        known = {control.name: control for control in self.controls}
        plain = {name: control.plain(control.parse(control.default)) for name, control in known.items()}
        given = {**plain, **{name: _plain(known.get(name), value) for name, value in values.items()}}
        return tuple(
            known[name].brief(value) if name in known else f"{name} {format_value(value)}"
            for name, value in given.items()
            if name not in known or (value != plain[name] and not self.idle(known[name], given))
        )

    def idle(self, control: Control, values: Values) -> str:
        """Why one of its controls has no effect with these values of the others; empty when it has one."""
        known = {one.name: one for one in self.controls}
        for name, acting in control.needs:
            if values.get(name) in acting:
                continue
            needed = known[name].symbol or Message("“{title}”", title=Message(known[name].title))
            if acting == (True,):
                return Message("Acts only while {control} is on.", control=needed)
            one_of = Message.joined(Message(format_value(value)) for value in acting)
            return Message("Acts only while {control} is set to {values}.", control=needed, values=one_of)
        return ""

    def wanted(self, control: Control, values: Values) -> Values:
        """What moving one of its controls sets of the others, so that it acts; empty unless it `sets_needs`."""
        needs = control.needs if control.sets_needs else ()
        return {name: acting[0] for name, acting in needs if values.get(name) not in acting}

    def as_json(self) -> dict[str, Any]:
        """The shape `rag strategies --json` prints."""
        return {
            "name": self.name,
            "title": self.title,
            "summary": self.summary,
            "source": self.source,
            "stages": [{"stage": stage.name, "kind": stage.kind} for stage in self.build().stages],
            "controls": [control.as_json() for control in self.controls],
            "presets": [preset.as_json() for preset in self.presets],
            "helps": self.helps,
            "hurts": self.hurts,
            "calls": dict(self.calls),
        }


def _plain(control: Control | None, value: object) -> Any:
    """A value as JSON; unchanged when the control is unknown or no longer accepts it."""
    try:
        return control.plain(control.parse(value)) if control else value
    except ConfigError:
        return value
