"""Values as JSON and back, equal and as shared as they were: a trace that is kept is drawn like the one that ran.

Every object is written once, after its parts, and referred to by its place: two steps that share a model call still
share it afterwards, and it is billed once. Only the classes listed here are made. Fields marked `packed=False` are
left out: vectors can be made again.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from .answers import Answer, Citation, Grounded, Remark, Suggestion
from .errors import DataError
from .message import Message, from_parts, parts_of
from .model_choice import ModelChoice
from .sources import Source
from .trace import Exchange, Step, Trace
from .triage import Triage
from .types import Hit, ModelCall, Outranked, Passage, Query, Ranking, Relevance, State, Term, Vote
from .visible import valid

KINDS: Mapping[str, type] = {
    one.__name__: one
    for one in (
        Answer, Citation, Exchange, Grounded, Hit, ModelCall, ModelChoice, Outranked, Passage, Query, Ranking, Relevance, Remark,
        Source, State, Step, Suggestion, Term, Trace, Triage, Vote,
    )
}  # fmt: skip
_OBJECT, _TUPLE, _MAPPING, _MESSAGE = "#", "()", "{}", '""'  # keys that mark what JSON cannot tell apart


def pack(value: Any) -> str:
    """JSON of a value of `KINDS` dataclasses, tuples, lists, mappings with text keys and plain values; else TypeError."""
    objects: list[list[Any]] = []
    places: dict[int, int] = {}  # id -> place; `value` keeps the objects, and so their ids, alive

    def put(one: Any) -> Any:
        kind = type(one)
        match one:
            case None | bool() | int() | float():
                return one
            case Message():
                return {_MESSAGE: parts_of(one.cleaned(valid))}
            case str():
                return valid(one)
            case tuple():
                return {_TUPLE: [put(part) for part in one]}
            case list():
                return [put(part) for part in one]
            case Mapping():
                return {_MAPPING: {str(key): put(part) for key, part in one.items()}}
        if KINDS.get(kind.__name__) is not kind:
            raise TypeError(f"{kind.__name__} cannot be packed")
        if id(one) not in places:
            named = [field.name for field in dataclasses.fields(kind) if field.metadata.get("packed", True)]
            fields = {name: put(getattr(one, name)) for name in named}
            places[id(one)] = len(objects)
            objects.append([kind.__name__, fields])
        return {_OBJECT: places[id(one)]}

    root = put(value)
    return json.dumps({"objects": objects, "value": root}, ensure_ascii=False, separators=(",", ":"))


def values_of(text: str | bytes, kind: type, field: str) -> set[str]:
    """A text field of every object of a class in what `pack` wrote; raises DataError if that is damaged."""
    try:
        return {fields[field] for name, fields in json.loads(text)["objects"] if name == kind.__name__}
    except (ValueError, KeyError, TypeError) as error:
        raise _unreadable(error) from error


def unpack(text: str | bytes) -> Any:
    """The value that `pack` wrote; raises DataError if the text is damaged, or another version wrote it."""
    made: list[Any] = []

    def take(one: Any) -> Any:
        match one:
            case {"#": int(place)}:
                return made[place]
            case {"()": list(parts)}:
                return tuple(map(take, parts))
            case {'""': message}:
                return from_parts(message)
            case {"{}": dict(parts)}:
                return {key: take(part) for key, part in parts.items()}
            case list():
                return [take(part) for part in one]
            case dict():
                raise ValueError("an object of an unknown form")
        return one

    try:
        data = json.loads(text)
        for name, fields in data["objects"]:
            made.append(KINDS[name](**{key: take(part) for key, part in fields.items()}))
        return take(data["value"])
    except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
        raise _unreadable(error) from error


def _unreadable(error: Exception) -> DataError:
    return DataError(
        Message("What was stored cannot be read: {kind}: {reason}.", kind=type(error).__name__, reason=error),
        Message("It is damaged, or another version wrote it."),
    )
