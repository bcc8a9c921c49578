"""A strategy's declaration: what it is, its controls, and the stages they build."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..pipeline.strategy import Strategy
from ..stages import Stage
from ..values.errors import ConfigError
from .controls import Control, Values, format_value


@dataclass(frozen=True, slots=True)
class Preset:
    """Control values under a name.

    Args:
        help: one line: what it is for, and its source.
    """

    name: str
    values: Mapping[str, object]
    help: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """A strategy's declaration.

    Args:
        name: what code and command line call it.
        title: what screens call it.
        summary: one sentence: how it finds passages.
        source: where strategy and defaults come from.
        stages: builds the stages from a value for every control.
        helps: when it is worth choosing.
        hurts: when it is not.
        calls: language model calls of one question with the defaults, at most, by purpose.
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

    def build(self, **values: object) -> Strategy:
        """The strategy with these control values; the others stand at their defaults.

        Raises:
            ConfigError: an unknown control, a value out of range, or values that do not go together.
        """
        settled = self.parse_values(values)
        plain = {control.name: control.plain(settled[control.name]) for control in self.controls}
        return Strategy(self.name, self.stages(settled), plain)

    def preset(self, name: str) -> Preset:
        """A preset by its name; "_" or "-" may stand for a space.

        Raises:
            ConfigError: there is none of this name.
        """
        wanted = name.replace("_", " ").replace("-", " ")
        for preset in self.presets:
            if preset.name == wanted:
                return preset
        known = ", ".join(preset.name for preset in self.presets) or "it has none"
        raise ConfigError(f"{self.name} has no preset {name!r}.", f"Its presets: {known}.")

    def parse_values(self, values: Values) -> dict[str, Any]:
        """A parsed value for every control.

        Raises:
            ConfigError: an unknown control, or a value out of range.
        """
        known = {control.name: control for control in self.controls}
        for name in values:
            if name not in known:
                raise ConfigError(
                    f"{self.name} has no control {name!r}.", f"Its controls: {', '.join(known)}."
                )
        return {name: control.parse(values.get(name, control.default)) for name, control in known.items()}

    def changes(self, values: Values) -> tuple[str, ...]:
        """The control values that differ from the defaults and act, each in a few words.

        Args:
            values: of any controls, also those of an older version.
        """
        known = {control.name: control for control in self.controls}
        plain = {name: control.plain(control.parse(control.default)) for name, control in known.items()}
        given = {**plain, **{name: _plain(known.get(name), value) for name, value in values.items()}}
        return tuple(
            known[name].brief(value) if name in known else f"{name} {format_value(value)}"
            for name, value in given.items()
            if name not in known or (value != plain[name] and not known[name].idle(given))
        )

    def as_json(self) -> dict[str, Any]:
        """The shape `rag strategies --json` prints."""
        return {
            "name": self.name,
            "title": self.title,
            "summary": self.summary,
            "source": self.source,
            "stages": [{"stage": stage.name, "kind": stage.kind} for stage in self.build().stages],
            "controls": [control.as_json() for control in self.controls],
            "presets": [
                {"name": preset.name, "values": dict(preset.values), "help": preset.help}
                for preset in self.presets
            ],
            "helps": self.helps,
            "hurts": self.hurts,
            "calls": dict(self.calls),
        }


def _plain(control: Control | None, value: object) -> Any:
    """A value as JSON; as it is when the control is unknown, or can no longer take it."""
    try:
        return control.plain(control.parse(value)) if control else value
    except ConfigError:
        return value
