"""Reading Spanish in English, word by word, for models that know English only."""

from .check import list_problems, redundant
from .reader import Gloss, read_entries

__all__ = ["Gloss", "list_problems", "read_entries", "redundant"]
