"""The header of a Markdown file, within limits of size, depth and aliases."""

import re
import tomllib
from contextlib import suppress
from typing import Any

import frontmatter
import yaml
from frontmatter.default_handlers import SafeLoader, YAMLHandler

from ..values.errors import why_unreadable
from ..values.message import Message
from .limits import MAX_HEADER, READING, LimitExceeded

_FENCED = re.compile(
    r"(?:---[ \t]*\n(?P<yaml>(?s:.*?\n)??)(?:---|\.\.\.)|\+\+\+[ \t]*\n(?P<toml>(?s:.*?\n)??)\+\+\+)[ \t]*(?:\n|\Z)"
)


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The fields of a header between lines of "---", and the body below it; no fields if there is no header.

    Raises:
        LimitExceeded: the header exceeds a limit.
        yaml.YAMLError: it is malformed.
        ValueError: a number or date in it is impossible.
    """
    handler = _LimitedYaml()
    return frontmatter.parse(text, handler=handler) if handler.detect(text.lstrip()) else ({}, text)


def take_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """The fields of a header of any schema, and the body: YAML between lines of "---", or above one of "...", TOML between lines of "+++".

    A header that is no valid YAML, as with a second colon in a title, has the fields of its lines "name: value". What has no
    fields is text.

    Raises:
        LimitExceeded: the header exceeds a limit.
        yaml.YAMLError, ValueError: it has the lab's own fields, and is malformed.
    """
    if not (found := _FENCED.match(text)):
        return {}, text
    header, body = found["yaml"] or found["toml"] or "", text[found.end() :]
    fields: dict[str, Any] = {}
    if found["toml"]:
        with suppress(tomllib.TOMLDecodeError):
            fields = tomllib.loads(header)
    else:
        try:
            fields, _ = split_front_matter(f"---\n{header}---\n")
        except (yaml.YAMLError, ValueError):
            fields = dict(re.findall(r"^(\w[\w -]*): +(.*)$", header, re.MULTILINE))
            if re.search(r"^(?:questions|sources):", header, re.MULTILINE):
                raise
    return (fields, body) if fields else ({}, text)


class _LimitedYaml(YAMLHandler):
    """Refuses what the loader would recurse into or multiply; events are parsed without recursion."""

    def load(self, fm: str, **kwargs: object) -> Any:
        if len(fm) > MAX_HEADER:
            raise LimitExceeded(
                Message("its front matter is longer than {most:,} characters", most=MAX_HEADER)
            )
        depth = aliases = 0
        for event in yaml.parse(fm, Loader=SafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            aliases += isinstance(event, yaml.AliasEvent)
            if depth > READING.depth:
                raise LimitExceeded(
                    Message("its front matter nests lists more than {most} deep", most=READING.depth)
                )
            if aliases > READING.aliases:
                raise LimitExceeded(
                    Message("its front matter has more than {most} aliases", most=READING.aliases)
                )
        try:
            return super().load(fm, **kwargs)
        except yaml.YAMLError:
            raise
        # PyYAML raises anything on a value its tag does not fit, such as a bare !!int
        except Exception as error:
            raise ValueError(f"a value cannot be read ({why_unreadable(error)})") from error
