"""Foreign text made safe to show: what a screen would obey instead of printing becomes a visible mark.

Control characters (C0, DEL, C1, and with them every terminal escape), the marks that reorder text (bidi), line
separators and lone surrogates. Newlines and tabs stay: layout needs them.
"""

from __future__ import annotations

import json
import re
from typing import Any

_REORDERING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # Unicode's Bidi_Control
_OBEYED = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029{_REORDERING}\ud800-\udfff]")
_FORMULA = ("=", "+", "-", "@", "\t")
_LONE = re.compile("[\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with every character that a screen would obey as a mark: ␛ for escape, ⟨U+202E⟩ for a bidi override."""
    return _OBEYED.sub(_mark, text.replace("\r\n", "\n"))


def valid(text: str) -> str:
    """The text as valid Unicode: a lone surrogate, which no file or network can carry, becomes U+FFFD."""
    return _LONE.sub("\ufffd", text)


def as_json(value: Any, *, indent: int | None = 2) -> str:
    """JSON in valid Unicode, read back as the same value; what a screen would obey is escaped inside its strings."""
    written = valid(json.dumps(value, ensure_ascii=False, indent=indent))
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def as_cell(value: Any) -> Any:
    """A cell of a table: visible text, with an apostrophe where a spreadsheet would run it as a formula.

    Other values are returned as they are.
    """
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _mark(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)  # the pictures of C0: ␀ to ␟
    return "\u2421" if code == 0x7F else f"⟨U+{code:04X}⟩"
