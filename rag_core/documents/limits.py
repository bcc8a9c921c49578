"""Limits on what is read from files, in one place."""

from dataclasses import dataclass

MAX_TITLE = 300  # characters; longer ones are cut
MAX_ID = 500  # characters
MAX_LINE = 10_000_000  # characters of a line of JSON Lines or of judgements
MAX_HEADER = 64_000  # characters of front matter or of a small TOML file


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What reading one file may take. A file beyond a limit fails; the others are read.

    Args:
        memory: bytes of address space of the process that reads (on Linux; other systems may ignore it).
        file, unpacked: bytes, of all parts for a docx or xlsx archive.
        characters: of the text of all its documents.
        parts: its documents and their headings, which bounds its passages.
        depth: folders in folders, lists in lists, elements in elements. Deeper HTML is flattened.
        aliases: of its front matter, in YAML.
    """

    seconds: float = 60.0
    memory: int = 1 << 30
    file: int = 100_000_000
    unpacked: int = 200_000_000
    characters: int = 20_000_000
    parts: int = 100_000
    depth: int = 100
    aliases: int = 16


READING = ReadingLimits()


class LimitExceeded(Exception):
    """A file exceeds a limit or is not a regular file; the reason completes "it cannot be read: …"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def shorten(text: str, most: int) -> str:
    """A text cut to `most` characters, with an ellipsis where it was cut."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def megabytes(size: int) -> str:
    """A size in words, such as "100 MB"."""
    return f"{size / 1e6:,.3g} MB"
