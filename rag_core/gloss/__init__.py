"""Reading Spanish in English, word by word, for models that know English only."""

from .check import list_problems
from .reader import Gloss

__all__ = ["Gloss", "list_problems"]
