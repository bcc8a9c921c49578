"""How long passages are: part of an index's identity."""

from __future__ import annotations

from dataclasses import dataclass

from ..values.errors import ConfigError
from ..values.message import Message

SMALLEST = 48  # word pieces; a shorter section is merged with the next if both fit
# by language: word pieces of a passage with title and headings; Spanish is read in English
LARGEST = {"es": 320}
LARGEST_OTHERWISE = 254  # what MiniLM reads
CHUNKER = f"sections/{SMALLEST}-{LARGEST_OTHERWISE}-{LARGEST['es']}/3"  # part of an index's identity


CHUNK_SIZES = (64, 400)  # word pieces: fewer lose the sense, more exceed the characters that `cutting` allows
MOST_OVERLAP = 0.5  # of the size


@dataclass(frozen=True, slots=True)
class Chunking:
    """How long passages are: part of an index's identity.

    Args:
        size: the most word pieces of a passage with title and headings; 0 for the default, which depends on the
            language (LARGEST).
        overlap: the most word pieces that a part of a cut section repeats from the part before it, in whole
            sentences; 0 for none.

    Raises:
        ConfigError: a value is out of range.
    """

    size: int = 0
    overlap: int = 0

    def __post_init__(self) -> None:
        if self.size and not CHUNK_SIZES[0] <= self.size <= CHUNK_SIZES[1]:
            raise ConfigError(
                Message("A chunk size of {size} word pieces is out of range.", size=self.size),
                Message(
                    "Use {least} to {most}, or 0 for the default.", least=CHUNK_SIZES[0], most=CHUNK_SIZES[1]
                ),
            )
        most = int(MOST_OVERLAP * (self.size or LARGEST_OTHERWISE))
        if not 0 <= self.overlap <= most:
            raise ConfigError(
                Message("An overlap of {overlap} word pieces is out of range.", overlap=self.overlap),
                Message("Use 0 to {most}.", most=most),
            )

    @property
    def key(self) -> str:
        """Its name in a manifest."""
        if self == Chunking():
            return CHUNKER
        return f"sections/{SMALLEST}-{self.size or 'default'}+{self.overlap}/3"

    def largest(self, language: str) -> int:
        """The most word pieces of a passage in this language."""
        return self.size or LARGEST.get(language, LARGEST_OTHERWISE)


DEFAULT = Chunking()
