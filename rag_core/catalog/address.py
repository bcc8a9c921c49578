"""A comparison's configuration as the parameters of an address, and back.

    ?s=bm25&s=hybrid_rrf&2.mmr_lambda=0.3&country=GB

No question is written: servers, proxies and browsers keep addresses. `s` names the strategies, and NUMBER.CONTROL sets
a control of one of them, counted from 1, or what it runs on: NUMBER.model, NUMBER.corpus, NUMBER.where (see
`registry.RUNS_ON`). Controls at their defaults are left out. A long value, such as the text of a prompt, is compressed;
one that is too long even so is left out, and `left` names it.
"""

import base64
import json
import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from ..pipeline.strategy import Strategy
from ..safety.urgency.helplines import countries
from ..values.errors import ConfigError
from ..values.message import Message
from . import RECIPES
from .recipe import Recipe
from .registry import CORPUS, RUNS_ON
from .setup import Setup, SetupSpec, set_up

LONGEST = 8_000  # characters of the parameters; servers refuse addresses from 8 or 16 KiB on
LONG = 200  # characters of a value that is compressed
PACKED = "z."  # how a compressed value begins; no written value does
MOST_UNPACKED = 100_000  # bytes of a value, so that an address cannot fill the memory
LEFT = "left"
SHOWN = 60  # characters of a wrong value that a message repeats
_CONTROL = re.compile(r"(\d{1,3})\.(\w+)")

Parameters = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Configuration:
    """Columns, corpus (empty: the built-in documents), and a sentence for each wrong value replaced by its default."""

    columns: tuple[Setup, ...]
    country: str = ""
    corpus: str = ""
    problems: tuple[str, ...] = ()


def to_address(columns: Sequence[SetupSpec], country: str = "", corpus: str = "") -> Parameters:
    """The parameters of columns; `LEFT` names the longest, left out while all exceed `LONGEST` when encoded."""
    setups = [set_up(one) for one in columns]
    parameters: Parameters = {"s": [one.strategy.name for one in setups]}
    if country:
        parameters["country"] = [country]
    if corpus:
        parameters[CORPUS] = [corpus]
    for number, setup in enumerate(setups, start=1):
        recipe = RECIPES.get(setup.strategy.name)
        for control in recipe.controls if recipe else ():
            default = control.plain(control.parse(control.default))
            value = setup.strategy.controls.get(control.name, default)
            if value != default:
                parameters[f"{number}.{control.name}"] = [_written(value)]
        parameters |= {f"{number}.{name}": [value] for name, value in setup.chosen.items()}
    while len(urlencode(parameters, doseq=True)) > LONGEST:
        longest = max(
            parameters.keys() - {LEFT},
            key=lambda name: (len(urlencode({name: parameters[name]}, doseq=True)), name),
        )
        del parameters[longest]
        if _CONTROL.fullmatch(longest):
            parameters.setdefault(LEFT, []).append(longest)
    return parameters


def from_address(
    parameters: Mapping[str, Sequence[str]],
    defaults: Sequence[str],
    fewest: int = 2,
    models: Collection[str] | None = None,
) -> Configuration | None:
    """The configuration in an address's parameters; None if it has none. Others are ignored.

    Where no strategy is named, `defaults` stand, by position, and no more columns than these, nor less than
    `fewest`, are taken. `models` are the language models that may be named; any if None.
    """

    def first(name: str) -> str:
        return next(iter(parameters.get(name, ())), "")

    named = list(parameters.get("s", ()))
    values = [found for name in parameters if (found := _CONTROL.fullmatch(name))]
    corpus, country = first(CORPUS), first("country").upper()
    if not (named or values or corpus or "country" in parameters):
        return None
    problems: list[str] = [
        Message("{name} was too long for an address; its default is used.", name=name[:SHOWN])
        for name in parameters.get(LEFT, ())
        if _CONTROL.fullmatch(name)
    ]
    if country and country not in countries():
        problems.append(Message("There is no country {country!r}; none is chosen.", country=country[:SHOWN]))
        country = ""
    chosen = _recipes(named, defaults, fewest, problems)
    given: list[dict[str, str]] = [{} for _ in chosen]
    for found in values:
        number, name = int(found[1]), found[2]
        if not 1 <= number <= len(chosen):
            problems.append(Message("{name} is for a strategy that is not there.", name=found[0][:SHOWN]))
        else:
            given[number - 1][name] = first(found[0])
    columns = tuple(_set_up(recipe, texts, models, problems) for recipe, texts in zip(chosen, given, strict=True))
    return Configuration(columns, country, corpus, tuple(problems))


def _recipes(named: Sequence[str], defaults: Sequence[str], fewest: int, problems: list[str]) -> list[Recipe]:
    """The strategy of each column; what is wrong with the names goes to `problems`."""
    if len(named) > len(defaults):
        told = (
            Message("{count} strategies are named; only the first is used.", count=len(named))
            if len(defaults) == 1
            else Message(
                "{count} strategies are named; only the first {most} fit side by side.",
                count=len(named),
                most=len(defaults),
            )
        )
        problems.append(told)
    chosen = []
    wanted = [*named, *defaults[len(named) :]]
    for name, default in zip(wanted, defaults[: max(len(named), fewest)], strict=False):
        if name not in RECIPES:
            problems.append(
                Message(
                    "There is no strategy {name!r}; {strategy} is used.",
                    name=name[:SHOWN],
                    strategy=Message(RECIPES[default].title),
                )
            )
            name = default
        chosen.append(RECIPES[name])
    return chosen


def _set_up(recipe: Recipe, texts: Mapping[str, str], models: Collection[str] | None, problems: list[str]) -> Setup:
    """The column with the values that are valid; what is wrong with the others goes to `problems`."""
    strategy = _built(recipe, {name: text for name, text in texts.items() if name not in RUNS_ON}, problems)
    own: dict[str, object] = {}
    for name in (name for name in RUNS_ON if name in texts):
        try:
            chosen = set_up(strategy, **{name: texts[name]})
            if models is not None:
                chosen.models.check_offered(models)
        except ConfigError as error:
            problems.append(_of(recipe, error.sentence))
        else:
            own[name] = texts[name]
    return set_up(strategy, **own)


def _built(recipe: Recipe, texts: Mapping[str, str], problems: list[str]) -> Strategy:
    """The strategy with the values that are valid; what is wrong with the others goes to `problems`."""
    known = {control.name: control for control in recipe.controls}
    values: dict[str, Any] = {}
    for name, text in texts.items():
        if name not in known:
            problems.append(
                Message("{strategy} has no control {name!r}.", strategy=Message(recipe.title), name=name[:SHOWN])
            )
            continue
        try:
            values[name] = known[name].parse(_unpacked(text))
        except ConfigError as error:
            problems.append(_of(recipe, error.sentence))
    try:
        return recipe.build(**values)
    except ConfigError as error:  # values that do not go together
        problems.append(_of(recipe, Message("{problem} Its defaults are used.", problem=error.message)))
        return recipe.build()


def _of(recipe: Recipe, problem: str) -> Message:
    return Message("{strategy}: {problem}", strategy=Message(recipe.title), problem=problem)


def _written(value: object) -> str:
    """A control's plain value as text that its `parse` reads back exactly."""
    if isinstance(value, list) and all(isinstance(part, int | float) for part in value):
        return ",".join(map(repr, value))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) < LONG:
        return text
    return PACKED + base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")


def _unpacked(text: str) -> str:
    """The written form of a value, compressed or not; raises ConfigError if it is damaged or too long."""
    if not text.startswith(PACKED):
        return text
    packed = text.removeprefix(PACKED)
    try:
        data = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
        reader = zlib.decompressobj()
        found = reader.decompress(data, MOST_UNPACKED)
        if not reader.eof:
            raise ValueError("it does not end")
        return found.decode()
    except (ValueError, zlib.error) as error:
        raise ConfigError(
            Message("A compressed value cannot be read: {reason}.", reason=error),
            Message("Copy the whole address again."),
        ) from error
