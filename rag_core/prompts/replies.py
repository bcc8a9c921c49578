"""Parsing JSON in model replies; an unreadable one is an error, whose message goes back to the model."""

import html
import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ..values.message import Message

COMPLETE = "stop"  # the only finish reason of a complete reply
TOO_LONG = "too_long"  # ours, for a reply that was not read to its end
INCOMPLETE_STEP = Message("Raise the server's limit on output tokens, or use another model.")

Shape = TypeVar("Shape", bound=BaseModel)

_HUGE_REFERENCE = re.compile(r"&#\d{8,};?")  # no character; Python refuses to read very long numbers
_FENCED = re.compile(r"```\w*\s*(.*?)\s*```", re.DOTALL)
_OBJECT = re.compile(r'\{(?=\s*["}])')
# one before a closing bracket, or a string
_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)
_SCORE = re.compile(r"\s*(\d+(?:[.,]\d+)?)\s*(?:%|/\s*100)?\s*")
EXCERPT = 120  # characters


class Restart(str):
    """A piece of a reply that replaces all before it, which was the model's reasoning."""

    __slots__ = ()


def excerpt(reply: str) -> str:
    """The beginning of a reply on one line, in quotation marks, for a message."""
    line = " ".join("".join(char if char.isprintable() else " " for char in reply).split())
    return Message("“{title}”", title=f"{line[:EXCERPT]}…" if len(line) > EXCERPT else line)


def read_object(reply: str) -> dict[str, Any]:
    """The only JSON object in a reply, which can be in a code fence, in a list of one, or surrounded by text.

    Commas before a closing bracket are ignored. Braces that hold no name in quotation marks are text. Raises
    ValueError for none, or more than one.
    """
    fenced = _FENCED.search(reply)
    text = fenced[1] if fenced else reply
    start = _OBJECT.search(text)
    if not start:
        raise ValueError("its JSON is broken" if "{" in text else "it holds no JSON object")
    text = _COMMA.sub(lambda each: each[1] or "", text[start.start() :])
    try:
        value, end = _JSON.raw_decode(text)
    except (ValueError, RecursionError) as error:  # RecursionError: nested too deeply
        raise ValueError("its JSON is broken") from error
    if _OBJECT.search(text, end):
        raise ValueError("it holds more than one JSON object")
    assert isinstance(value, dict)  # it starts with a brace
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; one that gives a name two values says neither."""
    if len(made := dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice")
    return made


_JSON = json.JSONDecoder(object_pairs_hook=_once, strict=False)  # line breaks in a string are read


def read_as(shape: type[Shape], reply: str) -> Shape:
    """The only JSON object in a reply, validated; raises ValueError, with the first invalid field."""
    try:
        return shape.model_validate(read_object(reply))
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def unescaped(reply: str) -> str:
    """A reply without HTML escapes; models sometimes copy those of the prompt ("&lt;")."""
    return html.unescape(_HUGE_REFERENCE.sub("\ufffd", reply))


def read_score(values: Mapping[str, Any], name: str) -> float:
    """A score from 0 to 100 in a parsed reply, also "80", "80 %" or "80/100"; raises ValueError."""
    value = values.get(name)
    number = value
    if isinstance(value, str) and (written := _SCORE.fullmatch(value)):
        number = float(written[1].replace(",", "."))
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 100:
        raise ValueError(f"{name} is {value!r}, not a number from 0 to 100")
    return float(number)
