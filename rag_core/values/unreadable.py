"""Why the content of a file cannot be used, in plain words instead of Python's."""

from __future__ import annotations

import sys

from .message import Message


def why_unreadable(error: Exception) -> str:
    """A reason that completes "it cannot be read: …", without a full stop."""
    if isinstance(error, UnicodeError):
        return Message("it is not UTF-8")
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if "set_int_max_str_digits" in str(error):  # int() on what a parser took for a number
        return Message("a number has more than {most:,} digits", most=sys.get_int_max_str_digits())
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__
