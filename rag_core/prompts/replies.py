"""Reading JSON out of a model's reply. What cannot be read is an error, never a value made up."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

Shape = TypeVar("Shape", bound=BaseModel)

_FENCED = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)


def read_object(reply: str) -> dict[str, Any]:
    """The one JSON object of a reply, which may stand in a code fence or between other words.

    Raises:
        ValueError: there is none, or more than one.
    """
    fenced = _FENCED.search(reply)
    text = fenced[1] if fenced else reply
    start = text.find("{")
    if start < 0:
        raise ValueError("it holds no JSON object")
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError) as error:  # the latter when it is nested without end
        raise ValueError("its JSON is broken") from error
    if "{" in text[end:] or "[" in text[:start]:
        raise ValueError("it holds more than one JSON object")
    assert isinstance(value, dict)  # it began with a brace
    return value


def read_as(shape: type[Shape], reply: str) -> Shape:
    """The one JSON object of a reply, which must have this shape.

    Raises:
        ValueError: there is none, or it has another shape; the message names the first field that is wrong.
    """
    try:
        return shape.model_validate(read_object(reply))
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def read_score(values: Mapping[str, Any], name: str) -> float:
    """A score from 0 to 100 in a reply's object.

    Raises:
        ValueError: it is missing, no number, or out of range.
    """
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ValueError(f"{name} is {value!r}, not a number from 0 to 100")
    return float(value)
