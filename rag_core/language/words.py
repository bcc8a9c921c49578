"""The lists of words in the data folder that came with this code, wherever RAG_DATA points."""

import functools
import tomllib
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "data"


@functools.cache
def read_words(name: str = "words.toml") -> dict[str, Any]:
    """The tables of a file of words, each word list as one text."""
    return tomllib.loads((DATA / name).read_text(encoding="utf-8"))
