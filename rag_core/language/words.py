"""The lists of words in the data folder that came with this code, wherever RAG_DATA points."""

import functools
import tomllib
from typing import Any

from ..values.places import DATA


@functools.cache
def read_words(name: str = "words.toml") -> dict[str, Any]:
    """The tables of a file of words, each word list as one text."""
    return tomllib.loads((DATA / name).read_text(encoding="utf-8"))
