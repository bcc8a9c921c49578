"""Text that a file hides from its readers: taken out, so that it is neither indexed nor sent to a model, and reported."""

import base64
import binascii
import re
from collections.abc import Iterable
from itertools import islice

from ..values.letters import plain_letters
from ..values.visible import take_invisible
from .limits import shorten

MOST = 20  # pieces of a document that are reported one by one
LONGEST = 300  # characters of a reported piece

_BLOB = re.compile(
    r"(?<![A-Za-z0-9+/_=-])(?:(?:[A-Za-z0-9+/]{60,76}\n){2,}[A-Za-z0-9+/]*|[A-Za-z0-9+/_-]{100,})={0,2}(?![A-Za-z0-9+/=_-])"
)
_READABLE = 0.9  # lowest share of printable characters in a decoded text


def take_hidden(text: str) -> tuple[str, tuple[str, ...]]:
    """A text in plain letters without invisible characters and long base64, and what these say."""
    text, hidden = take_invisible(text)
    text = plain_letters(text)
    found: list[str] = []

    def cut(blob: re.Match[str]) -> str:
        kinds = all(re.search(kind, blob[0]) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
        if not kinds or len(set(blob[0])) <= 16:  # one letter repeated, or a word in capitals
            return blob[0]
        found.append(f"base64: {_decoded(blob[0]) or blob[0]}")
        return ""

    return _BLOB.sub(cut, text), (*hidden, *reported(found))


def reported(pieces: Iterable[str]) -> tuple[str, ...]:
    """Hidden texts as they are reported: each on one line and shortened, the last only counted."""
    lines = (shorten(" ".join(piece.split()), LONGEST) for piece in pieces)
    shown = dict.fromkeys(line for line in lines if line)
    more = len(shown) - MOST
    return (*islice(shown, MOST), *([f"… and {more:,} more"] if more > 0 else ()))


def _decoded(blob: str) -> str:
    """The text in base64; empty when it is not text."""
    plain = "".join(blob.split()).rstrip("=")
    with_end = plain[: len(plain) - (len(plain) % 4 == 1)]
    signs = b"-_" if set("-_") & set(plain) else b"+/"
    try:
        text = base64.b64decode(with_end + "=" * (-len(with_end) % 4), altchars=signs).decode()
    except (binascii.Error, UnicodeDecodeError):
        return ""
    readable = sum(char.isprintable() or char.isspace() for char in text)
    return text if readable >= _READABLE * len(text) else ""
