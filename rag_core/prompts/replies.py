"""Parsing JSON in model replies. An unreadable reply is an error; values are never made up.

The error messages go back to the model when it is asked again.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

COMPLETE = "stop"  # the only finish reason of a complete reply
TOO_LONG = "too_long"  # ours, for a reply that was not read to its end

Shape = TypeVar("Shape", bound=BaseModel)

_HUGE_REFERENCE = re.compile(r"&#\d{8,};?")  # no character; Python refuses to read very long numbers
_FENCED = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)


def read_object(reply: str) -> dict[str, Any]:
    """The only JSON object in a reply, which can be in a code fence or surrounded by text.

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
    except (ValueError, RecursionError) as error:  # RecursionError: nested too deeply
        raise ValueError("its JSON is broken") from error
    if "{" in text[end:] or "[" in text[:start]:
        raise ValueError("it holds more than one JSON object")
    assert isinstance(value, dict)  # it starts with a brace
    return value


def read_as(shape: type[Shape], reply: str) -> Shape:
    """The only JSON object in a reply, validated.

    Raises:
        ValueError: there is none, or it is invalid; the message names the first invalid field.
    """
    try:
        return shape.model_validate(read_object(reply))
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def unescaped(reply: str) -> str:
    """A reply without HTML escapes; models sometimes copy those of the prompt ("&lt;")."""
    return html.unescape(_HUGE_REFERENCE.sub("\ufffd", reply))


def read_score(values: Mapping[str, Any], name: str) -> float:
    """A score from 0 to 100 in a parsed reply.

    Raises:
        ValueError: it is missing, not a number, or out of range.
    """
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise ValueError(f"{name} is {value!r}, not a number from 0 to 100")
    return float(value)
