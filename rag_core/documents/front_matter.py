"""The header of a Markdown file, within limits of size, depth and aliases."""

import json
import re
import tomllib
from contextlib import suppress
from typing import Any

import yaml

from ..values.errors import why_unreadable
from ..values.message import Message
from .limits import MAX_HEADER, READING, LimitExceeded

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # some builds have none in C
_FENCED = re.compile(
    r"(?:---[ \t]*\n(?P<yaml>(?s:.*?\n)??)(?:---|\.\.\.)|\+\+\+[ \t]*\n(?P<toml>(?s:.*?\n)??)\+\+\+"
    r"|(?P<json>\{[ \t]*\n(?s:.*?)\n\}))[ \t]*(?:\n|\Z)"
)


def take_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The fields of a header of any schema, and the body: YAML between lines of "---", or above one of "...", TOML of "+++", a JSON object.

    A header that is no valid YAML, as with a second colon in a title, has the fields of its lines "name: value". What has no
    fields is text. Raises LimitExceeded if the header exceeds a limit; yaml.YAMLError or ValueError if it is malformed and has
    the lab's own fields.
    """
    if not (found := _FENCED.match(text)):
        return {}, text
    header, body = found["yaml"] or found["toml"] or found["json"] or "", text[found.end() :]
    fields: Any = {}
    if found["toml"] or found["json"]:
        with suppress(ValueError):
            fields = tomllib.loads(header) if found["toml"] else json.loads(header)
    else:
        try:
            fields = _load(header)
        except (yaml.YAMLError, ValueError):
            fields = dict(re.findall(r"^(\w[\w -]*): +(.*)$", header, re.MULTILINE))
            if re.search(r"^(?:questions|sources):", header, re.MULTILINE):
                raise
    return (fields, body) if fields and isinstance(fields, dict) else ({}, text)


def _load(header: str) -> Any:
    """The value of YAML; refuses what the loader would recurse into or multiply: events are parsed without recursion."""
    if len(header) > MAX_HEADER:
        raise LimitExceeded(Message("its front matter is longer than {most:,} characters", most=MAX_HEADER))
    depth = aliases = 0
    for event in yaml.parse(header, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        if depth > READING.depth:
            deep = Message("its front matter nests lists more than {most} deep", most=READING.depth)
            raise LimitExceeded(deep)
        if aliases > READING.aliases:
            many = Message("its front matter has more than {most} aliases", most=READING.aliases)
            raise LimitExceeded(many)
    try:
        return yaml.load(header, Loader=_LOADER)
    except yaml.YAMLError:
        raise
    except Exception as error:  # PyYAML raises anything on a value its tag does not fit, such as a bare !!int
        raise ValueError(f"a value cannot be read ({why_unreadable(error)})") from error
