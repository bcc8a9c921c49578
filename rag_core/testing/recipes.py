"""The contract of a strategy: its declaration, its controls, and the stages they build."""

import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

from ..catalog import Control, Number, Recipe, Values, format_value
from ..explain.tipping import other_values
from ..pipeline.strategy import Strategy
from ..values.errors import ConfigError, RagError
from ..values.trace import Trace
from .checks import QUESTIONS, check_stage, refused, require
from .collection import PASSAGES, ScriptedLlm, sample_services


def check_strategy(recipe: Recipe) -> None:
    """Check that a strategy keeps the contract of the built-in ones; raises AssertionError, which says where.

    No text is missing or longer than one line, and `rag strategies --json` can print it. Every control has bounds and
    help, accepts both bounds, refuses values outside them, survives a round trip through text and JSON, and changes the
    fingerprint and the result; an idle one changes neither. Every preset builds. The strategy answers, also on one
    passage or none, connects to no network, makes no more model calls than declared, and its stages pass `check_stage`.
    """
    name = recipe.name
    _check_texts(recipe)
    strategy = _build(recipe)
    require(strategy.name == name, f"{name} builds a strategy called {strategy.name!r}.")
    require(strategy.stages[-1].kind == "answer", f"{name} must end with an answer stage, such as Generate.")
    require(
        strategy.fingerprint == _build(recipe).fingerprint,
        f"{name} has another fingerprint each time it is built.",
    )
    require(refused(recipe.build, **{"no such control": 1}), f"{name} takes a control it does not have.")
    with _no_network():
        for place, stage in enumerate(strategy.stages):
            check_stage(stage, after=strategy.stages[:place])
        _check_runs(recipe, strategy)
        for control in recipe.controls:
            _check_declaration(recipe, control)
            _check_effect(recipe, control)
        for preset in recipe.presets:
            require(
                set(preset.values) <= {control.name for control in recipe.controls},
                f"{name}: preset {preset.name!r} sets a control that is not there.",
            )
            _answered(_build(recipe, preset.values), QUESTIONS[0])


def _check_texts(recipe: Recipe) -> None:
    texts = {one: getattr(recipe, one) for one in ("name", "title", "summary", "source", "helps", "hurts")}
    texts |= {f"help of {control.name}": control.help for control in recipe.controls}
    texts |= {f"label of {control.name}": control.title for control in recipe.controls}
    texts |= {f"help of preset {preset.name}": preset.help for preset in recipe.presets}
    for what, text in texts.items():
        require(
            bool(text) and text == text.strip() and "\n" not in text,
            f"{recipe.name or 'The strategy'}: its {what} must be one line of text, not {text!r}.",
        )
    for group in (recipe.controls, recipe.presets):
        names = [one.name for one in group]
        require(len(set(names)) == len(names), f"{recipe.name}: two controls or presets have one name.")
    try:
        json.dumps(recipe.as_json(), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{recipe.name} cannot be written as JSON: {error}.") from None
    except RagError as error:
        raise AssertionError(f"{recipe.name} does not build with its defaults: {error}") from error


def _build(recipe: Recipe, values: Values | None = None) -> Strategy:
    given = ", ".join(f"{name}={format_value(value)}" for name, value in (values or {}).items())
    try:
        return recipe.build(**(values or {}))
    except Exception as error:
        raise AssertionError(f"{recipe.name} does not build with {given or 'its defaults'}: {error}") from error


def _check_runs(recipe: Recipe, strategy: Strategy) -> None:
    for question in QUESTIONS:
        made = [call.purpose for call in _answered(strategy, question).calls if call.of_language_model]
        for purpose in set(made):
            most = recipe.calls.get(purpose, 0)
            require(
                made.count(purpose) <= most,
                f"{recipe.name} declares {most} calls for {purpose!r} but made {made.count(purpose)}.",
            )
    for passages in (PASSAGES[:1], ()):
        _answered(strategy, QUESTIONS[0], passages)
    _answered(strategy, QUESTIONS[0], llm=ScriptedLlm(offline=True))


def _answered(strategy: Strategy, question: str, passages: Any = PASSAGES, llm: ScriptedLlm | None = None) -> Trace:
    try:
        trace = strategy.run(question, sample_services(passages, llm))
    except RagError as error:
        raise AssertionError(
            f"{strategy.name} failed on “{question}” over {len(passages)} passages: {error}"
        ) from error
    require(trace.answer is not None, f"{strategy.name} gave no answer to “{question}”.")
    return trace


def _check_declaration(recipe: Recipe, control: Control) -> None:
    """The default and the ends can be set; what lies beyond is refused."""
    where = f"{recipe.name}.{control.name}"
    default = control.parse(control.default)
    plain = control.plain(default)
    for written in (json.loads(json.dumps(plain)), format_value(plain)):
        require(control.parse(written) == default, f"{where}: its default does not come back from {written!r}.")
    known = {one.name: one for one in recipe.controls}
    for other, acting in control.needs:
        require(other in known and other != control.name, f"{where} needs {other!r}, which is no other control.")
        for value in acting:
            known[other].parse(value)
    if not isinstance(control, Number):
        return
    require(
        control.min <= control.default <= control.max and control.min < control.max and control.step > 0,
        f"{where}: its default must lie within its bounds, and its step be above 0.",
    )
    base = _acting(control)
    for end in (control.min, control.max):
        _build(recipe, {**base, control.name: end})
    for beyond in (control.min - control.step, control.max + control.step):
        require(
            refused(recipe.build, **{control.name: beyond}),
            f"{where} takes {beyond:g}, which is out of its bounds.",
        )


def _acting(control: Control) -> dict[str, object]:
    return {other: acting[0] for other, acting in control.needs}


def _check_effect(recipe: Recipe, control: Control) -> None:
    """Some other value changes fingerprint and result; where the control is idle, none does."""
    base = _acting(control)
    before = _build(recipe, base)
    others = other_values(control, control.default)
    built: list[Strategy] = []
    for value in others:
        try:
            built.append(recipe.build(**{**base, control.name: value}))
        except ConfigError:  # values that do not go together
            continue
    changed = [one for one in built if one.fingerprint != before.fingerprint]
    where = f"{recipe.name}.{control.name}"
    require(bool(changed), f"{where} changes no fingerprint: the stages do not use it, or need another control.")
    require(
        any(_states(one, question) != _states(before, question) for one in changed for question in QUESTIONS),
        f"{where} changes nothing in any result.",
    )
    for other, acting in control.needs:
        needed = next(one for one in recipe.controls if one.name == other)
        resting = next((one for one in other_values(needed, needed.default) if one not in acting), None)
        if resting is not None:
            idle = {**base, other: resting}
            prints = {_build(recipe, {**idle, control.name: value}).fingerprint for value in others}
            prints.add(_build(recipe, idle).fingerprint)
            require(
                len(prints) == 1,
                f"{where} acts although {other} is {format_value(resting)}, which its `needs` excludes.",
            )


def _states(strategy: Strategy, question: str) -> list[object]:
    steps = _answered(strategy, question).steps
    return [
        *(step.after for step in steps),
        *((one.system, one.text) for step in steps for one in step.exchanges),
    ]


@contextmanager
def _no_network() -> Iterator[None]:
    def refuse(self: socket.socket, address: object) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6):
            raise AssertionError(f"it opened a network connection to {address}")

    calls: Mapping[str, Any] = {"connect": refuse, "connect_ex": refuse}
    with mock.patch.multiple(socket.socket, **calls):
        yield
