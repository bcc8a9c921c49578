"""A filter of passages by the metadata of their documents, as text: {"ward": ["3", "4"], "state!": ["draft"]}."""

import json
from collections.abc import Mapping
from typing import Any

from .errors import ConfigError
from .types import Passage


def where_text(given: object) -> str:
    """A filter as text, the same for equal filters; empty for none.

    Given name -> a value, or a list of which a document has one; or what this function returned. All names must fit. A
    name that ends in "!" is for documents that have none of the values. Raises ConfigError for anything else.

    >>> where_text({"ward": [4, "3"]})
    '{"ward": ["3", "4"]}'
    """
    tests = {}
    try:
        named: Any = json.loads(given or "{}") if isinstance(given, str) else given
        for name, value in named.items():
            values = value if isinstance(value, list | tuple | set) else [value]
            if not values or any(isinstance(one, Mapping | list | tuple | set | None) for one in values):
                raise ValueError
            tests[name] = sorted(map(value_text, values))
    except (AttributeError, ValueError):
        raise ConfigError(f"{given!r} is no filter of metadata.", 'Write {"ward": "3"}, for example.') from None
    return json.dumps(tests, ensure_ascii=False, sort_keys=True) if tests else ""


def value_text(value: object) -> str:
    """A value of metadata as filters compare it: True and False as in JSON, all else as Python prints it."""
    return json.dumps(value) if isinstance(value, bool) else str(value)


def where_words(where: str) -> str:
    """What `where_text` returned, for people: "tags!: old · ward: 3, 4"."""
    return " · ".join(f"{name}: {', '.join(values)}" for name, values in json.loads(where or "{}").items())


def fits(passage: Passage, where: str) -> bool:
    """Whether a passage fits what `where_text` returned, by its metadata, `doc_id`, `title` and `language`."""
    own = ((name, getattr(passage, name)) for name in ("doc_id", "title", "language"))
    known = {*passage.metadata, *own}
    return all(
        any((name.removesuffix("!"), value) in known for value in values) != name.endswith("!")
        for name, values in json.loads(where).items()
    )
