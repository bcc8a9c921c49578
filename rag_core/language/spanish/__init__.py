"""Reading Spanish in English, word by word, for models that know English only."""

from .reader import Gloss, read_entries

__all__ = ["Gloss", "read_entries"]
