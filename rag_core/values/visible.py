"""Foreign text made safe to show: what a screen would obey instead of printing becomes a visible mark.

Control characters (C0, DEL, C1, and with them every terminal escape), the marks that reorder text (bidi), line
separators and lone surrogates. Newlines and tabs stay: layout needs them.
"""

import json
import re
from typing import Any

# Unicode's Default_Ignorable_Code_Point, without the marks that Khmer and Mongolian are written with
IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_RIGHT_TO_LEFT = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"
_BIDI = "[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # Hebrew and Arabic may need them
_SEEN = (
    rf"(?<=[^\s{IGNORABLE}])[{_SELECTORS}](?![{IGNORABLE}])"  # one form of a character, such as a coloured heart
    rf"|(?<=[^\s{IGNORABLE}])\ufe0f(?=\u200d[\u0590-\U0001faff])"
    r"|(?<=[\u0590-\U0001faff])[\u200c\u200d](?=[\u0590-\u1fff\u2190-\U0001faff])"  # joins emoji and Indic letters
    "|(?<=\U0001f3f4)\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
    "|\U000e0077\U000e006c\U000e0073)\U000e007f"  # the flags of England, Scotland and Wales
)
# Compiled when first used, for 30 ms: most processes meet no such character
_ANY = f"[{IGNORABLE}]"
_RUN = rf"(?P<seen>{_SEEN})|[{IGNORABLE}]+"
_RUN_AMONG_RIGHT_TO_LEFT = rf"(?P<seen>{_SEEN}|{_BIDI})|[{IGNORABLE}]+"
_FEWEST = 4  # characters of a message written in invisible ones
_UNREMARKABLE = "\u00ad\ufeff"  # soft hyphens and byte order marks


def take_invisible(text: str) -> tuple[str, tuple[str, ...]]:
    """A text without its invisible characters, and what was hidden: the messages written in them, or their number."""
    if text.isascii() or not re.search(_ANY, text):
        return text, ()
    found: list[str] = []

    def keep(run: re.Match[str]) -> str:
        if not run["seen"]:
            found.append(run[0])
        return run["seen"] or ""

    runs = _RUN_AMONG_RIGHT_TO_LEFT if re.search(_RIGHT_TO_LEFT, text) else _RUN
    kept = re.sub(runs, keep, text)
    messages = tuple(message for run in found if len(message := _message(run).strip()) >= _FEWEST)
    count = sum(len(run.strip(_UNREMARKABLE)) for run in found)
    return kept, messages or ((f"invisible characters ({count:,})",) if count else ())


def without_invisible(text: str) -> str:
    """A text without its invisible characters."""
    return take_invisible(text)[0]


def _message(run: str) -> str:
    """What a run of tag characters or variation selectors spells; empty for other invisible characters."""
    tags = "".join(chr(code - 0xE0000) for char in run if 0xE0020 <= (code := ord(char)) < 0xE007F)
    return tags or bytes(_byte(char) for char in run if _byte(char) >= 0).decode("utf-8", "replace")


def _byte(char: str) -> int:
    """The byte that a variation selector stands for; -1 for another character."""
    code = ord(char)
    return code - 0xFE00 if 0xFE00 <= code <= 0xFE0F else code - 0xE00F0 if 0xE0100 <= code <= 0xE01EF else -1


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
    """Visible text, with an apostrophe before what a spreadsheet would run; other values as they are."""
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _mark(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)  # the pictures of C0: ␀ to ␟
    return "\u2421" if code == 0x7F else f"⟨U+{code:04X}⟩"
