"""How far each control can move before the set of used passages changes, and a result under the sliders."""

import functools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from types import MappingProxyType
from typing import Any, TypeAlias

from ..catalog import Choice, Control, Number, PromptText, Switch, Templates, Weights, format_value
from ..pipeline.stream import calls_of, remember
from ..runtime.run import Run
from ..runtime.services import Services
from ..values.errors import ConfigError
from ..values.message import Message
from ..values.trace import Trace
from ..values.types import Passage
from .without_models import NeedsModel, Replay, Values

Assign: TypeAlias = Callable[[float], Values]  # a number -> control values

CALLS = Message("Moving it calls a model.")
ANSWER_ONLY = Message("It changes only the answer, not the passages.")
DECIMALS = 12  # at most, of a value that is shown
PRECISION = 1e-9  # of a value found by bisection


@dataclass(frozen=True, slots=True)
class TippingPoint:
    """The nearest value of a control, on one side of its current one, that changes which passages are used.

    Args:
        value: the value; a short decimal, at most one unit of its last digit beyond where it tips.
        beside: its neighbour towards the current value, with which the same passages are used as now; for a
            choice the current value. Both have been run.
        gained: (rank, passage) of those that are then used.
        lost: (rank, passage) of those that are then no longer used, by their current rank.
        text: all this as one line: "θ 0.5 → 0.47 admits “Anti-D” (rank 7)".
        effect: its second half: "admits “Anti-D” (rank 7)".
    """

    value: Any
    beside: Any
    text: str
    effect: str
    gained: tuple[tuple[int, Passage], ...]
    lost: tuple[tuple[int, Passage], ...]


@dataclass(frozen=True, slots=True)
class ControlTips:
    """What moving one control, and nothing else, would do to the passages that are used.

    Args:
        points: the nearest value below and the nearest above; for a choice every other value that changes something.
        unmoved: the range without effect, as a sentence; empty if there are points on both sides.
        why_not: why its points are not known, as a sentence: it is idle, or moving it calls a model; otherwise empty.
    """

    control: str
    label: str
    symbol: str
    current: Any
    points: tuple[TippingPoint, ...] = ()
    unmoved: str = ""
    why_not: str = ""


def tipping_points(trace: Trace, services: Services) -> tuple[ControlTips, ...]:
    """For each control of a trace's strategy: the nearest values at which the used passages change.

    Nothing calls a model. Whole numbers are tried one by one; any other number on its steps, and between two of them by
    bisection to 1e-9. A change that is undone within a step is missed: of 405 points of five strategies on 16 dev
    questions, one (λ), compared with the values at which scores cross, in closed form. Raises as `recipe_of_unchanged`.
    """
    replay = Replay(trace, services)
    return tuple(tips for control in replay.recipe.controls for tips in control_tips(replay, control))


def control_tips(replay: Replay, control: Control) -> Iterator[ControlTips]:
    """The tipping points of one control; of each weight where it has several."""
    current = replay.trace.controls[control.name]
    tips = ControlTips(control.name, control.title, control.short, current)
    if not control.changes_passages:
        yield replace(tips, why_not=ANSWER_ONLY)
        return
    wanted = replay.recipe.wanted(control, replay.trace.controls)
    idle = replay.recipe.idle(control, replay.trace.controls)
    if idle and not wanted:
        yield replace(tips, why_not=idle)
        return
    try:
        match control:
            case Number():
                move = _Move(replay, control, lambda value: {control.name: value}, current)
                yield move.tips(tips)
            case Weights():
                unit = Number(control.name, control.default, control.help, max=control.max)
                current = control.in_force(replay.trace.controls) if wanted else current
                for place, weight in enumerate(current):
                    one = replace(tips, control=f"{control.name}[{place + 1}]", current=weight)
                    one = replace(one, label=f"{control.title}: {place + 1}", symbol=one.control)
                    yield _Move(replay, unit, _weight_at(control.name, current, place, wanted), weight).tips(one)
            case Choice() | Switch():
                values = control.choices if isinstance(control, Choice) else (True, False)
                yield _choices(replay, [one for one in values if one != current], tips)
            case _:
                yield replace(tips, why_not=CALLS)
    except NeedsModel:
        yield replace(tips, why_not=CALLS)


def _weight_at(name: str, weights: Sequence[float], place: int, wanted: Values) -> Assign:
    return lambda value: {**wanted, name: [*weights[:place], value, *weights[place + 1 :]]}


def _choices(replay: Replay, others: Sequence[object], tips: ControlTips) -> ControlTips:
    """Every other value that changes something; NeedsModel if there is none that can be told without a model."""
    points, told = [], 0
    for value in others:
        with suppress(NeedsModel):
            same = replay.used({tips.control: value}) == replay.used_now
            told += 1
            if not same:
                points.append(_point(replay, {tips.control: value}, value, tips.current, tips))
    if not told:
        raise NeedsModel
    none = Message("No other value changes the passages.")
    if told < len(others):
        none = Message("No other value that calls no model changes the passages.")
    return replace(tips, points=tuple(points), unmoved="" if points else none)


def _point(replay: Replay, values: Values, value: object, beside: object, tips: ControlTips) -> TippingPoint:
    now = {hit.id: (rank, hit.passage) for rank, hit in enumerate(replay.trace.ranking, start=1)}
    then = {hit.id: (rank, hit.passage) for rank, hit in enumerate(replay.run(values).ranking, start=1)}
    gained = tuple(found for name, found in then.items() if name not in now)
    lost = tuple(found for name, found in now.items() if name not in then)
    moved = f"{tips.symbol} {format_value(tips.current)} → {format_value(value)}"
    effect = _effect(gained, lost)
    return TippingPoint(value, beside, f"{moved} {effect}", effect, gained, lost)


def _effect(gained: Sequence[tuple[int, Passage]], lost: Sequence[tuple[int, Passage]]) -> str:
    if not lost:
        return Message("admits {passages}", passages=_listed(gained)) if gained else ""
    if not gained:
        return Message("drops {passages}", passages=_listed(lost))
    return Message("admits {gained} and drops {lost}", gained=_listed(gained), lost=_listed(lost))


def _listed(found: Sequence[tuple[int, Passage]]) -> Message:
    return Message.joined(
        Message("“{title}” (rank {rank})", title=passage.full_title, rank=rank) for rank, passage in found
    )


@dataclass(frozen=True, slots=True)
class _Move:
    replay: Replay
    control: Number
    assign: Assign
    current: float

    def tips(self, tips: ControlTips) -> ControlTips:
        points: list[TippingPoint] = []
        still: list[float] = []
        for bound in (self.control.min, self.control.max):
            if bound == self.current:
                continue
            if found := self._nearest(bound):
                value, beside = found
                points.append(_point(self.replay, self.assign(value), value, beside, tips))
            else:
                still.append(bound)
        return replace(tips, points=tuple(points), unmoved=self._unmoved(still))

    def _unmoved(self, bounds: Sequence[float]) -> str:
        """The range without effect, by the bounds that change nothing."""
        match bounds:
            case [low, high]:
                return Message("Down to {low:g} and up to {high:g} nothing changes.", low=low, high=high)
            case [bound] if bound < self.current:
                return Message("Down to {low:g} nothing changes.", low=bound)
            case [bound]:
                return Message("Up to {high:g} nothing changes.", high=bound)
            case _:
                return ""

    def _same(self, value: float) -> bool:
        try:
            return self.replay.used(self.assign(value)) == self.replay.used_now
        except ConfigError:
            return True

    def _nearest(self, bound: float) -> tuple[float, float] | None:
        """The nearest changing value and its neighbour: an integer, or one found on the steps and then by bisection."""
        sign = 1 if bound > self.current else -1
        if self.control.whole:
            values = range(int(self.current) + sign, int(bound) + sign, sign)
            return next(((value, value - sign) for value in values if not self._same(value)), None)
        steps = math.ceil(abs(bound - self.current) / self.control.step - PRECISION)
        grid = [self.current + sign * self.control.step * place for place in range(1, steps)] + [bound]
        same = self.current
        for changed in grid:
            if not self._same(changed):
                while abs(changed - same) > PRECISION:
                    middle = (same + changed) / 2
                    same, changed = (middle, changed) if self._same(middle) else (same, middle)
                return self._short(changed, bound)
            same = changed
        return None

    def _short(self, tip: float, bound: float) -> tuple[float, float]:
        """The shortest decimal that changes what `tip` changes, whose neighbour changes nothing."""
        sign = 1 if bound > self.current else -1
        changed = self.replay.used(self.assign(tip))
        exponent = Decimal(str(self.control.step)).normalize().as_tuple().exponent
        for decimals in range(max(0, -int(exponent)), DECIMALS):
            unit = Decimal(1).scaleb(-decimals)
            outward = Decimal(tip).quantize(unit, ROUND_CEILING if sign > 0 else ROUND_FLOOR)
            value = float(outward)
            beside = float(outward - sign * unit)
            beside = beside if sign * (beside - self.current) > 0 else self.current
            if sign * (value - bound) > 0 or not self._same(beside):
                continue
            if self.replay.used(self.assign(value)) == changed:
                return value, beside
        return tip, tip - sign * PRECISION


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

    Not thread-safe: make one for each reader. Raises as `recipe_of_unchanged`.

    Args:
        trace: with or without an answer; it must still have its embeddings, as one from the history has not.
        services: those the trace was made with.
        rehearsal: stand-ins that send nothing and bill the most a run can cost (`Lab.rehearsal`).
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
        """What a run with these values would ask of models, its answer apart; raises ConfigError if they conflict."""
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
