"""A result under the sliders: what another setting finds, at once and without a model, or what it would ask of one."""

import functools
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from ..catalog import Choice, Control, Number, PromptText, Switch, Templates, Weights
from ..pipeline.stream import calls_of, remember
from ..runtime.run import Run
from ..runtime.services import Services
from ..values.errors import ConfigError
from ..values.trace import Trace
from .tipping import ControlTips, control_tips
from .without_models import NeedsModel, Replay, Values

MOST_KEPT = 200  # settings whose results are remembered


@dataclass(frozen=True, slots=True)
class Work:
    """The most model calls that one stage would make for a purpose (see `ModelCall`)."""

    stage: str
    purpose: str
    calls: int


@dataclass(frozen=True, slots=True)
class Move:
    """What a setting finds, without an answer, or what a run would have to ask of models to know it."""

    trace: Trace | None
    calls: int
    seconds: float
    needs: tuple[Work, ...] = ()


class Tuner:
    """One result, for moving its controls: each move runs only the stages that it changes.

    Not thread-safe: make one for each reader.

    Args:
        trace: with or without an answer; it must still have its embeddings, as one from the history has not.
        services: those the trace was made with.
        rehearsal: stand-ins that send nothing and bill the most a run can cost (`Lab.rehearsal`).

    Raises:
        ConfigError: the strategy is not in the catalogue, or the models or the index have changed.
    """

    def __init__(self, trace: Trace, services: Services, rehearsal: Services) -> None:
        self.trace = trace
        self._services = services
        self._rehearsal = replace(rehearsal, reader=services.reader)  # the same texts are embedded
        self._replay = Replay(trace, services)
        self._moves = 0

    def move(self, values: Values = MappingProxyType({}), /, **more: object) -> Move:
        """The result with these control values, in a mapping or by name; raises ConfigError if they do not go together."""
        values = {**values, **more}
        self._moves += 1
        if self._moves % MOST_KEPT == 0:
            self._replay = Replay(self.trace, self._services)
        started = time.perf_counter()
        try:
            moved = self._replay.run(values)
        except NeedsModel:
            return Move(None, 0, time.perf_counter() - started, self.needs(values))
        calls = len(calls_of([moved], [self.trace]))
        # all control values, as a run has them; a replay keeps one result for settings that mean the same
        moved = replace(moved, controls=self._replay.strategy(values).controls)
        return Move(moved, calls, time.perf_counter() - started)

    def needs(self, values: Values) -> tuple[Work, ...]:
        """What a run with these values would ask of models, its answer apart; unchanged stages ask nothing.

        Raises ConfigError if the values do not go together.
        """
        strategy, run = self._replay.strategy(values), Run()
        remember(run.shared, self.trace, [strategy], self._rehearsal)
        rehearsed = strategy.run(self.trace.question, self._rehearsal, run)
        known = set(self.trace.calls)
        made = Counter(
            (step.stage, call.purpose)
            for step in rehearsed.steps
            for call in dict.fromkeys(step.calls)
            if call not in known
        )
        return tuple(Work(stage, purpose, calls) for (stage, purpose), calls in made.items())

    @functools.cached_property
    def reach(self) -> Mapping[str, tuple[Work, ...]]:
        """Control -> the most that moving it alone may ask of models, by a few of its values; empty for nothing."""
        return {control.name: self._most(control) for control in self._replay.recipe.controls}

    def tips(self, moved: Trace) -> Iterator[tuple[str, tuple[ControlTips, ...]]]:
        """Each control and its tipping points around a `Move`'s trace, one control after the other."""
        replay = Replay(moved, self._services)  # its own: another thread may ask for it
        for control in replay.recipe.controls:
            yield control.name, tuple(control_tips(replay, control))

    def _most(self, control: Control) -> tuple[Work, ...]:
        """The dearest of a few other values of a control."""
        works = []
        for value in other_values(control, self.trace.controls[control.name]):
            try:
                works.append(self.move({control.name: value}).needs)
            except ConfigError:  # it does not go with the other values
                continue
        return max(works, key=lambda work: sum(one.calls for one in work), default=())


def other_values(control: Control, current: object) -> Sequence[object]:
    """Some other values of a control: the ends of its range and the next steps, or all of a few."""
    match control:
        case Number():
            at = float(str(current))
            tried = (control.min, at - control.step, at + control.step, control.max)
            return [control.parse(one) for one in tried if control.min <= one <= control.max and one != at]
        case Switch():
            return [not current]
        case Choice():
            return [one for one in control.choices if one != current]
        case Weights():
            return [[weight / 2 for weight in control.parse(current)]]
        case Templates():
            first, *others = control.parse(current)
            return [[control.custom(first.name, f"{first.text}\n\nBe brief.", first.system), *others]]
        case PromptText():
            written = control.parse(current)
            return [{"system": written.system, "text": f"{written.text}\n\nBe brief."}]
    return ()
