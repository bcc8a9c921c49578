"""A strategy's declaration: what it is, its controls, and the stages they build."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..pipeline.strategy import Strategy
from ..stages import Stage
from ..values.errors import ConfigError
from ..values.message import Message
from .controls import Control, Values, format_value


@dataclass(frozen=True, slots=True)
class Preset:
    """Named control values, with one line on what they are for and their source.

    `rewriter` is the model that the source rewrites with, where the settings offer one so called: see
    `set_up`.
    """

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
