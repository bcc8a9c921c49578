"""Reading the small text files that the lab ships in its data folder."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from .errors import DataError
from .message import Message

Read = TypeVar("Read")


def read_data_file(path: Path, parse: Callable[[str], Read]) -> Read:
    """What `parse` makes of a file's text.

    Raises:
        DataError: the file is missing or not UTF-8, or lacks something that `parse` looks for.
    """
    try:
        return parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            Message("{path} cannot be read: {reason}.", path=path, reason=repr(error)),
            Message("Restore {path}.", path=path),
        ) from error
